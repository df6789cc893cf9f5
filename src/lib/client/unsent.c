/* SPDX-License-Identifier: MIT
 *
 * Takes whose answer Redis does not send for its size (client-output-buffer-limit): it closes the connection, and would
 * do so for ever, to whoever takes. And those for whose answer there is no memory here.
 *
 * What the take took goes back, and if that was large, it is asked for again, within the same call: first for one process,
 * so that it is known which one it is, and what is too much together comes in several. If one of so many bytes has ended
 * SIZE_LIMIT_BREAKS connections by itself, and this Redis has such a limit, the next take holds back what has exactly as
 * many, and that fails; whatever else it brings comes along. So a program that lives for one take gets what is behind it.
 * As with workers (too_large.c) only what is large fails, and only then.
 *
 * What there is no memory for is held back, too, but only set aside (unheard.c): whoever has more memory may have it.
 */
#include "client/unsent.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "protocol/names.h"
#include "protocol/process_name.h"
#include "protocol/size_limit.h"

/* Whatever the answers say, one call does not go on for ever. */
#define ROUNDS_MAX 50

void unsent_ask(const struct muster_client *c, const struct unsent *u, struct script_take_lease *what)
{
    if (c->take_room > 0 && what->n > c->take_room)
        what->n = c->take_room;
    what->held_back = u->too_much > 0 ? u->too_much : size_limit_due(&u->suspect);
}

void unsent_heard(struct muster_client *c)
{
    c->take_room *= 2;
    if (c->take_most > 0 && c->take_room > c->take_most)
        c->take_room = c->take_most;
    if (c->take_room >= MUSTER_LEASE_TAKE_MAX)
        c->take_room = 0;
}

/* ---- one that is too large ---- */

static int fail(struct muster_client *c, const char *queue, const struct script_leased_one *one)
{
    char id[PROCESS_ID_MAX], words[SIZE_LIMIT_WORDS], line[SIZE_LIMIT_LINE];
    process_name_of_lease(id, one->token, queue);
    size_limit_words(words, one->job ? LARGE_RECORD : LARGE_TASK, one->held_back);
    size_limit_line(line, id, words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    int err = muster_lease_fail(c, id, FAILURE_GROUP_TOO_LARGE, words);
    return err == MUSTER_E_LOST || err == MUSTER_E_CANCELLED ? MUSTER_OK : err; /* it was ended meanwhile */
}

void unsent_set_aside(struct muster_client *c, struct unsent *u, const char *queue, const struct script_leased_one *one)
{
    char id[PROCESS_ID_MAX];
    process_name_of_lease(id, one->token, queue);
    if (!*u->words)
        size_limit_aside(u->words, id, one);
    u->too_much = 0;
    u->was_passed_over = true;
    unheard_set_aside(c, queue, one->token);
}

int unsent_pass_over(struct muster_client *c, struct unsent *u, const char *queue, const struct script_leased_one *one)
{
    if (u->too_much > 0) {
        unsent_set_aside(c, u, queue, one);
        return MUSTER_OK;
    }
    u->was_passed_over = true;
    int err = fail(c, queue, one);
    unheard_note(c, queue, err); /* without an answer it may still be leased, and goes back: it came alone */
    return err;
}

/* ---- it is asked again ---- */

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

/* There was no memory for the answer. For what comes alone there may be where there was none for several. What is small does
 * not lack it for its size: there is none for anything. */
static int give_back_for_memory(struct muster_client *c, struct unsent *u, bool *goes_on)
{
    struct script_untaken back;
    int err = unheard_give_back_call(c, &back);
    u->too_much = err == MUSTER_OK && back.n == 1 && back.n_bytes >= COMMAND_LARGE ? back.n_bytes : 0;
    *goes_on = err == MUSTER_OK && (back.n > 1 || u->too_much > 0);
    c->take_room = 1;
    return err;
}

/* It keeps what the take said, unless it was interrupted. */
static bool give_back_and_go_on(struct muster_client *c, struct unsent *u, int *err)
{
    bool goes_on;
    char said[512];
    snprintf(said, sizeof said, "%s", redis_error(c->redis));
    int back = *err == MUSTER_E_NOMEM ? give_back_for_memory(c, u, &goes_on) : give_back(c, u, &goes_on);
    if (back == MUSTER_E_INTERRUPTED)
        *err = back;
    else
        redis_error_set(c->redis, "%s", said);
    return back == MUSTER_OK && goes_on;
}

bool unsent_asks_again(struct muster_client *c, struct unsent *u, int *err)
{
    bool goes_on = u->was_passed_over && (*err == MUSTER_OK || *err == MUSTER_E_NOT_FOUND);
    bool may_be_heard = *err == MUSTER_E_CONN || (*err == MUSTER_E_NOMEM && *c->unheard.queue);
    u->was_passed_over = false;
    u->too_much = 0;
    if (*err != MUSTER_E_CONN)
        u->suspect = (struct size_suspect){0};
    if (++u->n_rounds >= ROUNDS_MAX || unsent_is_over(c))
        return false;
    return goes_on || (may_be_heard && give_back_and_go_on(c, u, err));
}

bool unsent_is_over(const struct muster_client *c)
{
    return c->unheard.aside.n >= SIZE_LIMIT_ASIDE_MAX;
}

/* ---- the end ---- */

/* The others are the call's: that one was not among them is for the log. */
int unsent_end(struct muster_client *c, const struct unsent *u, size_t n_given, int err)
{
    const size_t n = c->unheard.aside.n;
    char said[512], more[48] = "";
    if (n == 0 && err == MUSTER_E_NOMEM)
        redis_error_set(c->redis, "out of memory; what was not handed out %s",
                        *c->unheard.queue ? "goes back with the next take, or when the client is freed"
                                          : "has gone back");
    if (n == 0 || redis_is_unanswered(err)) /* it goes back with what the call may have taken */
        return err;
    snprintf(said, sizeof said, "%s", redis_error(c->redis));
    int back = unheard_give_back_aside(c);
    if (back == MUSTER_E_INTERRUPTED)
        return back;
    redis_error_set(c->redis, "%s", said);
    if (err != MUSTER_OK && err != MUSTER_E_NOT_FOUND && err != MUSTER_E_NOMEM)
        return err;
    if (n > 1)
        snprintf(more, sizeof more, "; and %zu more", n - 1);
    redis_error_set(c->redis, "%s%s", u->words, more);
    if (n_given == 0)
        return MUSTER_E_NOMEM;
    log_line(MUSTER_LOG_WARN, "%s", redis_error(c->redis));
    return MUSTER_OK;
}
