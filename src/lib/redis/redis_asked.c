/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: commands without an answer, and sending again what was not executed.
 *
 * Redis may refuse a command without having executed it, for a reason that passes: its slot moves or has another owner,
 * or there is no master just now. Such a command is sent again; so the bytes of each are kept until its answer is read.
 * Before anything is sent again, all answers that are under way are read, so that what was executed is known, and the
 * connection can be left for another one. The order among those that are sent again stays; what had been executed
 * between them, stays executed.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "redis/byte_limits.h"
#include "redis/redis_private.h"

struct asked {
    struct asked *next;
    struct redisReply *answer; /* NULL: it is still to come */
    bool follows;              /* those before it */
    bool is_look;              /* it only reads */
    bool is_due;               /* it is still to be said over this connection */
    int64_t said_at_us;
    size_t len;
    char said[];
};

void redis_asked_init(struct redis *r)
{
    r->asked = NULL;
    r->asked_end = &r->asked;
}

static void free_asked(struct asked *a)
{
    redis_reply_free(a->answer);
    free(a);
}

void redis_asked_clear(struct redis *r)
{
    while (r->asked) {
        struct asked *next = r->asked->next;
        free_asked(r->asked);
        r->asked = next;
    }
    r->asked_end = &r->asked;
    r->asked_bytes = 0;
    r->n_together = 0;
    r->is_read_from = false;
}

/* Those that are under way. */
static size_t count_said(const struct redis *r)
{
    size_t n = 0;
    for (const struct asked *a = r->asked; a; a = a->next)
        n += !a->answer && !a->is_due;
    return n;
}

static bool is_any_due(const struct redis *r)
{
    const struct asked *a = r->asked;
    while (a && !a->is_due)
        a = a->next;
    return a;
}

bool redis_asked_is_full(const struct redis *r)
{
    return r->look_room > 0 && (is_any_due(r) || count_said(r) >= r->look_room);
}

int redis_asked_add(struct redis *r, bool is_look)
{
    struct muster_bytes said = wire_said(r->wire);
    struct asked *a = malloc(sizeof *a + said.len);
    if (!a)
        return MUSTER_E_NOMEM;
    *a = (struct asked){.said_at_us = clock_us(), .len = said.len, .is_look = is_look};
    a->is_due = is_look && redis_asked_is_full(r);
    figures_add(&r->figures.commands, 1);
    memcpy(a->said, said.data, said.len);
    r->n_together = r->asked ? r->n_together : 0;
    *r->asked_end = a;
    r->asked_end = &a->next;
    r->asked_bytes += a->len;
    r->n_together += !a->is_due;
    return MUSTER_OK;
}

void redis_asked_follow(struct redis *r)
{
    struct asked *last = r->asked;
    while (last && last->next)
        last = last->next;
    if (last)
        last->follows = true;
}

/* ---- what Redis does not send ---- */

#define ASK_LIMIT_MS 1000

/* Redis closes a connection at a limit without a word. So it is asked for that, once it is reached again. The words of the
 * end stay. MUSTER_OK or E_INTERRUPTED; a server that is not reached has said nothing. */
static int ask_limits(struct redis *r, struct byte_limits *limits)
{
    char said[sizeof r->error];
    memcpy(said, r->error, sizeof said);
    int timeout_ms = redis_hurry(r, ASK_LIMIT_MS);
    int err = byte_limits_call(limits, r);
    (void)redis_set_timeout(r, timeout_ms);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    if (!redis_is_connected(r)) /* it was not even greeted */
        *limits = (struct byte_limits){0};
    memcpy(r->error, said, sizeof said);
    return MUSTER_OK;
}

static bool are_looks(const struct redis *r)
{
    const struct asked *a = r->asked;
    while (a && a->is_look)
        a = a->next;
    return r->asked && !a;
}

/* The answers of those that were under way together may have been too many. So they are said again, half as many at a
 * time. A single one is its caller's. MUSTER_OK: it goes on. */
static int look_again(struct redis *r)
{
    struct asked *asked = r->asked, **end = r->asked_end;
    const size_t bytes = r->asked_bytes, together = r->n_together;
    const bool is_read_from = r->is_read_from;
    const int64_t until_ms = r->until_ms;
    redis_asked_init(r);
    r->asked_bytes = 0;
    int err = ask_limits(r, &r->answer_limits);
    redis_asked_clear(r);
    r->asked = asked;
    r->asked_end = end;
    r->asked_bytes = bytes;
    r->is_read_from = is_read_from;
    r->until_ms = until_ms;
    if (err != MUSTER_OK)
        return err;
    if (!byte_limits_may_end(&r->answer_limits, BYTE_LIMITS_ANSWER, UINT64_MAX) || together < 2)
        return MUSTER_E_CONN;
    trace_line(TRACE_STATE, "client: %zu answers together may be more than this Redis sends", together);
    r->look_room = together / 2;
    for (struct asked *a = r->asked; a; a = a->next)
        a->is_due = !a->answer;
    return MUSTER_OK;
}

static int say_due(struct redis *r, struct asked *a)
{
    for (r->n_together = 0; a && a->is_due && (r->look_room == 0 || r->n_together < r->look_room); a = a->next) {
        const struct muster_bytes said = {a->said, a->len};
        if (wire_say_bytes(r->wire, &said, 1, 1) != MUSTER_OK)
            return redis_break(r, MUSTER_E_NOMEM, "out of memory");
        figures_add(&r->figures.commands, 1);
        a->is_due = false;
        r->n_together++;
    }
    return MUSTER_OK;
}

/* The answer to the first that has none. */
static int hear(struct redis *r, struct asked *a)
{
    int err;
    do {
        err = a->is_due ? redis_connect(r) : MUSTER_OK;
        if (err == MUSTER_OK && a->is_due)
            err = say_due(r, a);
        if (err == MUSTER_OK)
            err = redis_answer(r, &a->answer);
        if (err != MUSTER_E_CONN || r->borrowed || !are_looks(r))
            return err;
        err = look_again(r);
    } while (err == MUSTER_OK);
    return err;
}

/* The answers come in the order of those that have none yet. */
static int read_rest(struct redis *r)
{
    int err = MUSTER_OK;
    for (struct asked *a = r->asked; a && err == MUSTER_OK; a = a->next)
        err = a->answer ? MUSTER_OK : hear(r, a);
    return err;
}

int redis_asked_catch_up(struct redis *r)
{
    int err = is_any_due(r) ? read_rest(r) : MUSTER_OK;
    if (err != MUSTER_OK)
        redis_drop(r);
    return err;
}

const struct byte_limits *redis_answer_limits(const struct redis *r)
{
    const bool may_be = byte_limits_may_end(&r->answer_limits, BYTE_LIMITS_ANSWER, UINT64_MAX);
    return may_be ? &r->answer_limits : NULL;
}

/* Leave for where it can be executed, if that is elsewhere. False: there is no time left. */
static bool go_where_it_can(struct redis *r, const struct redisReply *refusal)
{
    bool is_moved = reply_is_refusal(refusal, "MOVED");
    trace_line(TRACE_STATE, "client: not executed: %s", reply_text(refusal));
    if (r->is_once || clock_ms() >= r->until_ms || (is_moved && r->borrowed))
        return false;
    bool is_sent_on = is_moved && place_moved(&r->place, reply_text(refusal));
    bool is_replica = reply_is_by_replica(refusal);
    bool is_wrong = is_moved || is_replica || reply_is_refusal(refusal, "CLUSTERDOWN");
    if (is_wrong && !r->borrowed)
        redis_leave(r);
    if (is_wrong && !is_sent_on)
        place_failed(&r->place);
    if (is_replica) /* of several addresses of the host another one may be the master's */
        resolver_note_failure(&r->resolver, r->address);
    /* Servers that name each other must not keep it busy. */
    return (is_sent_on && r->n_moves++ == 0) || redis_pause(r);
}

/* Was anything executed that was asked for after this? Then its place in the order is lost. */
static bool is_order_lost(const struct redis *r)
{
    const struct asked *a = r->asked->next;
    while (a && (reply_is_passing(a->answer) || a->follows))
        a = a->next;
    return r->is_in_order && a;
}

static int say_again(struct redis *r)
{
    bool is_any = false;
    for (struct asked *a = r->asked; a; a = a->next) {
        const struct muster_bytes said = {a->said, a->len};
        if (!reply_is_passing(a->answer) && !(a->follows && is_any))
            continue;
        is_any = true;
        if (wire_say_bytes(r->wire, &said, 1, 1) != MUSTER_OK)
            return redis_break(r, MUSTER_E_NOMEM, "out of memory");
        figures_add(&r->figures.commands, 1);
        figures_add(&r->figures.again, 1);
        redis_reply_free(a->answer);
        a->answer = NULL;
    }
    return MUSTER_OK;
}

/* Without a connection the refusal stays: it is still certain that nothing was executed. */
static int try_again(struct redis *r, bool *is_over)
{
    int err = read_rest(r);
    if (err != MUSTER_OK)
        return err;
    *is_over = is_order_lost(r) || !go_where_it_can(r, r->asked->answer);
    if (!*is_over && (err = redis_check_interrupt(r)) == MUSTER_OK)
        err = redis_connect(r);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    *is_over |= err != MUSTER_OK;
    return *is_over ? MUSTER_OK : say_again(r);
}

/* ---- what Redis does not read ---- */

static size_t largest_asked(const struct redis *r)
{
    size_t most = 0;
    for (const struct asked *a = r->asked; a; a = a->next)
        most = a->len > most ? a->len : most;
    return most;
}

/* Of a request that is above its limit. Whoever must not ask is told what the limit is called (redis_break()). */
static int judge_break(struct redis *r, size_t n_bytes)
{
    struct byte_limits limits;
    int err = ask_limits(r, &limits);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    if (limits.query == 0 || n_bytes <= limits.query)
        return MUSTER_E_CONN;
    redis_error_set(
        r, "the request of %zu bytes is more than this Redis takes (its client-query-buffer-limit of %" PRIu64 ")",
        n_bytes, limits.query);
    return MUSTER_E_TOO_BIG;
}

/* The words of an end at which an answer may have been too large. */
static void name_limit(struct redis *r)
{
    char said[sizeof r->error], of[40] = "";
    snprintf(said, sizeof said, "%s", r->error);
    if (r->answer_limits.answer > 0)
        snprintf(of, sizeof of, ", of %" PRIu64 ",", r->answer_limits.answer);
    redis_error_set(r, "%s: its client-output-buffer-limit for normal clients%s may be less than the answer has", said,
                    of);
}

/* Nothing that was asked has an answer any more. */
static int give_up(struct redis *r, int err)
{
    const size_t n_bytes = largest_asked(r);
    if (err == MUSTER_E_CONN && redis_answer_limits(r))
        name_limit(r);
    if (err != MUSTER_E_INTERRUPTED)
        place_failed(&r->place);
    redis_drop(r);
    return err == MUSTER_E_CONN && n_bytes >= COMMAND_LARGE && !r->borrowed ? judge_break(r, n_bytes) : err;
}

/* The next of the words of a command as it was sent, "$<length>\r\n<word>\r\n"; `*at` moves on. */
static struct muster_bytes next_word(const char **at, const char *end)
{
    const char *word = memchr(*at, '\n', (size_t)(end - *at));
    size_t len = word ? strtoul(*at + 1, NULL, 10) : 0;
    if (!word || len > (size_t)(end - word) - 1)
        return (struct muster_bytes){NULL, 0};
    *at = word + 1 + len + 2;
    return (struct muster_bytes){word + 1, len};
}

/* Redis does not say which key has a wrong type. That of a plain command is the word behind its name. */
static void note_key(struct redis *r, const struct asked *a)
{
    const char *end = a->said + a->len, *at = memchr(a->said, '\n', a->len);
    r->wrong_key[0] = '\0';
    if (!reply_is_refusal(a->answer, "WRONGTYPE") || !at)
        return;
    at++;
    struct muster_bytes name = next_word(&at, end), key = {NULL, 0};
    bool is_script = name.len >= 4 && memcmp(name.data, "EVAL", 4) == 0;
    if (name.data && !is_script && at < end)
        key = next_word(&at, end);
    snprintf(r->wrong_key, sizeof r->wrong_key, "%.*s", (int)key.len, key.data ? (const char *)key.data : "");
}

/* Over a connection that was handed in all looks are read at once: wherever the caller stops, its owner gets no answer
 * that is not its own. */
int redis_asked_read(struct redis *r, struct redisReply **reply)
{
    bool is_over = false;
    if (!r->asked)
        return MUSTER_E_CONN;
    int err = r->asked->answer ? MUSTER_OK : hear(r, r->asked);
    if (err == MUSTER_OK && r->borrowed && !r->is_read_from && are_looks(r))
        err = read_rest(r);
    while (err == MUSTER_OK && !is_over && reply_is_passing(r->asked->answer)) {
        err = try_again(r, &is_over);
        if (err == MUSTER_OK && !is_over)
            err = hear(r, r->asked);
    }
    if (err != MUSTER_OK)
        return give_up(r, err);
    struct asked *first = r->asked;
    note_key(r, first);
    *reply = first->answer;
    figures_add(&r->figures.answers, 1);
    figures_add_time(&r->figures.time, clock_us() - first->said_at_us);
    if (!reply_is_passing(*reply)) /* it goes on: so what comes after has its time, too */
        redis_begin_time(r);
    r->asked = first->next;
    r->is_read_from = r->asked != NULL;
    r->asked_bytes -= first->len;
    if (!r->asked)
        r->asked_end = &r->asked;
    free(first);
    return MUSTER_OK;
}

/* Their answers come before that of the next command. Without a connection they do not come any more. */
int redis_asked_finish(struct redis *r)
{
    int err = MUSTER_OK;
    for (struct asked *a = redis_is_connected(r) ? r->asked : NULL; a && err == MUSTER_OK; a = a->next)
        err = a->answer || a->is_due ? MUSTER_OK : redis_answer(r, &a->answer);
    if (err != MUSTER_OK)
        redis_leave(r);
    redis_asked_clear(r);
    return err == MUSTER_E_INTERRUPTED ? err : MUSTER_OK;
}
