/* SPDX-License-Identifier: MIT
 *
 * Making a link's connection: resolve the host, connect, log in, and see that a Redis answers.
 */
#include <muster/error.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "redis/greeting.h"
#include "redis/link_private.h"

/* ---- greeting ---- */

static void refuse(struct link *l, const struct redisReply *reply, int err)
{
    const char *text = reply_text(reply);
    link_break(l, err, text ? text : "this is not a Redis");
}

static void on_greeted(const struct redisReply *reply, void *arg)
{
    struct link *l = arg;
    if (reply && reply_err(reply) != MUSTER_OK)
        refuse(l, reply, reply_err(reply));
}

/* The program may have selected any database. One that the URL would not lead to after a break is a mistake. */
static void on_client_info(const struct redisReply *reply, void *arg)
{
    struct link *l = arg;
    char why[128];
    if (!reply || l->is_break_due)
        return;
    l->db = greeting_database(reply);
    if (reply_err(reply) != MUSTER_OK || l->db < 0) {
        refuse(l, reply, reply_err(reply) != MUSTER_OK ? reply_err(reply) : MUSTER_E_REDIS);
    } else if (l->has_url && l->db != l->url.db) {
        snprintf(why, sizeof why, "the connection that was handed in is in database %d, the URL's is %d", l->db,
                 l->url.db);
        link_break(l, MUSTER_E_INVALID, why);
    }
}

/* The last answer of the greeting. */
static void on_hello(const struct redisReply *reply, void *arg)
{
    struct link *l = arg;
    char why[160];
    if (!reply || l->is_break_due)
        return;
    if (greeting_refusal(reply, why, sizeof why)) {
        l->is_too_old = greeting_is_too_old(reply);
        link_break(l, reply_err(reply) != MUSTER_OK ? reply_err(reply) : MUSTER_E_REDIS, why);
    } else {
        l->up_since_ms = clock_ms();
        link_enter(l, LINK_UP);
        l->callbacks.up(l->arg);
    }
}

static void greet(struct link *l)
{
    const struct url *url = &l->url;
    int err = MUSTER_OK;
    char db[16];
    link_enter(l, LINK_GREETING);
    memset(l->sent_with_body, 0, sizeof l->sent_with_body);
    snprintf(db, sizeof db, "%d", url->db);
    if (url->password && url->user)
        err = link_call_words(l, on_greeted, (const char *const[]){"AUTH", url->user, url->password, NULL});
    else if (url->password)
        err = link_call_words(l, on_greeted, (const char *const[]){"AUTH", url->password, NULL});
    if (err == MUSTER_OK && url->db > 0)
        err = link_call_words(l, on_greeted, (const char *const[]){"SELECT", db, NULL});
    l->db = url->db;
    l->is_too_old = false;
    if (err == MUSTER_OK && l->is_handed_in)
        err = link_call_words(l, on_client_info, (const char *const[]){"CLIENT", "INFO", NULL});
    if (err == MUSTER_OK)
        err = link_call_words(l, on_hello, (const char *const[]){"HELLO", NULL});
    if (err != MUSTER_OK)
        link_break(l, err, muster_err_text(err));
}

/* ---- connecting ---- */

static void on_connect(const redisAsyncContext *context, int status)
{
    struct link *l = context->data;
    if (status == REDIS_OK) {
        l->is_connected = true;
        greet(l);
        return;
    }
    /* hiredis frees the context when this returns; its text is only in c.errstr. */
    l->context = NULL;
    link_go_down(l, MUSTER_E_CONN, context->c.errstr[0] ? context->c.errstr : "cannot connect");
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct link *l = context->data;
    if (l->context == NULL)
        return; /* the breaker has dropped it, and tells */
    l->context = NULL;
    bool is_nonsense = context->err == REDIS_ERR_PROTOCOL || l->guard.refused;
    int err = is_nonsense ? MUSTER_E_REDIS : MUSTER_E_CONN;
    if (status != REDIS_OK && context->err == REDIS_ERR_OTHER && context->c.errstr[0]) {
        /* Redis' answer that hiredis could not match to a command: a refused SUBSCRIBE, "max number of clients". */
        err = reply_err_of_text(context->c.errstr);
    }
    char why[160];
    const char *text = l->guard.refused ? l->guard.refused : context->c.errstr;
    snprintf(why, sizeof why, "%s%s", is_nonsense ? "this is not a Redis: " : "", *text ? text : "connection closed");
    link_go_down(l, err, why);
}

static int attach(struct link *l, redisAsyncContext *context)
{
    int err = link_io_attach(l, context);
    if (err != MUSTER_OK)
        return err;
    redisAsyncSetConnectCallback(context, on_connect); /* waits for writability: the end of connecting */
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    return MUSTER_OK;
}

static void use_context(struct link *l, redisAsyncContext *context)
{
    link_begin_waiting(l);
    link_enter(l, LINK_CONNECTING);
    if (!context || attach(l, context) != MUSTER_OK) {
        if (context)
            redisAsyncFree(context);
        link_break(l, MUSTER_E_NOMEM, "out of memory");
    } else if (context->err) {
        link_break(l, MUSTER_E_CONN, context->c.errstr);
    } else {
        if (!l->url.path && context->c.connection_type == REDIS_CONN_TCP)
            redisEnableKeepAlive(&context->c);
        if (l->is_connected)
            greet(l);
    }
}

static void connect_to_address(struct link *l)
{
    use_context(l,
                l->url.path ? redisAsyncConnectUnix(l->url.path) : redisAsyncConnect(l->address, l->url.nodes[0].port));
}

static void on_resolved(const char *address, const char *why, void *arg)
{
    struct link *l = arg;
    if (!address) {
        link_break(l, MUSTER_E_CONN, why);
        return;
    }
    snprintf(l->address, sizeof l->address, "%s", address);
    connect_to_address(l);
}

static void try_connect(struct link *l)
{
    if (l->url.path) {
        connect_to_address(l);
    } else if (resolver_is_address(l->url.nodes[0].host)) {
        snprintf(l->address, sizeof l->address, "%s", l->url.nodes[0].host);
        connect_to_address(l);
    } else {
        link_begin_waiting(l);
        link_enter(l, LINK_RESOLVING);
        resolver_start(l->resolver, l->url.nodes[0].host, l->attempts);
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
    if (l->context) { /* it was handed in: from now on it is like any other */
        redisAsyncContext *context = l->context;
        l->context = NULL;
        l->is_handed_in = true;
        use_context(l, context);
    } else {
        try_connect(l);
    }
}

int link_connect_init(struct link *l)
{
    l->connector = evtimer_new(l->base, on_connector, l);
    return l->connector ? resolver_new(&l->resolver, l->base, on_resolved, l) : MUSTER_E_NOMEM;
}

void link_connect_clear(struct link *l)
{
    resolver_free(l->resolver);
    if (l->connector)
        event_free(l->connector);
}
