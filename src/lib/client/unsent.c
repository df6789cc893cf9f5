/* SPDX-License-Identifier: MIT
 *
 * Takes whose answer Redis does not send for its size (client-output-buffer-limit): it closes the connection, and would
 * do so for ever, to whoever takes.
 *
 * What the take took goes back, and if that was large, it is asked for again, within the same call: first for one
 * process, so that it is known which one it is, and what is too much together comes in several. One that has ended
 * SIZE_LIMIT_BREAKS connections by itself is only measured, and fails. So a program that lives for one take gets what is
 * behind it. As with workers (too_large.c) only what is large fails, and only then.
 */
#include "client/unsent.h"

#include <stdio.h>

#include "base/log.h"
#include "protocol/names.h"
#include "protocol/size_limit.h"

/* Whatever the answers say, one call does not go on for ever. */
#define ROUNDS_MAX 50

void unsent_ask(const struct muster_client *c, const struct unsent *u, struct script_take_lease *what)
{
    if (c->take_room > 0 && what->n > c->take_room)
        what->n = c->take_room;
    what->most_bytes = u->n_alone >= SIZE_LIMIT_BREAKS ? COMMAND_LARGE : 0;
}

void unsent_heard(struct muster_client *c)
{
    c->take_room *= 2;
    if (c->take_room >= MUSTER_LEASE_TAKE_MAX)
        c->take_room = 0;
}

int unsent_fail(struct muster_client *c, struct unsent *u, const char *process, const char *what, uint64_t n_bytes)
{
    char words[SIZE_LIMIT_WORDS], line[SIZE_LIMIT_LINE];
    size_limit_words(words, what, n_bytes);
    size_limit_line(line, process, words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    u->has_failed = true;
    u->n_alone = 0;
    int err = muster_lease_fail(c, process, FAILURE_GROUP_TOO_LARGE, words);
    return err == MUSTER_E_LOST || err == MUSTER_E_CANCELLED ? MUSTER_OK : err; /* it was ended meanwhile */
}

/* It keeps what the take said, unless it was interrupted. */
static bool give_back(struct muster_client *c, struct unsent *u, int *err)
{
    uint64_t n;
    char said[512];
    snprintf(said, sizeof said, "%s", redis_error(c->redis));
    int back = unheard_give_back_large(c, &n);
    if (back == MUSTER_OK && n > 0) {
        u->n_alone += n == 1;
        c->take_room = 1;
        return true;
    }
    if (back == MUSTER_E_INTERRUPTED)
        *err = back;
    else
        redis_error_set(c->redis, "%s", said);
    return false;
}

bool unsent_asks_again(struct muster_client *c, struct unsent *u, int *err)
{
    bool has_failed = u->has_failed && (*err == MUSTER_OK || *err == MUSTER_E_NOT_FOUND);
    u->has_failed = false;
    if (++u->n_rounds >= ROUNDS_MAX)
        return false;
    return has_failed || (*err == MUSTER_E_CONN && give_back(c, u, err));
}
