/* SPDX-License-Identifier: MIT
 *
 * The blocking connection; with link.c the only place where hiredis is called.
 *
 * hiredis knows a context as good until it fails once; from then on every call on it fails. So a failed context is
 * dropped at once, and the next use connects anew. Before a command goes out on a connection that was idle, a look at
 * the socket tells whether the server has closed it meanwhile: then nothing is in doubt yet, and connecting again
 * spares the caller an E_CONN.
 *
 * Who listens may hear nothing for long, and silence does not tell a quiet channel from a dead connection. So after a
 * while of it he asks (PING, which a subscribed connection may), and no answer means dead.
 */
#include "redis/redis.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <muster/version.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/log.h"
#include "redis/sigpipe.h"

/* A listener that has heard nothing for so long asks for a sign of life. */
#define PING_AFTER_MS 5000

struct redis {
    redisContext *context; /* NULL: not connected */
    int is_given;
    struct url url;
    char *prefix, *format_key;
    const char *format;
    int timeout_ms;
    size_t unread; /* answers that were asked for and not read */
    int greeted, format_known;
    char error[512];
    struct redis *listens_for; /* whose listener this is, NULL: nobody's */
    int64_t sign_due_ms;       /* when a listener asks for a sign of life or, having asked, gives up */
    int is_asked;
};

int redis_new(struct redis **out, const struct redis_options *o)
{
    struct redis *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return MUSTER_E_NOMEM;
    r->context = o->given;
    r->is_given = o->given != NULL;
    r->timeout_ms = o->timeout_ms;
    r->format = o->format;
    r->prefix = strdup(o->prefix);
    r->format_key = strdup(o->format_key);
    if (!r->prefix || !r->format_key || (!o->given && url_copy(&r->url, o->url) != MUSTER_OK)) {
        redis_free(r);
        return MUSTER_E_NOMEM;
    }
    *out = r;
    return MUSTER_OK;
}

void redis_free(struct redis *r)
{
    if (!r)
        return;
    if (r->context && !r->is_given)
        redisFree(r->context);
    url_clear(&r->url);
    free(r->prefix);
    free(r->format_key);
    free(r);
}

const char *redis_error(const struct redis *r)
{
    return r->error;
}

void redis_error_set(struct redis *r, const char *format, ...)
{
    va_list args;
    if (r->listens_for)
        r = r->listens_for;
    va_start(args, format);
    vsnprintf(r->error, sizeof r->error, format, args);
    va_end(args);
}

static void place(const struct redis *r, char *out, size_t size)
{
    if (r->is_given)
        snprintf(out, size, "the given connection");
    else
        url_describe(&r->url, out, size);
}

static void drop(struct redis *r)
{
    if (r->context && !r->is_given) {
        redisFree(r->context);
        r->context = NULL;
    }
    r->unread = 0;
    r->greeted = r->format_known = 0;
}

/* What a failed context means; drops it. */
static int broken(struct redis *r)
{
    char where[160], what[128];
    place(r, where, sizeof where);
    int timed_out = r->context->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT);
    int protocol = r->context->err == REDIS_ERR_PROTOCOL;
    snprintf(what, sizeof what, "%s", r->context->errstr);
    if (timed_out)
        redis_error_set(r, "%s: no answer within %d ms", where, r->timeout_ms);
    else if (protocol)
        redis_error_set(r, "%s: this is not a Redis: %s", where, what);
    else
        redis_error_set(r, "%s: %s", where, what);
    drop(r);
    return timed_out ? MUSTER_E_TIMEOUT : protocol ? MUSTER_E_REDIS : MUSTER_E_CONN;
}

static int send_now(struct redis *r, struct command *c)
{
    int failed = c->failed;
    if (!failed && redisAppendCommandArgv(r->context, (int)c->n, c->argv, c->lens) != REDIS_OK) {
        drop(r); /* a part of it may stand in the buffer */
        failed = 1;
    }
    if (failed) {
        if (r->unread > 0)
            drop(r); /* the answers to what was sent before must not be taken for the next call's */
        redis_error_set(r, "out of memory");
        return MUSTER_E_NOMEM;
    }
    r->unread++;
    return MUSTER_OK;
}

int redis_read(struct redis *r, struct redisReply **reply)
{
    void *answer = NULL;
    struct sigpipe hold;
    *reply = NULL;
    if (!r->context)
        return MUSTER_E_CONN;
    errno = 0;
    int writes = *r->context->obuf != '\0'; /* only writing raises the signal */
    if (writes)
        sigpipe_hold(&hold);
    int failed = redisGetReply(r->context, &answer) != REDIS_OK;
    if (writes)
        sigpipe_release(&hold, failed);
    if (failed)
        return broken(r);
    r->unread--;
    int err = reply_err(answer);
    if (err != MUSTER_OK) {
        char where[160];
        place(r, where, sizeof where);
        redis_error_set(r, "%s: %s", where, reply_text(answer));
        if (strncmp(reply_text(answer), "READONLY", 8) == 0)
            drop(r); /* a replica now: the name may lead to the new master */
        freeReplyObject(answer);
        return err;
    }
    *reply = answer;
    return MUSTER_OK;
}

void redis_reply_free(struct redisReply *reply)
{
    if (reply)
        freeReplyObject(reply);
}

static int call_now(struct redis *r, struct command *c, struct redisReply **reply)
{
    *reply = NULL;
    int err = send_now(r, c);
    return err == MUSTER_OK ? redis_read(r, reply) : err;
}

/* One command of fixed words while greeting; a failure to greet leaves no connection behind. */
static int say(struct redis *r, const char *const *words, struct redisReply **reply)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, words);
    int err = call_now(r, &c, reply);
    command_clear(&c);
    if (err != MUSTER_OK)
        drop(r);
    return err;
}

static int login(struct redis *r)
{
    struct redisReply *reply;
    int err = MUSTER_OK;
    if (r->url.password) {
        const char *const with_user[] = {"AUTH", r->url.user, r->url.password, NULL};
        const char *const without[] = {"AUTH", r->url.password, NULL};
        err = say(r, r->url.user ? with_user : without, &reply);
        redis_reply_free(reply);
    }
    if (err == MUSTER_OK && r->url.db > 0) {
        char db[16];
        snprintf(db, sizeof db, "%d", r->url.db);
        err = say(r, (const char *const[]){"SELECT", db, NULL}, &reply);
        redis_reply_free(reply);
    }
    return err;
}

static int check_format(struct redis *r)
{
    struct redisReply *reply;
    int err = say(r, (const char *const[]){"GET", r->format_key, NULL}, &reply);
    if (err != MUSTER_OK)
        return err;
    if (reply_kind(reply) == REPLY_TEXT && !reply_is(reply, r->format)) {
        redis_error_set(r, "the namespace '%s' is laid out in format %.20s, this is muster %s for format %s", r->prefix,
                        reply_text(reply), MUSTER_VERSION, r->format);
        err = MUSTER_E_FORMAT;
        drop(r);
    } else if (reply_kind(reply) != REPLY_TEXT && reply_kind(reply) != REPLY_NIL) {
        redis_error_set(r, "%s: this is not a Redis", r->url.host ? r->url.host : "the server");
        err = MUSTER_E_REDIS;
        drop(r);
    } else {
        r->format_known = reply_kind(reply) == REPLY_TEXT;
    }
    redis_reply_free(reply);
    return err;
}

static int connect_now(struct redis *r)
{
    struct timeval timeout = {r->timeout_ms / 1000, r->timeout_ms % 1000 * 1000};
    errno = 0;
    r->context = r->url.path ? redisConnectUnixWithTimeout(r->url.path, timeout)
                             : redisConnectWithTimeout(r->url.host, r->url.port, timeout);
    if (!r->context) {
        redis_error_set(r, "out of memory");
        return MUSTER_E_NOMEM;
    }
    if (r->context->err)
        return broken(r);
    redisSetTimeout(r->context, timeout);
    fcntl(r->context->fd, F_SETFD, FD_CLOEXEC); /* a child of the program must not keep the connection open */
    if (!r->url.path)
        redisEnableKeepAlive(r->context);
    return MUSTER_OK;
}

/* Has the server closed the connection while nothing was outstanding? It never speaks unasked. */
static int closed_while_idle(struct redis *r)
{
    struct pollfd p = {.fd = r->context->fd, .events = POLLIN};
    return r->unread == 0 && poll(&p, 1, 0) > 0;
}

static int be_connected(struct redis *r)
{
    if (r->context && !r->is_given && closed_while_idle(r))
        drop(r);
    if (r->context && r->context->err) {
        redis_error_set(r, "the given connection is broken: %s", r->context->errstr);
        return MUSTER_E_CONN;
    }
    int err = r->context ? MUSTER_OK : connect_now(r);
    if (err == MUSTER_OK && !r->greeted) {
        if (!r->is_given)
            err = login(r);
        if (err == MUSTER_OK)
            err = check_format(r);
        r->greeted = err == MUSTER_OK;
    }
    return err;
}

int redis_claim_format(struct redis *r)
{
    struct redisReply *reply;
    if (r->context && r->greeted && r->format_known)
        return MUSTER_OK; /* whether it is still connected, the next call looks */
    int err = be_connected(r);
    if (err != MUSTER_OK || r->format_known)
        return err;
    struct command c = COMMAND_EMPTY;
    command_text(&c, "SET");
    command_text(&c, r->format_key);
    command_text(&c, r->format);
    command_text(&c, "NX");
    err = call_now(r, &c, &reply);
    command_clear(&c);
    redis_reply_free(reply);
    /* Somebody else may have been first, with another format. */
    return err == MUSTER_OK ? check_format(r) : err;
}

int redis_append(struct redis *r, struct command *c)
{
    int err = be_connected(r);
    return err == MUSTER_OK ? send_now(r, c) : err;
}

int redis_call(struct redis *r, struct command *c, struct redisReply **reply)
{
    *reply = NULL;
    int err = be_connected(r);
    return err == MUSTER_OK ? call_now(r, c, reply) : err;
}

static int is_noscript(const struct redis *r, int err)
{
    return err == MUSTER_E_REDIS && strstr(r->error, "NOSCRIPT ") != NULL;
}

/* `err` and `*reply` are what came of its EVALSHA. */
static int finish_script(struct redis *r, struct command *c, int err, struct redisReply **reply)
{
    const struct lua_script *script = c->script;
    if (is_noscript(r, err)) {
        trace_line(TRACE_SCRIPT, "%s: Redis does not know it yet, sent whole", script->name);
        *r->error = '\0'; /* no failure of the caller's */
        c->argv[0] = "EVAL";
        c->lens[0] = strlen("EVAL");
        c->argv[1] = (const char *)script->body;
        c->lens[1] = script->len;
        err = redis_call(r, c, reply);
    }
    if (err == MUSTER_OK && (err = reply_status(*reply)) != MUSTER_OK) {
        const char *key = reply_text(reply_at(*reply, 1));
        if (err == MUSTER_E_REDIS && key)
            redis_error_set(r, "the key '%s' has a wrong type: another program wrote it", key);
        else
            redis_error_set(r, "%s: %s", script->name, muster_err_text(err));
    }
    trace_line(TRACE_SCRIPT, "%s: %s", script->name, muster_err_text(err));
    return err;
}

int redis_script(struct redis *r, struct command *c, struct redisReply **reply)
{
    return finish_script(r, c, redis_call(r, c, reply), reply);
}

/*
 * At the end of a turn of its loop Redis writes first to whom it had something to say last. A bare script's caller is
 * answered before whoever the script publishes to, and being woken first takes the processor that the other one needs.
 * A caller who already has an answer coming is not: so something goes before the script. What it answers tells nothing
 * that the script's answer does not. Should Redis ever write in another order, nothing but the time changes.
 */
int redis_script_waking(struct redis *r, struct command *c, struct redisReply **reply)
{
    struct redisReply *first = NULL;
    struct command before = COMMAND_EMPTY;
    command_words(&before, (const char *const[]){"GET", r->format_key, NULL});
    *reply = NULL;
    int err = redis_append(r, &before);
    command_clear(&before);
    if (err == MUSTER_OK)
        err = send_now(r, c);
    if (err == MUSTER_OK)
        err = redis_read(r, &first);
    redis_reply_free(first);
    if (r->unread > 0)
        err = redis_read(r, reply);
    return finish_script(r, c, err, reply);
}

/* ---- listening ---- */

static void has_heard(struct redis *r)
{
    r->is_asked = 0;
    r->sign_due_ms = clock_ms() + PING_AFTER_MS;
}

static int subscribe(struct redis *r, const char *const *channels, size_t n)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "SUBSCRIBE");
    for (size_t i = 0; i < n; i++)
        command_text(&c, channels[i]);
    int err = send_now(r, &c);
    command_clear(&c);
    if (err == MUSTER_OK)
        r->unread = n; /* each channel is confirmed by itself */
    while (err == MUSTER_OK && r->unread > 0) {
        struct redisReply *reply;
        err = redis_read(r, &reply);
        redis_reply_free(reply);
    }
    return err;
}

int redis_can_listen(struct redis *r)
{
    if (!r->is_given)
        return MUSTER_OK;
    redis_error_set(r, "waiting takes a second connection, and this client was handed its only one: give it a URL");
    return MUSTER_E_STATE;
}

int redis_listen(struct redis **listener, struct redis *r, const char *const *channels, size_t n)
{
    struct redis *l;
    *listener = NULL;
    int err = redis_can_listen(r);
    if (err == MUSTER_OK)
        err = redis_new(&l, &(struct redis_options){.url = &r->url,
                                                    .timeout_ms = r->timeout_ms,
                                                    .prefix = r->prefix,
                                                    .format_key = r->format_key,
                                                    .format = r->format});
    if (err != MUSTER_OK)
        return err;
    l->listens_for = r;
    err = be_connected(l);
    if (err == MUSTER_OK)
        err = subscribe(l, channels, n);
    if (err != MUSTER_OK) {
        redis_free(l);
        return err;
    }
    has_heard(l);
    *listener = l;
    return MUSTER_OK;
}

/* A dead listener is never E_TIMEOUT, which means that all is well. */
static int broken_listener(struct redis *r)
{
    int err = broken(r);
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
    r->is_asked = 1;
    r->sign_due_ms = clock_ms() + r->timeout_ms;
    return MUSTER_OK;
}

static int give_up(struct redis *r)
{
    char where[160];
    place(r, where, sizeof where);
    redis_error_set(r, "%s: no sign of life within %d ms while listening", where, r->timeout_ms);
    return MUSTER_E_CONN;
}

/* Waits for bytes and reads them. Looks before it judges: the caller may have been away for long. */
static int hear_more(struct redis *r, int64_t wait_ms, int *is_more)
{
    struct pollfd p = {.fd = r->context->fd, .events = POLLIN};
    int64_t sign_in_ms = r->sign_due_ms - clock_ms();
    int64_t ms = wait_ms < sign_in_ms ? wait_ms : sign_in_ms;
    *is_more = poll(&p, 1, ms > 0 ? (int)ms : 0) > 0;
    if (*is_more) {
        errno = 0;
        has_heard(r);
        return redisBufferRead(r->context) == REDIS_OK ? MUSTER_OK : broken_listener(r);
    }
    if (clock_ms() < r->sign_due_ms)
        return MUSTER_OK;
    return r->is_asked ? give_up(r) : ask_for_sign(r);
}

/* Of what was read; NULL when there is none. Answers to PING are passed over. */
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
    int is_more, err;
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
