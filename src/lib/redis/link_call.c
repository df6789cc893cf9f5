/* SPDX-License-Identifier: MIT
 *
 * The way of a command over a link, and of its answer; subscriptions.
 */
#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "redis/link_private.h"

/* Does a script go as its digest, or with its whole text? */
enum script_form { BY_DIGEST, WITH_BODY };

/* A command on its way. A script's formatted command is kept, in case Redis does not know the script. */
struct call {
    struct link *link;
    link_reply_fn *fn;
    void *arg;
    const struct lua_script *script; /* NULL: not a script, or sent with its body */
    char *formatted;
    size_t len;
    const char *name; /* the script's; "" of another command */
    int64_t sent_us;  /* 0: its answer is not traced */
};

static void call_free(struct call *call)
{
    redisFreeCommand(call->formatted);
    free(call);
}

/* The same command with the script's text in place of its digest. NULL if memory ran out. */
static char *format_with_body(const struct call *call, size_t *len)
{
    static const char evalsha[] = "\r\n$7\r\nEVALSHA\r\n$40\r\n";
    const char *count_end = strstr(call->formatted, evalsha);
    size_t count_len = (size_t)(count_end - call->formatted);
    size_t head_len = count_len + sizeof evalsha - 1 + 40;
    char head[64];
    int n = snprintf(head, sizeof head, "\r\n$4\r\nEVAL\r\n$%zu\r\n", call->script->len);
    char *formatted = malloc(count_len + (size_t)n + call->script->len + (call->len - head_len));
    if (!formatted)
        return NULL;
    char *at = mempcpy(formatted, call->formatted, count_len);
    at = mempcpy(at, head, (size_t)n);
    at = mempcpy(at, call->script->body, call->script->len);
    at = mempcpy(at, call->formatted + head_len, call->len - head_len);
    *len = (size_t)(at - formatted);
    return formatted;
}

static void on_reply(redisAsyncContext *context, void *reply, void *arg);

static int send_with_body(struct call *call)
{
    size_t len;
    struct link *l = call->link;
    char *formatted = l->context && !l->is_break_due ? format_with_body(call, &len) : NULL;
    call->script = NULL; /* once: a second NOSCRIPT is an error like any other */
    if (!formatted)
        return MUSTER_E_CONN;
    int err =
        redisAsyncFormattedCommand(l->context, on_reply, call, formatted, len) == REDIS_OK ? MUSTER_OK : MUSTER_E_CONN;
    free(formatted);
    l->outstanding += err == MUSTER_OK;
    return err;
}

static void on_reply(redisAsyncContext *context, void *reply, void *arg)
{
    struct call *call = arg;
    struct link *l = call->link;
    const struct redisReply *r = reply;
    (void)context;
    l->outstanding--;
    if (call->script && r && r->type == REDIS_REPLY_ERROR && strncmp(r->str, "NOSCRIPT", 8) == 0) {
        trace_line(TRACE_SCRIPT, "%s: Redis does not know it yet, sent with its body", call->script->name);
        if (send_with_body(call) == MUSTER_OK)
            return;
        r = NULL;
    }
    if (call->sent_us)
        trace_line(TRACE_SCRIPT, "%s: %s, after %lld us", call->name, muster_err_text(reply_status(r)),
                   (long long)(clock_us() - call->sent_us));
    failpoint_pass(call->name, "before_reply");
    bool is_demoted = r && r->type == REDIS_REPLY_ERROR && strncmp(r->str, "READONLY", 8) == 0;
    call->fn(r, call->arg);
    failpoint_pass(call->name, "after_reply");
    call_free(call);
    if (is_demoted)
        link_break(l, MUSTER_E_BUSY, LINK_READONLY);
}

static int put_body_in(struct call *call)
{
    size_t len;
    char *formatted = format_with_body(call, &len);
    if (!formatted)
        return MUSTER_E_NOMEM;
    redisFreeCommand(call->formatted);
    call->formatted = formatted;
    call->len = len;
    call->script = NULL;
    return MUSTER_OK;
}

static struct call *new_call(struct command *c, const struct lua_script *script, enum script_form form)
{
    command_close(c);
    struct call *call = calloc(1, sizeof *call);
    long long len = !call || c->failed ? -1 : redisFormatCommandArgv(&call->formatted, (int)c->n, c->argv, c->lens);
    if (len < 0) {
        free(call);
        return NULL;
    }
    call->script = script;
    call->len = (size_t)len;
    if (form == WITH_BODY && put_body_in(call) != MUSTER_OK) {
        call_free(call);
        return NULL;
    }
    return call;
}

static int send_call(struct link *l, const struct lua_script *script, enum script_form form, struct command *c,
                     link_reply_fn *fn, void *arg)
{
    struct call *call = new_call(c, script, form);
    if (!call)
        return MUSTER_E_NOMEM;
    call->link = l;
    call->fn = fn;
    call->arg = arg;
    call->name = script ? script->name : "";
    call->sent_us = script && trace_is_on(TRACE_SCRIPT) ? clock_us() : 0;
    link_begin_waiting(l);
    failpoint_pass(call->name, "before_send");
    if (redisAsyncFormattedCommand(l->context, on_reply, call, call->formatted, call->len) != REDIS_OK) {
        call_free(call);
        return MUSTER_E_CONN;
    }
    if (!call->script) { /* only scripts are ever sent again */
        redisFreeCommand(call->formatted);
        call->formatted = NULL;
    }
    l->outstanding++;
    if (failpoint_is_set(script ? script->name : "", "after_send")) {
        link_io_write(l);
        failpoint_pass(script->name, "after_send");
    }
    return MUSTER_OK;
}

int link_call(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, NULL, BY_DIGEST, c, fn, arg) : MUSTER_E_CONN;
}

int link_script(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, c->script, BY_DIGEST, c, fn, arg) : MUSTER_E_CONN;
}

int link_script_in_order(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    size_t n = 0;
    while (n < LINK_IN_ORDER_MAX && l->sent_with_body[n] && l->sent_with_body[n] != c->script)
        n++;
    bool is_known = n < LINK_IN_ORDER_MAX && l->sent_with_body[n];
    enum script_form form = is_known ? BY_DIGEST : WITH_BODY;
    int err = link_is_up(l) ? send_call(l, c->script, form, c, fn, arg) : MUSTER_E_CONN;
    if (err == MUSTER_OK && n < LINK_IN_ORDER_MAX)
        l->sent_with_body[n] = c->script;
    return err;
}

int link_call_words(struct link *l, link_reply_fn *fn, const char *const *words)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, words);
    int err = send_call(l, NULL, BY_DIGEST, &c, fn, l);
    command_clear(&c);
    return err;
}

/* ---- subscriptions ---- */

static void on_message(redisAsyncContext *context, void *reply, void *arg)
{
    struct link *l = arg;
    (void)context;
    if (!reply)
        return;
    const char *channel = reply_text(reply_at(reply, 1));
    if (reply_is(reply_at(reply, 0), "message") && channel && reply_kind(reply_at(reply, 2)) == REPLY_TEXT) {
        l->callbacks.message(l->arg, channel, reply_bytes(reply_at(reply, 2)));
    } else if (reply_is(reply_at(reply, 0), "subscribe") && l->unconfirmed > 0) {
        trace_line(TRACE_STATE, "%s link: subscribed to %s", l->name, channel ? channel : "?");
        if (--l->unconfirmed == 0)
            l->callbacks.subscribed(l->arg);
    }
}

int link_subscribe(struct link *l, const char *channel)
{
    if (!link_is_up(l))
        return MUSTER_E_CONN;
    const char *argv[] = {"SUBSCRIBE", channel};
    const size_t lens[] = {strlen("SUBSCRIBE"), strlen(channel)};
    link_begin_waiting(l);
    if (redisAsyncCommandArgv(l->context, on_message, l, 2, argv, lens) != REDIS_OK)
        return MUSTER_E_CONN;
    l->unconfirmed++;
    return MUSTER_OK;
}
