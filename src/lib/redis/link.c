/* SPDX-License-Identifier: MIT
 *
 * Links: asynchronous connections; with redis.c the only place where hiredis is called.
 *
 * Design notes
 *
 * hiredis 0.14 decides much of the shape here:
 *   - It frees a context by itself after a failed connect and after a disconnect, and must not be told to free one
 *     inside the connect callback. So a break is only noted where it is noticed, and carried out by `breaker`, an event
 *     that runs outside hiredis; `context` is NULL from the moment on in which hiredis is about to free it.
 *   - At teardown it answers every outstanding command with NULL, before the disconnect callback. Nothing new is
 *   accepted
 *     then: by `break_due` when the breaker does it, by hiredis' own flags when hiredis does.
 *   - It has no timeouts: `watch` looks at the time of the last byte while anything is outstanding.
 *   - It asserts on strange answers on a subscribed connection. So the server has to answer a PING properly before
 *     the first SUBSCRIBE; one channel per SUBSCRIBE, and nothing else ever, also no UNSUBSCRIBE.
 *   - Its libevent adapter waits for writability before every write. Here all that was appended during a turn of the
 *     loop is written at its end, by `flusher`, and writability is waited for only when the socket was full.
 *   - getaddrinfo() would block the loop in it: it is only given addresses (resolve.c).
 */
#include "redis/link.h"

#include <event2/event.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/timer.h"
#include "redis/resolve.h"
#include "redis/sigpipe.h"

#define DELAY_FIRST_MS 50
/* A link that held so long has recovered: the next break begins with short delays again. */
#define STABLE_MS 1000
/* How many scripts a connection remembers to have sent whole. Any others are sent whole each time. */
#define IN_ORDER_MAX 4

enum link_state { LINK_NEW, LINK_DOWN, LINK_RESOLVING, LINK_CONNECTING, LINK_GREETING, LINK_UP };

static const char *const state_names[] = {"new", "down", "resolving", "connecting", "greeting", "up"};

struct link {
    struct event_base *base;
    struct url url;
    int has_url;
    const char *name;
    int delay_max_ms, silence_ms;
    struct link_callbacks callbacks;
    void *arg;

    enum link_state state;
    redisAsyncContext *context;
    struct event *reader, *writer;                       /* on the context's socket */
    struct event *flusher, *breaker, *watch, *connector; /* timers, or activated by hand */
    int connected, flushing, flush_due;
    int break_due, break_err, closed;
    char why[256]; /* of the break */

    size_t outstanding;   /* answers, without subscriptions */
    size_t unconfirmed;   /* subscriptions */
    int64_t last_byte_ms; /* also when waiting began */
    int64_t up_since_ms;
    unsigned attempts;
    const struct lua_script *sent_whole[IN_ORDER_MAX]; /* over this connection; NULL after the last one */

    struct resolver *resolver;
    char address[ADDRESS_MAX];
};

/* A command on its way. A script's formatted command is kept, in case Redis does not know the script. */
struct call {
    struct link *link;
    link_reply_fn *fn;
    void *arg;
    const struct lua_script *script; /* NULL: not a script, or sent whole already */
    char *formatted;
    size_t len;
    const char *name; /* the script's; "" of another command */
    int64_t sent_us;  /* 0: its answer is not traced */
};

static void enter(struct link *l, enum link_state state)
{
    if (l->state != state)
        trace_line(TRACE_STATE, "%s link: %s -> %s", l->name, state_names[l->state], state_names[state]);
    l->state = state;
}

/* ---- breaking ---- */

static void note_break(struct link *l, int err, const char *why)
{
    if (l->break_due || l->state == LINK_DOWN || l->state == LINK_NEW)
        return;
    l->break_due = 1;
    l->break_err = err;
    snprintf(l->why, sizeof l->why, "%s", why);
    event_active(l->breaker, EV_TIMEOUT, 1);
}

static int64_t next_delay_ms(struct link *l)
{
    int64_t most = DELAY_FIRST_MS;
    for (unsigned i = 0; i < l->attempts && most < l->delay_max_ms; i++)
        most *= 2;
    if (most > l->delay_max_ms)
        most = l->delay_max_ms;
    l->attempts++;
    return (int64_t)arc4random_uniform((uint32_t)most + 1);
}

/* The context is gone, or about to be: forget it, tell, and try again later. Only the first call per break counts. */
static void went_down(struct link *l, int err, const char *why)
{
    char where[160] = "the given connection", text[448];
    if (l->state == LINK_DOWN)
        return;
    if (l->state == LINK_UP && clock_ms() - l->up_since_ms >= STABLE_MS)
        l->attempts = 0;
    enter(l, LINK_DOWN);
    l->connected = l->flush_due = l->break_due = 0;
    l->unconfirmed = 0;
    event_del(l->watch);
    if (l->closed)
        return;
    if (l->has_url) {
        url_place(&l->url, where, sizeof where);
        timer_after_ms(l->connector, next_delay_ms(l));
    }
    snprintf(text, sizeof text, "%s: %s", where, why);
    trace_line(TRACE_STATE, "%s link: %s", l->name, text);
    l->callbacks.down(l->arg, err, text);
}

/* Drops what there is of a connection. Outstanding commands get their NULL in here, while nothing new is accepted. */
static void drop_context(struct link *l)
{
    redisAsyncContext *context = l->context;
    l->context = NULL;
    if (l->resolver)
        resolver_cancel(l->resolver);
    if (context)
        redisAsyncFree(context);
}

static void on_breaker(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!l->break_due)
        return;
    int err = l->break_err;
    char why[sizeof l->why];
    memcpy(why, l->why, sizeof why);
    /* Stays noted until the end, so that what is called meanwhile is not accepted and notes nothing new. */
    drop_context(l);
    went_down(l, err, why);
}

void link_break(struct link *l, int err, const char *why)
{
    note_break(l, err, why);
}

/* ---- silence ---- */

static int is_waiting(const struct link *l)
{
    return l->outstanding > 0 || l->unconfirmed > 0 || (l->state > LINK_DOWN && l->state < LINK_UP);
}

/* Before something is added to what is waited for. Silence counts from here, if nothing was outstanding. */
static void begin_waiting(struct link *l)
{
    if (!is_waiting(l))
        l->last_byte_ms = clock_ms();
    if (!evtimer_pending(l->watch, NULL))
        timer_after_ms(l->watch, l->silence_ms);
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!is_waiting(l))
        return;
    int64_t silent_ms = clock_ms() - l->last_byte_ms;
    if (silent_ms < l->silence_ms) {
        timer_after_ms(l->watch, l->silence_ms - silent_ms);
        return;
    }
    char why[64];
    snprintf(why, sizeof why, "no answer for %d ms", l->silence_ms);
    note_break(l, MUSTER_E_TIMEOUT, why);
}

/* ---- hiredis' hooks ---- */

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->last_byte_ms = clock_ms();
    if (l->context)
        redisAsyncHandleRead(l->context);
}

static void write_now(struct link *l)
{
    struct sigpipe hold;
    if (!l->context)
        return;
    l->flushing = 1;
    sigpipe_hold(&hold);
    redisAsyncHandleWrite(l->context);
    sigpipe_release(&hold, l->context == NULL);
    l->flushing = 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->last_byte_ms = clock_ms();
    write_now(l);
}

static void on_flusher(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->flush_due = 0;
    write_now(l);
}

void link_flush(struct link *l)
{
    if (l->flush_due && l->connected && !l->flushing)
        write_now(l);
}

static void hook_add_read(void *arg)
{
    struct link *l = arg;
    if (l->reader)
        event_add(l->reader, NULL);
}

static void hook_del_read(void *arg)
{
    struct link *l = arg;
    if (l->reader)
        event_del(l->reader);
}

static void hook_add_write(void *arg)
{
    struct link *l = arg;
    if (!l->connected || l->flushing) {
        if (l->writer)
            event_add(l->writer, NULL);
    } else if (!l->flush_due) {
        l->flush_due = 1;
        event_active(l->flusher, EV_TIMEOUT, 1);
    }
}

static void hook_del_write(void *arg)
{
    struct link *l = arg;
    if (l->writer)
        event_del(l->writer);
}

static void free_event(struct event **event)
{
    if (*event)
        event_free(*event);
    *event = NULL;
}

static void hook_cleanup(void *arg)
{
    struct link *l = arg;
    free_event(&l->reader);
    free_event(&l->writer);
}

/* ---- calls ---- */

static void call_free(struct call *call)
{
    redisFreeCommand(call->formatted);
    free(call);
}

/* The same command with the script's text in place of its digest. Answers NULL if memory ran out. */
static char *format_whole(const struct call *call, size_t *len)
{
    static const char evalsha[] = "\r\n$7\r\nEVALSHA\r\n$40\r\n";
    const char *count_end = strstr(call->formatted, evalsha);
    size_t count_len = (size_t)(count_end - call->formatted);
    size_t head_len = count_len + sizeof evalsha - 1 + 40;
    char head[64];
    int n = snprintf(head, sizeof head, "\r\n$4\r\nEVAL\r\n$%zu\r\n", call->script->len);
    char *whole = malloc(count_len + (size_t)n + call->script->len + (call->len - head_len));
    if (!whole)
        return NULL;
    char *at = mempcpy(whole, call->formatted, count_len);
    at = mempcpy(at, head, (size_t)n);
    at = mempcpy(at, call->script->body, call->script->len);
    at = mempcpy(at, call->formatted + head_len, call->len - head_len);
    *len = (size_t)(at - whole);
    return whole;
}

static void on_reply(redisAsyncContext *context, void *reply, void *arg);

static int send_whole(struct call *call)
{
    size_t len;
    struct link *l = call->link;
    char *whole = l->context && !l->break_due ? format_whole(call, &len) : NULL;
    call->script = NULL; /* once: a second NOSCRIPT is an error like any other */
    if (!whole)
        return MUSTER_E_CONN;
    int err =
        redisAsyncFormattedCommand(l->context, on_reply, call, whole, len) == REDIS_OK ? MUSTER_OK : MUSTER_E_CONN;
    free(whole);
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
        trace_line(TRACE_SCRIPT, "%s: Redis does not know it yet, sent whole", call->script->name);
        if (send_whole(call) == MUSTER_OK)
            return;
        r = NULL;
    }
    if (call->sent_us)
        trace_line(TRACE_SCRIPT, "%s: %s, after %lld us", call->name, muster_err_text(reply_status(r)),
                   (long long)(clock_us() - call->sent_us));
    failpoint_pass(call->name, "before_reply");
    int is_demoted = r && r->type == REDIS_REPLY_ERROR && strncmp(r->str, "READONLY", 8) == 0;
    call->fn(r, call->arg);
    failpoint_pass(call->name, "after_reply");
    call_free(call);
    if (is_demoted) /* a replica now: the name may lead to the new master */
        note_break(l, MUSTER_E_BUSY, "READONLY: this is a replica");
}

static int make_whole(struct call *call)
{
    size_t len;
    char *whole = format_whole(call, &len);
    if (!whole)
        return MUSTER_E_NOMEM;
    redisFreeCommand(call->formatted);
    call->formatted = whole;
    call->len = len;
    call->script = NULL;
    return MUSTER_OK;
}

/* `whole`: of a script. */
static struct call *new_call(const struct command *c, const struct lua_script *script, int whole)
{
    struct call *call = calloc(1, sizeof *call);
    long long len = !call || c->failed ? -1 : redisFormatCommandArgv(&call->formatted, (int)c->n, c->argv, c->lens);
    if (len < 0) {
        free(call);
        return NULL;
    }
    call->script = script;
    call->len = (size_t)len;
    if (whole && make_whole(call) != MUSTER_OK) {
        call_free(call);
        return NULL;
    }
    return call;
}

static int send_call(struct link *l, const struct lua_script *script, int whole, struct command *c, link_reply_fn *fn,
                     void *arg)
{
    struct call *call = new_call(c, script, whole);
    if (!call)
        return MUSTER_E_NOMEM;
    call->link = l;
    call->fn = fn;
    call->arg = arg;
    call->name = script ? script->name : "";
    call->sent_us = script && trace_on(TRACE_SCRIPT) ? clock_us() : 0;
    begin_waiting(l);
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
        write_now(l);
        failpoint_pass(script->name, "after_send");
    }
    return MUSTER_OK;
}

int link_call(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, NULL, 0, c, fn, arg) : MUSTER_E_CONN;
}

int link_script(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    return link_is_up(l) ? send_call(l, c->script, 0, c, fn, arg) : MUSTER_E_CONN;
}

int link_script_in_order(struct link *l, struct command *c, link_reply_fn *fn, void *arg)
{
    size_t n = 0;
    while (n < IN_ORDER_MAX && l->sent_whole[n] && l->sent_whole[n] != c->script)
        n++;
    int is_new = n == IN_ORDER_MAX || !l->sent_whole[n];
    int err = link_is_up(l) ? send_call(l, c->script, is_new, c, fn, arg) : MUSTER_E_CONN;
    if (err == MUSTER_OK && n < IN_ORDER_MAX)
        l->sent_whole[n] = c->script;
    return err;
}

/* ---- greeting: log in, select, and see that it is a Redis that answers ---- */

static void refuse(struct link *l, const struct redisReply *reply, int err)
{
    const char *text = reply_text(reply);
    note_break(l, err, text ? text : "this is not a Redis");
}

static void on_greeted(const struct redisReply *reply, void *arg)
{
    struct link *l = arg;
    if (reply && reply_err(reply) != MUSTER_OK)
        refuse(l, reply, reply_err(reply));
}

static void on_pong(const struct redisReply *reply, void *arg)
{
    struct link *l = arg;
    if (!reply || l->break_due)
        return;
    if (reply_err(reply) != MUSTER_OK)
        refuse(l, reply, reply_err(reply));
    else if (!reply_is(reply, "PONG"))
        refuse(l, NULL, MUSTER_E_REDIS);
    else {
        l->up_since_ms = clock_ms();
        enter(l, LINK_UP);
        l->callbacks.up(l->arg);
    }
}

static int say(struct link *l, link_reply_fn *fn, const char *const *words)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, words);
    int err = send_call(l, NULL, 0, &c, fn, l);
    command_clear(&c);
    return err;
}

static void greet(struct link *l)
{
    const struct url *url = &l->url;
    int err = MUSTER_OK;
    char db[16];
    enter(l, LINK_GREETING);
    memset(l->sent_whole, 0, sizeof l->sent_whole);
    snprintf(db, sizeof db, "%d", url->db);
    if (url->password && url->user)
        err = say(l, on_greeted, (const char *const[]){"AUTH", url->user, url->password, NULL});
    else if (url->password)
        err = say(l, on_greeted, (const char *const[]){"AUTH", url->password, NULL});
    if (err == MUSTER_OK && url->db > 0)
        err = say(l, on_greeted, (const char *const[]){"SELECT", db, NULL});
    if (err == MUSTER_OK)
        err = say(l, on_pong, (const char *const[]){"PING", NULL});
    if (err != MUSTER_OK)
        note_break(l, err, muster_err_text(err));
}

/* ---- connecting ---- */

static void on_connect(const redisAsyncContext *context, int status)
{
    struct link *l = context->data;
    if (status == REDIS_OK) {
        l->connected = 1;
        greet(l);
        return;
    }
    /* hiredis frees the context when this returns; its text is only in c.errstr. */
    l->context = NULL;
    went_down(l, MUSTER_E_CONN, context->c.errstr[0] ? context->c.errstr : "cannot connect");
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct link *l = context->data;
    if (l->context == NULL)
        return; /* dropped by the breaker, which tells */
    l->context = NULL;
    int err = context->err == REDIS_ERR_PROTOCOL ? MUSTER_E_REDIS : MUSTER_E_CONN;
    if (status != REDIS_OK && context->err == REDIS_ERR_OTHER && context->c.errstr[0]) {
        /* An answer of Redis that hiredis could not match, as a refused SUBSCRIBE or "max number of clients". */
        err = reply_err_of_text(context->c.errstr);
    }
    char why[160];
    snprintf(why, sizeof why, "%s%s", context->err == REDIS_ERR_PROTOCOL ? "this is not a Redis: " : "",
             context->c.errstr[0] ? context->c.errstr : "connection closed");
    went_down(l, err, why);
}

static int attach(struct link *l, redisAsyncContext *context)
{
    l->reader = event_new(l->base, context->c.fd, EV_READ | EV_PERSIST, on_readable, l);
    l->writer = event_new(l->base, context->c.fd, EV_WRITE | EV_PERSIST, on_writable, l);
    if (!l->reader || !l->writer) {
        hook_cleanup(l);
        return MUSTER_E_NOMEM;
    }
    fcntl(context->c.fd, F_SETFD, FD_CLOEXEC); /* a child of the program must not keep the connection open */
    context->data = l;
    context->ev.data = l;
    context->ev.addRead = hook_add_read;
    context->ev.delRead = hook_del_read;
    context->ev.addWrite = hook_add_write;
    context->ev.delWrite = hook_del_write;
    context->ev.cleanup = hook_cleanup;
    l->context = context;
    l->connected = (context->c.flags & REDIS_CONNECTED) != 0;
    event_add(l->reader, NULL);
    redisAsyncSetConnectCallback(context, on_connect); /* waits for writability: the end of connecting */
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    return MUSTER_OK;
}

static void use_context(struct link *l, redisAsyncContext *context)
{
    begin_waiting(l);
    enter(l, LINK_CONNECTING);
    if (!context || attach(l, context) != MUSTER_OK) {
        if (context)
            redisAsyncFree(context);
        note_break(l, MUSTER_E_NOMEM, "out of memory");
    } else if (context->err) {
        note_break(l, MUSTER_E_CONN, context->c.errstr);
    } else {
        if (!l->url.path && context->c.connection_type == REDIS_CONN_TCP)
            redisEnableKeepAlive(&context->c);
        if (l->connected)
            greet(l);
    }
}

static void connect_to_address(struct link *l)
{
    use_context(l, l->url.path ? redisAsyncConnectUnix(l->url.path) : redisAsyncConnect(l->address, l->url.port));
}

static void on_resolved(const char *address, const char *why, void *arg)
{
    struct link *l = arg;
    if (!address) {
        note_break(l, MUSTER_E_CONN, why);
        return;
    }
    snprintf(l->address, sizeof l->address, "%s", address);
    connect_to_address(l);
}

static void try_connect(struct link *l)
{
    if (l->url.path) {
        connect_to_address(l);
    } else if (resolve_is_address(l->url.host)) {
        snprintf(l->address, sizeof l->address, "%s", l->url.host);
        connect_to_address(l);
    } else {
        begin_waiting(l);
        enter(l, LINK_RESOLVING);
        resolver_start(l->resolver, l->url.host, l->attempts);
    }
}

static void on_connector(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    try_connect(l);
}

void link_connect(struct link *l)
{
    if (l->state != LINK_NEW)
        return;
    if (l->context) { /* given: from now on like any other */
        redisAsyncContext *given = l->context;
        l->context = NULL;
        use_context(l, given);
    } else {
        try_connect(l);
    }
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
    begin_waiting(l);
    if (redisAsyncCommandArgv(l->context, on_message, l, 2, argv, lens) != REDIS_OK)
        return MUSTER_E_CONN;
    l->unconfirmed++;
    return MUSTER_OK;
}

/* ---- life ---- */

int link_is_up(const struct link *l)
{
    return l->state == LINK_UP && l->context && !l->break_due;
}

int link_can_reconnect(const struct link *l)
{
    return l->has_url;
}

int link_can_take(const struct redisAsyncContext *given)
{
    return !given->err && !given->ev.addRead && !given->onConnect && !given->onDisconnect;
}

void link_close(struct link *l)
{
    l->closed = 1;
    event_del(l->connector);
    note_break(l, MUSTER_E_CONN, "closed");
}

void link_forget_given(struct link *l)
{
    if (l->state == LINK_NEW)
        l->context = NULL;
}

int link_new(struct link **out, const struct link_options *o)
{
    struct link *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l)
        return MUSTER_E_NOMEM;
    l->base = o->base;
    l->name = o->name;
    l->delay_max_ms = o->delay_max_ms;
    l->silence_ms = o->silence_ms;
    l->callbacks = o->callbacks;
    l->arg = o->arg;
    l->has_url = o->url != NULL;
    l->flusher = event_new(l->base, -1, 0, on_flusher, l);
    l->breaker = event_new(l->base, -1, 0, on_breaker, l);
    l->watch = evtimer_new(l->base, on_watch, l);
    l->connector = evtimer_new(l->base, on_connector, l);
    int err = resolver_new(&l->resolver, l->base, on_resolved, l);
    if (err == MUSTER_OK && o->url)
        err = url_copy(&l->url, o->url);
    if (err != MUSTER_OK || !l->flusher || !l->breaker || !l->watch || !l->connector) {
        link_free(l);
        return MUSTER_E_NOMEM;
    }
    l->context = o->given;
    *out = l;
    return MUSTER_OK;
}

static void ignore_down(void *arg, int err, const char *text)
{
    (void)arg, (void)err, (void)text;
}

void link_free(struct link *l)
{
    if (!l)
        return;
    l->callbacks = (struct link_callbacks){.down = ignore_down};
    enter(l, LINK_DOWN); /* nothing is accepted from those who get their NULL now */
    drop_context(l);
    resolver_free(l->resolver);
    free_event(&l->flusher);
    free_event(&l->breaker);
    free_event(&l->watch);
    free_event(&l->connector);
    url_clear(&l->url);
    free(l);
}
