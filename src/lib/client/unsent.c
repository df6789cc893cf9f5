/* SPDX-License-Identifier: MIT
 *
 * Takes whose answer Redis does not send for its size (client-output-buffer-limit): it closes the connection, and would
 * do so for ever, to whoever takes.
 *
 * What the take took goes back, and if that was large, or there was no memory for it, it is asked for again, within the
 * same call: first for one process, so that it is known which one it is, and what is too much together comes in several.
 * If one of so many bytes has ended SIZE_LIMIT_BREAKS connections by itself, and this Redis has such a limit, the next
 * take holds back what has exactly as many, and that fails; whatever else it brings comes along. So a program that lives
 * for one take gets what is behind it. As with workers (too_large.c) only what is large fails, and only then.
 */
#include "client/unsent.h"

#include <inttypes.h>
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
    what->held_back = size_limit_due(&u->suspect);
}

void unsent_heard(struct muster_client *c)
{
    c->take_room *= 2;
    if (c->take_most > 0 && c->take_room > c->take_most)
        c->take_room = c->take_most;
    if (c->take_room >= MUSTER_LEASE_TAKE_MAX)
        c->take_room = 0;
}

int unsent_fail(struct muster_client *c, struct unsent *u, const char *process, enum size_limit_thing thing,
                uint64_t n_bytes)
{
    char words[SIZE_LIMIT_WORDS], line[SIZE_LIMIT_LINE];
    size_limit_words(words, thing, n_bytes);
    size_limit_line(line, process, words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    u->has_failed = true;
    int err = muster_lease_fail(c, process, FAILURE_GROUP_TOO_LARGE, words);
    return err == MUSTER_E_LOST || err == MUSTER_E_CANCELLED ? MUSTER_OK : err; /* it was ended meanwhile */
}

/* So many came in one answer, which was not sent: from now on it is asked for half as many at most. But a Redis that sends
 * more than they have has lost its connection for another reason. */
static void note_together(struct muster_client *c, const struct script_untaken *back, const struct byte_limits *limits)
{
    if (!byte_limits_may_end(limits, BYTE_LIMITS_ANSWER, back->n_bytes))
        return;
    if (c->take_most == 0 && limits->answer > 0)
        log_line(MUSTER_LOG_WARN, SIZE_LIMIT_TOGETHER, back->n, limits->answer);
    c->take_most = back->n / 2;
}

/* Before anything is held back the limits are asked for: a Redis without such a limit has lost its connections for
 * another reason. */
static int give_back(struct muster_client *c, struct unsent *u, bool *goes_on)
{
    struct script_untaken back;
    struct byte_limits limits;
    int err = unheard_give_back_large(c, &back);
    *goes_on = err == MUSTER_OK && back.n > 0;
    size_limit_note_break(&u->suspect, &back);
    if (*goes_on)
        c->take_room = 1;
    const bool is_due = size_limit_due(&u->suspect) > 0;
    if (!*goes_on || (!is_due && back.n == 1))
        return err;
    err = byte_limits_call(&limits, c->redis);
    if (back.n > 1)
        note_together(c, &back, &limits);
    if (is_due)
        *goes_on = byte_limits_may_end(&limits, BYTE_LIMITS_ANSWER, u->suspect.n_bytes);
    return err;
}

/* There was no memory for the answer. */
static int give_back_several(struct muster_client *c, bool *goes_on)
{
    int err = unheard_give_back(c);
    *goes_on = err == MUSTER_OK;
    c->take_room = 1;
    return err;
}

/* It keeps what the take said, unless it was interrupted. */
static bool give_back_and_go_on(struct muster_client *c, struct unsent *u, int *err)
{
    bool goes_on;
    char said[512];
    snprintf(said, sizeof said, "%s", redis_error(c->redis));
    int back = *err == MUSTER_E_NOMEM ? give_back_several(c, &goes_on) : give_back(c, u, &goes_on);
    if (back == MUSTER_E_INTERRUPTED)
        *err = back;
    else
        redis_error_set(c->redis, "%s", said);
    return back == MUSTER_OK && goes_on;
}

bool unsent_asks_again(struct muster_client *c, struct unsent *u, int *err)
{
    bool has_failed = u->has_failed && (*err == MUSTER_OK || *err == MUSTER_E_NOT_FOUND);
    bool may_be_heard = *err == MUSTER_E_CONN || (*err == MUSTER_E_NOMEM && *c->unheard.queue);
    u->has_failed = false;
    if (*err != MUSTER_E_CONN)
        u->suspect = (struct size_suspect){0};
    if (++u->n_rounds >= ROUNDS_MAX)
        return false;
    return has_failed || (may_be_heard && give_back_and_go_on(c, u, err));
}
