/* SPDX-License-Identifier: MIT
 *
 * The listener: a second connection that is subscribed.
 *
 * It may hear nothing for a long time, and silence does not tell a quiet channel from a dead connection. So after
 * PING_AFTER_MS without a message it asks: a subscribed connection may send PING. No answer means that it is dead.
 *
 * It may be at another server than the connection for which it listens: that one was sent on, or its name leads elsewhere
 * by now. So that one asks how many hear something that only this listener hears (pair.h): at the beginning, whenever it
 * is another connection, and now and then. Nobody: both are left. In a cluster other nodes pass it on: so there it has until
 * the next time to be heard.
 */

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "redis/redis_private.h"

#define PING_AFTER_MS 5000
/* Asking who hears it may cost the hearing so long. */
#define EAR_PATIENCE_MS 1000

static void note_sign(struct redis *r)
{
    r->has_asked = false;
    r->sign_due_ms = clock_in_ms(PING_AFTER_MS);
}

/* Redis confirms each channel separately. */
static int subscribe(struct redis *r, const char *const *channels, size_t n)
{
    const int64_t until_ms = clock_in_ms(r->timeout_ms);
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = wire_subscribe(r->wire, WIRE_CLASSIC, channels[i]);
    if (err == MUSTER_OK)
        err = wire_subscribe(r->wire, WIRE_CLASSIC, r->ear);
    n++;
    if (err != MUSTER_OK) {
        redis_error_set(r, "out of memory");
        return err;
    }
    while (n > 0) {
        struct redisReply *heard;
        err = redis_answer(r, &heard);
        if (err != MUSTER_OK)
            return err;
        n -= reply_is(reply_at(heard, 0), "subscribe");
        redis_reply_free(heard);
        if (n > 0 && clock_ms() > until_ms)
            return redis_break(r, MUSTER_E_TIMEOUT, "not subscribed in time");
    }
    return MUSTER_OK;
}

int redis_check_listen(struct redis *r)
{
    if (!r->borrowed)
        return MUSTER_OK;
    redis_error_set(
        r, "waiting needs a second connection, and this client has only the one that was handed in: give it a URL");
    return MUSTER_E_STATE;
}

static int ask_for_sign(struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "PING");
    int err = wire_say(r->wire, &c, 1);
    command_clear(&c);
    if (err != MUSTER_OK)
        return redis_break(r, err, "out of memory");
    wire_flush(r->wire);
    r->has_asked = true;
    r->sign_due_ms = clock_in_ms(r->timeout_ms);
    return MUSTER_OK;
}

static int give_up(struct redis *r)
{
    char why[64];
    snprintf(why, sizeof why, "no sign of life within %d ms while listening", r->timeout_ms);
    return redis_break(r, MUSTER_E_CONN, why);
}

/* ---- where it is ---- */

/* So many hear it; -1: nobody can say. E_INTERRUPTED. What else goes wrong, the next call over that connection tells. */
static int count_ears(struct redis *listener, long long *n)
{
    struct redis *r = listener->listens_for;
    struct redisReply *reply;
    struct command c = COMMAND_EMPTY;
    char said[sizeof r->error];
    memcpy(said, r->error, sizeof said);
    command_words(&c, (const char *const[]){"PUBLISH", listener->ear, "", NULL});
    int timeout_ms = redis_hurry(r, EAR_PATIENCE_MS);
    int err = redis_call(r, &c, &reply);
    (void)redis_set_timeout(r, timeout_ms);
    command_clear(&c);
    *n = err == MUSTER_OK ? reply_number(reply, -1) : -1;
    redis_reply_free(reply);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    memcpy(r->error, said, sizeof said);
    return MUSTER_OK;
}

/* MUSTER_OK: it is at the same server, or nobody can say. */
static int look_where_it_is(struct redis *listener)
{
    struct redis *r = listener->listens_for;
    long long n;
    bool had_time = clock_ms() >= listener->ear_due_ms;
    listener->ear_due_ms = clock_in_ms(PING_AFTER_MS);
    int err = count_ears(listener, &n);
    listener->ear_asked = redis_connection(r);
    if (err != MUSTER_OK || n < 0)
        return err;
    bool is_heard = n > 0 || (redis_is_at_cluster(r) && !(listener->ear_waits && had_time));
    listener->ear_waits = n == 0;
    r->n_elsewhere = is_heard ? 0 : r->n_elsewhere + 1;
    if (is_heard)
        return MUSTER_OK;
    resolver_note_failure(&r->resolver, listener->address);
    redis_leave(r);
    return redis_break(listener, MUSTER_E_CONN, "the server that the other connection leads to does not count it");
}

int redis_listen(struct redis **listener, struct redis *r, const char *const *channels, size_t n)
{
    struct redis *l;
    *listener = NULL;
    int err = redis_check_listen(r);
    if (err == MUSTER_OK)
        err = redis_new(&l, &(struct redis_options){.url = &r->url,
                                                    .timeout_ms = r->timeout_ms,
                                                    .prefix = r->prefix,
                                                    .root_key = r->root_key,
                                                    .format_key = r->format_key});
    if (err != MUSTER_OK)
        return err;
    l->listens_for = r;
    l->interrupt = r->interrupt;
    resolver_note_failures_of(&l->resolver, &r->resolver); /* so it goes where the other one went */
    pair_ear_name(l->ear, l->root_key);
    err = redis_connect(l);
    if (err == MUSTER_OK)
        redis_follow_listener(l);
    if (err == MUSTER_OK)
        err = subscribe(l, channels, n);
    if (err != MUSTER_OK) {
        redis_free(l);
        return err;
    }
    note_sign(l);
    l->ear_due_ms = clock_in_ms(PING_AFTER_MS);
    l->ear_asked = redis_connection(r);
    l->master_due_ms = r->url.kind == URL_SENTINEL ? clock_in_ms(MASTER_ASK_MS) : 0;
    if (r->n_elsewhere < 2)
        err = look_where_it_is(l);
    if (err == MUSTER_OK) {
        *listener = l;
        return err;
    }
    redis_free(l);
    return err == MUSTER_E_CONN ? redis_listen(listener, r, channels, n) : err; /* twice at most */
}

static bool is_ear_due(const struct redis *l)
{
    return clock_ms() >= l->ear_due_ms || redis_connection(l->listens_for) != l->ear_asked;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_due_ms(const struct redis *r)
{
    int64_t due_ms = sooner(r->sign_due_ms, r->ear_due_ms);
    return r->master_due_ms ? sooner(due_ms, r->master_due_ms) : due_ms;
}

/* Wait for something to come. Only what is whole, or large, is a sign of life: wire.h says how much. */
static int hear_more(struct redis *r, int64_t wait_ms)
{
    unsigned marks = wire_marks(r->wire);
    int64_t until_ms = clock_in_ms(wait_ms), due_ms = next_due_ms(r);
    if (r->master_due_ms && clock_ms() >= r->master_due_ms)
        return redis_look_for_master(r);
    if (is_ear_due(r))
        return look_where_it_is(r);
    bool is_more = redis_wait(r, until_ms < due_ms ? until_ms : due_ms);
    if (wire_marks(r->wire) != marks)
        note_sign(r);
    if (is_more || clock_ms() < r->sign_due_ms)
        return MUSTER_OK;
    return r->has_asked ? give_up(r) : ask_for_sign(r);
}

/* The next message of what was read; NULL when there is none. Answers to PING, and what the ear hears, are skipped. */
static int next_message(struct redis *r, struct redisReply **message)
{
    for (;;) {
        int err = wire_next(r->wire, message);
        if (err != MUSTER_OK)
            return redis_break(r, err, wire_why(r->wire));
        if (!*message)
            return MUSTER_OK;
        note_sign(r);
        bool is_ears = reply_is(reply_at(*message, 1), r->ear);
        if (wire_was_pushed(r->wire) && reply_is(reply_at(*message, 0), "message") && !is_ears)
            return MUSTER_OK;
        r->ear_waits &= !is_ears;
        redis_reply_free(*message);
    }
}

/* Longer than anybody waits at once, and clock_ms() plus it is a number. */
#define WAIT_MAX_MS INT32_MAX

int redis_hear(struct redis *listener, int64_t wait_ms, struct redisReply **message)
{
    const int64_t began_at_ms = clock_ms();
    int64_t left_ms = 1;
    *message = NULL;
    for (;;) {
        if (!listener->wire)
            return MUSTER_E_CONN;
        int err = redis_check_owner(listener);
        if (err == MUSTER_OK)
            err = next_message(listener, message);
        if (err != MUSTER_OK || *message)
            return err;
        if (left_ms <= 0) /* it has had its last look */
            return MUSTER_E_TIMEOUT;
        left_ms = wait_ms - (clock_ms() - began_at_ms);
        left_ms = left_ms < 0 ? 0 : left_ms > WAIT_MAX_MS ? WAIT_MAX_MS : left_ms;
        if ((err = redis_check_interrupt(listener)) != MUSTER_OK || (err = hear_more(listener, left_ms)) != MUSTER_OK)
            return err;
    }
}
