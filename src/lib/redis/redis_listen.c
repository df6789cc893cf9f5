/* SPDX-License-Identifier: MIT
 *
 * The listener: a second connection that is subscribed.
 *
 * It may hear nothing for a long time, and silence does not tell a quiet channel from a dead connection. So after
 * PING_AFTER_MS without a message it asks: a subscribed connection may send PING. No answer means that it is dead.
 */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>

#include "base/clock.h"
#include "redis/redis_private.h"
#include "redis/sigpipe.h"

#define PING_AFTER_MS 5000

static void note_sign(struct redis *r)
{
    r->has_asked = false;
    r->sign_due_ms = clock_ms() + PING_AFTER_MS;
}

static int subscribe(struct redis *r, const char *const *channels, size_t n)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "SUBSCRIBE");
    for (size_t i = 0; i < n; i++)
        command_text(&c, channels[i]);
    int err = redis_send(r, &c);
    command_clear(&c);
    if (err == MUSTER_OK)
        r->unread = n; /* Redis confirms each channel separately */
    while (err == MUSTER_OK && r->unread > 0) {
        struct redisReply *reply;
        err = redis_read(r, &reply);
        redis_reply_free(reply);
    }
    return err;
}

int redis_check_listen(struct redis *r)
{
    if (!r->is_borrowed)
        return MUSTER_OK;
    redis_error_set(
        r, "waiting needs a second connection, and this client has only the one that was handed in: give it a URL");
    return MUSTER_E_STATE;
}

int redis_listen(struct redis **listener, struct redis *r, const char *const *channels, size_t n)
{
    struct redis *l;
    *listener = NULL;
    int err = redis_check_listen(r);
    if (err == MUSTER_OK)
        err = redis_new(
            &l, &(struct redis_options){
                    .url = &r->url, .timeout_ms = r->timeout_ms, .prefix = r->prefix, .format_key = r->format_key});
    if (err != MUSTER_OK)
        return err;
    l->listens_for = r;
    err = redis_connect(l);
    if (err == MUSTER_OK)
        err = subscribe(l, channels, n);
    if (err != MUSTER_OK) {
        redis_free(l);
        return err;
    }
    note_sign(l);
    *listener = l;
    return MUSTER_OK;
}

/* A dead listener never gives E_TIMEOUT, because that means that all is well. */
static int broken_listener(struct redis *r)
{
    int err = redis_break(r);
    return err == MUSTER_E_TIMEOUT ? MUSTER_E_CONN : err;
}

static int ask_for_sign(struct redis *r)
{
    struct sigpipe hold;
    int is_sent = 0;
    if (redisAppendCommand(r->context, "PING") != REDIS_OK) {
        redis_error_set(r, "out of memory");
        return MUSTER_E_NOMEM;
    }
    errno = 0;
    sigpipe_hold(&hold);
    while (!is_sent && redisBufferWrite(r->context, &is_sent) == REDIS_OK)
        ;
    sigpipe_release(&hold, !is_sent);
    if (!is_sent)
        return broken_listener(r);
    r->has_asked = true;
    r->sign_due_ms = clock_ms() + r->timeout_ms;
    return MUSTER_OK;
}

static int give_up(struct redis *r)
{
    char where[160];
    redis_describe(r, where, sizeof where);
    redis_error_set(r, "%s: no sign of life within %d ms while listening", where, r->timeout_ms);
    return MUSTER_E_CONN;
}

/* Wait for bytes and read them. It looks before it judges: the caller may have been away for a long time. */
static int hear_more(struct redis *r, int64_t wait_ms, bool *is_more)
{
    struct pollfd p = {.fd = r->context->fd, .events = POLLIN};
    int64_t sign_in_ms = r->sign_due_ms - clock_ms();
    int64_t ms = wait_ms < sign_in_ms ? wait_ms : sign_in_ms;
    *is_more = poll(&p, 1, ms > 0 ? (int)ms : 0) > 0;
    if (*is_more) {
        errno = 0;
        note_sign(r);
        return redisBufferRead(r->context) == REDIS_OK ? MUSTER_OK : broken_listener(r);
    }
    if (clock_ms() < r->sign_due_ms)
        return MUSTER_OK;
    return r->has_asked ? give_up(r) : ask_for_sign(r);
}

/* The next message of what was read; NULL when there is none. Answers to PING are skipped. */
static int next_message(struct redis *r, struct redisReply **message)
{
    for (;;) {
        void *heard = NULL;
        if (redisGetReplyFromReader(r->context, &heard) != REDIS_OK)
            return broken_listener(r);
        *message = heard;
        if (!heard || (reply_len(heard) == 3 && reply_is(reply_at(heard, 0), "message")))
            return MUSTER_OK;
        freeReplyObject(heard);
    }
}

int redis_hear(struct redis *listener, int64_t wait_ms, struct redisReply **message)
{
    const int64_t began_at_ms = clock_ms();
    int64_t left_ms;
    bool is_more;
    int err;
    *message = NULL;
    do {
        err = next_message(listener, message);
        if (err != MUSTER_OK || *message)
            return err;
        left_ms = wait_ms - (clock_ms() - began_at_ms);
        err = hear_more(listener, left_ms > 0 ? left_ms : 0, &is_more);
    } while (err == MUSTER_OK && (is_more || left_ms > 0));
    return err == MUSTER_OK ? MUSTER_E_TIMEOUT : err;
}
