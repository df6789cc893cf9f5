/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: connecting, greeting, commands and their answers.
 *
 * hiredis holds a context to be good until a call on it fails; from then on every call on it fails. So a failed context
 * is dropped at once, and the next use connects again. Before a command goes out on a connection that was idle, a look
 * at the socket tells whether the server has closed it meanwhile: then no command is in doubt yet, and connecting again
 * spares the caller an E_CONN.
 */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/format.h"
#include "redis/greeting.h"
#include "redis/redis_private.h"
#include "redis/sigpipe.h"

int redis_new(struct redis **out, const struct redis_options *o)
{
    struct redis *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return MUSTER_E_NOMEM;
    r->context = o->borrowed;
    r->is_borrowed = o->borrowed != NULL;
    r->timeout_ms = o->timeout_ms;
    r->selected = o->selected;
    r->arg = o->arg;
    r->prefix = strdup(o->prefix);
    r->format_key = strdup(o->format_key);
    if (!r->prefix || !r->format_key || (!o->borrowed && url_copy(&r->url, o->url) != MUSTER_OK)) {
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
    if (r->context && !r->is_borrowed)
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

void redis_describe(const struct redis *r, char *out, size_t size)
{
    if (r->is_borrowed)
        snprintf(out, size, "the connection that was handed in");
    else
        url_describe(&r->url, out, size);
}

static void drop(struct redis *r)
{
    if (r->context && !r->is_borrowed) {
        redisFree(r->context);
        r->context = NULL;
    }
    r->unread = 0;
    r->is_greeted = r->is_format_known = false;
}

int redis_break(struct redis *r)
{
    char where[160], what[128];
    redis_describe(r, where, sizeof where);
    bool has_timed_out =
        r->context->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT);
    const char *refused = r->is_borrowed ? NULL : r->guard.refused;
    bool is_protocol = r->context->err == REDIS_ERR_PROTOCOL || refused;
    snprintf(what, sizeof what, "%s", refused ? refused : r->context->errstr);
    if (has_timed_out)
        redis_error_set(r, "%s: no answer within %d ms", where, r->timeout_ms);
    else if (is_protocol)
        redis_error_set(r, "%s: this is not a Redis: %s", where, what);
    else
        redis_error_set(r, "%s: %s", where, what);
    drop(r);
    return has_timed_out ? MUSTER_E_TIMEOUT : is_protocol ? MUSTER_E_REDIS : MUSTER_E_CONN;
}

/* ---- commands and answers ---- */

int redis_send(struct redis *r, struct command *c)
{
    command_close(c);
    bool has_failed = c->failed;
    if (!has_failed && redisAppendCommandArgv(r->context, (int)c->n, c->argv, c->lens) != REDIS_OK) {
        drop(r); /* the buffer may hold a part of it */
        has_failed = true;
    }
    if (has_failed) {
        if (r->unread > 0)
            drop(r); /* the next call must not take the answers to earlier commands for its own */
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
    bool writes = *r->context->obuf != '\0'; /* only writing raises the signal */
    if (writes)
        sigpipe_hold(&hold);
    bool has_failed = redisGetReply(r->context, &answer) != REDIS_OK;
    if (writes)
        sigpipe_release(&hold, has_failed);
    if (has_failed)
        return redis_break(r);
    r->unread--;
    int err = reply_err(answer);
    if (err != MUSTER_OK) {
        char where[160];
        redis_describe(r, where, sizeof where);
        redis_error_set(r, "%s: %s", where, reply_text(answer));
        if (strncmp(reply_text(answer), "READONLY", 8) == 0)
            drop(r); /* it is a replica now: the name may lead to the new master */
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
    int err = redis_send(r, c);
    return err == MUSTER_OK ? redis_read(r, reply) : err;
}

/* ---- connecting ---- */

/* One command of fixed words while greeting. A failure to greet leaves no connection. */
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

static int check_server(struct redis *r)
{
    char where[160], why[160];
    struct redisReply *reply;
    int err = say(r, (const char *const[]){"HELLO", NULL}, &reply);
    redis_describe(r, where, sizeof where);
    if (err == MUSTER_E_REDIS && strstr(redis_error(r->listens_for ? r->listens_for : r), GREETING_UNKNOWN))
        redis_error_set(r, "%s: " GREETING_NO_HELLO, where);
    if (err == MUSTER_OK && greeting_refusal(reply, why, sizeof why)) {
        redis_error_set(r, "%s: %s", where, why);
        err = MUSTER_E_REDIS;
        drop(r);
    }
    redis_reply_free(reply);
    return err;
}

/* The program has selected a database on a connection that it hands in. */
static int ask_database(struct redis *r)
{
    struct redisReply *reply;
    int err = say(r, (const char *const[]){"CLIENT", "INFO", NULL}, &reply);
    if (err != MUSTER_OK)
        return err;
    int db = greeting_database(reply);
    redis_reply_free(reply);
    if (db < 0) {
        redis_error_set(r, "the connection that was handed in does not tell its database");
        return MUSTER_E_REDIS;
    }
    r->selected(r->arg, db);
    return MUSTER_OK;
}

static int check_format(struct redis *r)
{
    struct redisReply *reply;
    char why[400];
    if (r->format == REDIS_ANY_FORMAT)
        return MUSTER_OK;
    int err = say(r, (const char *const[]){"GET", r->format_key, NULL}, &reply);
    if (err == MUSTER_E_REDIS && strstr(redis_error(r->listens_for ? r->listens_for : r), "WRONGTYPE ")) {
        format_refuse_type(why, sizeof why, r->format_key);
        redis_error_set(r, "%s", why);
    }
    if (err != MUSTER_OK)
        return err;
    if (reply_kind(reply) == REPLY_TEXT && !reply_is(reply, FORMAT_VERSION)) {
        format_refusal(why, sizeof why, r->prefix, reply_text(reply));
        redis_error_set(r, "%s", why);
        err = MUSTER_E_FORMAT;
        drop(r);
    } else if (reply_kind(reply) != REPLY_TEXT && reply_kind(reply) != REPLY_NIL) {
        redis_error_set(r, "%s: this is not a Redis", r->url.nodes ? r->url.nodes[0].host : "the server");
        err = MUSTER_E_REDIS;
        drop(r);
    } else {
        r->is_format_known = reply_kind(reply) == REPLY_TEXT;
    }
    redis_reply_free(reply);
    return err;
}

static int connect_now(struct redis *r)
{
    struct timeval timeout = {r->timeout_ms / 1000, r->timeout_ms % 1000 * 1000};
    errno = 0;
    r->context = r->url.path ? redisConnectUnixWithTimeout(r->url.path, timeout)
                             : redisConnectWithTimeout(r->url.nodes[0].host, r->url.nodes[0].port, timeout);
    if (!r->context) {
        redis_error_set(r, "out of memory");
        return MUSTER_E_NOMEM;
    }
    guard_attach(&r->guard, r->context->reader, NULL, NULL);
    if (r->context->err)
        return redis_break(r);
    redisSetTimeout(r->context, timeout);
    fcntl(r->context->fd, F_SETFD, FD_CLOEXEC); /* a child of the program must not keep the connection open */
    if (!r->url.path)
        redisEnableKeepAlive(r->context);
    return MUSTER_OK;
}

/* Has the server closed the connection while nothing was outstanding? It never speaks without being asked. */
static bool was_closed_while_idle(struct redis *r)
{
    struct pollfd p = {.fd = r->context->fd, .events = POLLIN};
    return r->unread == 0 && poll(&p, 1, 0) > 0;
}

int redis_connect(struct redis *r)
{
    if (r->context && !r->is_borrowed && was_closed_while_idle(r))
        drop(r);
    if (r->context && r->context->err) {
        redis_error_set(r, "the connection that was handed in is broken: %s", r->context->errstr);
        return MUSTER_E_CONN;
    }
    int err = r->context ? MUSTER_OK : connect_now(r);
    if (err == MUSTER_OK && !r->is_greeted) {
        err = r->is_borrowed ? MUSTER_OK : login(r);
        if (err == MUSTER_OK)
            err = check_server(r);
        if (err == MUSTER_OK && r->is_borrowed)
            err = ask_database(r);
        if (err == MUSTER_OK)
            err = check_format(r);
        r->is_greeted = err == MUSTER_OK;
    }
    return err;
}

void redis_expect_format(struct redis *r, enum redis_format format)
{
    r->format = format;
    r->is_greeted = r->is_format_known = false; /* the next call looks again */
}

int redis_claim_format(struct redis *r)
{
    struct redisReply *reply;
    if (r->context && r->is_greeted && r->is_format_known)
        return MUSTER_OK; /* the next call looks whether it is still connected */
    int err = redis_connect(r);
    if (err != MUSTER_OK || r->is_format_known)
        return err;
    struct command c = COMMAND_EMPTY;
    command_text(&c, "SET");
    command_text(&c, r->format_key);
    command_text(&c, FORMAT_VERSION);
    command_text(&c, "NX");
    err = call_now(r, &c, &reply);
    command_clear(&c);
    redis_reply_free(reply);
    /* Another program may have been first, with another format. */
    return err == MUSTER_OK ? check_format(r) : err;
}

/* ---- calls ---- */

int redis_append(struct redis *r, struct command *c)
{
    int err = redis_connect(r);
    return err == MUSTER_OK ? redis_send(r, c) : err;
}

int redis_call(struct redis *r, struct command *c, struct redisReply **reply)
{
    *reply = NULL;
    int err = redis_connect(r);
    return err == MUSTER_OK ? call_now(r, c, reply) : err;
}
