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
    r->is_read_from = false;
}

int redis_asked_add(struct redis *r)
{
    struct muster_bytes said = wire_said(r->wire);
    struct asked *a = malloc(sizeof *a + said.len);
    if (!a)
        return MUSTER_E_NOMEM;
    *a = (struct asked){.said_at_us = clock_us(), .len = said.len};
    figures_add(&r->figures.commands, 1);
    memcpy(a->said, said.data, said.len);
    *r->asked_end = a;
    r->asked_end = &a->next;
    r->asked_bytes += a->len;
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

/* The answers come in the order of those that have none yet. */
static int read_rest(struct redis *r)
{
    for (struct asked *a = r->asked; a; a = a->next) {
        if (a->answer)
            continue;
        int err = redis_answer(r, &a->answer);
        if (err != MUSTER_OK)
            return err;
    }
    return MUSTER_OK;
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

#define ASK_LIMIT_MS 1000

static size_t largest_asked(const struct redis *r)
{
    size_t most = 0;
    for (const struct asked *a = r->asked; a; a = a->next)
        most = a->len > most ? a->len : most;
    return most;
}

/* Redis closes the connection of a request that is above this limit, without a word. So it is asked for it, once it is
 * reached again. Whoever must not ask is told what the limit is called (redis_break()). */
static int judge_break(struct redis *r, size_t n_bytes)
{
    struct byte_limits limits;
    char said[sizeof r->error];
    memcpy(said, r->error, sizeof said);
    int timeout_ms = redis_hurry(r, ASK_LIMIT_MS);
    int err = byte_limits_call(&limits, r);
    (void)redis_set_timeout(r, timeout_ms);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    if (limits.query == 0 || n_bytes <= limits.query) {
        memcpy(r->error, said, sizeof said);
        return MUSTER_E_CONN;
    }
    redis_error_set(
        r, "the request of %zu bytes is more than this Redis takes (its client-query-buffer-limit of %" PRIu64 ")",
        n_bytes, limits.query);
    return MUSTER_E_TOO_BIG;
}

/* Nothing that was asked has an answer any more. */
static int give_up(struct redis *r, int err)
{
    const size_t n_bytes = largest_asked(r);
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

int redis_asked_read(struct redis *r, struct redisReply **reply)
{
    bool is_over = false;
    if (!r->asked)
        return MUSTER_E_CONN;
    int err = r->asked->answer ? MUSTER_OK : redis_answer(r, &r->asked->answer);
    while (err == MUSTER_OK && !is_over && reply_is_passing(r->asked->answer)) {
        err = try_again(r, &is_over);
        if (err == MUSTER_OK && !is_over)
            err = redis_answer(r, &r->asked->answer);
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
    int err = r->asked && redis_is_connected(r) ? read_rest(r) : MUSTER_OK;
    if (err != MUSTER_OK)
        redis_leave(r);
    redis_asked_clear(r);
    return err == MUSTER_E_INTERRUPTED ? err : MUSTER_OK;
}
