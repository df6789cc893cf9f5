/* SPDX-License-Identifier: MIT
 *
 * Making and freeing an asynchronous client, and its thread.
 */
#include "async/async.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/owner.h"
#include "base/sized.h"
#include "base/thread.h"
#include "protocol/client_options.h"
#include "protocol/names.h"

/* ---- what is refused ---- */

const char *muster_async_error(const struct muster_async *a)
{
    (void)a;
    return async_thread_refusal();
}

int async_enter(const struct muster_async *a)
{
    return async_thread_check(a->owner);
}

int async_check_bytes(const struct muster_async *a, const struct muster_bytes *bytes)
{
    const char *why = NULL;
    int err = names_check_task(bytes, a->max_task_len, &why);
    return err == MUSTER_OK ? err : async_thread_refuse(err, why);
}

/* ---- options ---- */

static const char *check(const struct muster_async_options *options, struct muster_async_options *o)
{
    const char *why = sized_read(SIZED_ASYNC_OPTIONS, o, options);
    if (!why)
        why = muster_client_options_check(o->client);
    struct muster_client_options client;
    if (!why && !sized_read(SIZED_CLIENT_OPTIONS, &client, o->client) && client.redis)
        why = "redis: an asynchronous client makes its own connection: give it a URL";
    return why;
}

const char *muster_async_options_check(const struct muster_async_options *options)
{
    struct muster_async_options o;
    return check(options, &o);
}

/* ---- the thread ---- */

static void on_waker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    struct async_list calls;
    (void)fd, (void)what;
    bool goes_on = async_inbox_take(&a->inbox, &calls);
    async_line_add(a, &calls);
    if (!goes_on)
        async_line_close(a);
}

static void *run(void *arg)
{
    struct muster_async *a = arg;
    event_base_loop(a->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

/* ---- its life ---- */

static void read_options(struct muster_async *a, const struct muster_async_options *o, const struct client_options *c)
{
    a->owner = owner_this();
    async_taker_init(&a->takers);
    snprintf(a->prefix, sizeof a->prefix, "%s", c->prefix);
    script_root_init(&a->root, a->prefix, c->url.db);
    a->max_task_len = c->max_task_len;
    a->timeout_ms = c->timeout_ms;
    a->inbox.max_calls = o->max_in_flight ? o->max_in_flight : MUSTER_ASYNC_IN_FLIGHT_DEFAULT;
    a->inbox.max_bytes = o->max_bytes ? o->max_bytes : MUSTER_ASYNC_BYTES_DEFAULT;
}

/* All of it can be freed, whatever it returns. */
static int init(struct muster_async *a, const struct client_options *c)
{
    int inbox = async_inbox_init(&a->inbox), outbox = async_outbox_init(&a->outbox);
    a->base = loop_new();
    int err = inbox == MUSTER_OK && outbox == MUSTER_OK && a->base ? MUSTER_OK : MUSTER_E_NOMEM;
    if (err == MUSTER_OK)
        err = async_line_init(a, c);
    if (err == MUSTER_OK)
        err = async_watch_init(a, &c->url);
    if (err != MUSTER_OK)
        return err;
    a->waker = event_new(a->base, a->inbox.wake_fd, EV_READ | EV_PERSIST, on_waker, a);
    if (!a->waker || event_add(a->waker, NULL) != 0)
        return MUSTER_E_NOMEM;
    err = thread_start(&a->thread, run, a);
    a->has_thread = err == MUSTER_OK;
    return err;
}

int muster_async_new(struct muster_async **out, const struct muster_async_options *options)
{
    struct muster_async_options o;
    struct client_options c;
    *out = NULL;
    const char *why = check(options, &o);
    if (why)
        return async_thread_refuse(MUSTER_E_INVALID, why);
    int err = client_options_read(&c, o.client);
    struct muster_async *a = err == MUSTER_OK ? calloc(1, sizeof *a) : NULL;
    if (a) {
        read_options(a, &o, &c);
        err = init(a, &c);
    } else if (err == MUSTER_OK) {
        err = MUSTER_E_NOMEM;
    }
    client_options_clear(&c);
    if (err == MUSTER_OK)
        *out = a;
    else
        muster_async_free(a);
    return err == MUSTER_OK ? err : async_thread_refuse(err, muster_err_text(err));
}

static void free_now(struct muster_async *a)
{
    if (a->has_thread) {
        async_inbox_close(&a->inbox);
        pthread_join(a->thread, NULL);
    }
    async_line_clear(a);
    async_watch_clear(a);
    async_inbox_clear(&a->inbox);
    async_outbox_clear(&a->outbox);
    async_taker_clear(&a->takers);
    if (a->waker)
        event_free(a->waker);
    if (a->base)
        event_base_free(a->base);
    free(a);
}

/* In a child of fork() nothing is touched: the thread is not there, its locks may be held for ever, and what the loop
 * waits for is shared with the parent. */
void muster_async_free(struct muster_async *a)
{
    if (!a || async_enter(a) != MUSTER_OK)
        return;
    if (a->outbox.is_dispatching)
        a->outbox.is_free_due = true;
    else
        free_now(a);
}
