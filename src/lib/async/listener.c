/* SPDX-License-Identifier: MIT
 *
 * Making and freeing a listener, what is wished of it, and its thread.
 */
#include "async/listener.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/owner.h"
#include "base/sized.h"
#include "base/thread.h"
#include "protocol/client_options.h"

const char *muster_listener_error(const struct muster_listener *l)
{
    (void)l;
    return async_thread_refusal();
}

/* ---- options ---- */

static const char *check(const struct muster_listener_options *options, struct muster_listener_options *o)
{
    struct muster_client_options client;
    const char *why = sized_read(SIZED_LISTENER_OPTIONS, o, options);
    if (!why)
        why = muster_client_options_check(o->client);
    if (!why && !sized_read(SIZED_CLIENT_OPTIONS, &client, o->client) && client.redis)
        why = "redis: a listener makes its own connections: give it a URL";
    return why;
}

const char *muster_listener_options_check(const struct muster_listener_options *options)
{
    struct muster_listener_options o;
    return check(options, &o);
}

/* ---- wishes ---- */

void listener_wake(struct muster_listener *l)
{
    const uint64_t one = 1;
    ssize_t written = write(l->wishes.wake_fd, &one, sizeof one);
    (void)written;
}

static int wish(struct muster_listener *l, const char *queue, int kinds)
{
    const size_t len = queue ? strlen(queue) + 1 : 1;
    struct listener_wish *w = malloc(sizeof *w + len);
    if (!w)
        return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
    w->next = NULL;
    w->kinds = kinds;
    w->has_queue = queue != NULL;
    memcpy(w->queue, queue ? queue : "", len);
    pthread_mutex_lock(&l->wishes.lock);
    *l->wishes.end = w;
    l->wishes.end = &w->next;
    pthread_mutex_unlock(&l->wishes.lock);
    listener_wake(l);
    return MUSTER_OK;
}

int muster_listener_add(struct muster_listener *l, const char *queue, int kinds)
{
    int err = async_thread_check(l->owner);
    if (err == MUSTER_OK && queue)
        err = async_thread_check_queue(queue);
    if (err != MUSTER_OK)
        return err;
    if (kinds <= 0 || (kinds & ~MUSTER_LISTEN_ALL))
        return async_thread_refuse(MUSTER_E_INVALID, "the kinds are bits of enum muster_listen_kind, one at least");
    if (!queue && kinds != MUSTER_LISTEN_JOBS)
        return async_thread_refuse(MUSTER_E_INVALID, "of all queues only jobs can be listened to: name a queue");
    return wish(l, queue, kinds);
}

int muster_listener_remove(struct muster_listener *l, const char *queue)
{
    int err = async_thread_check(l->owner);
    if (err == MUSTER_OK && queue)
        err = async_thread_check_queue(queue);
    return err == MUSTER_OK ? wish(l, queue, 0) : err;
}

/* ---- the thread ---- */

/* All of them, in their order. False: it shall end. */
static bool take_wishes(struct muster_listener *l, struct listener_wish **all)
{
    uint64_t notes;
    ssize_t got = read(l->wishes.wake_fd, &notes, sizeof notes);
    (void)got;
    pthread_mutex_lock(&l->wishes.lock);
    *all = l->wishes.first;
    l->wishes.first = NULL;
    l->wishes.end = &l->wishes.first;
    bool goes_on = !l->wishes.is_closing;
    pthread_mutex_unlock(&l->wishes.lock);
    return goes_on;
}

/* They come first, and the ticker wakes for them. */
static void put_back(struct muster_listener *l, struct listener_wish *left)
{
    struct listener_wish **end = &left->next;
    while (*end)
        end = &(*end)->next;
    pthread_mutex_lock(&l->wishes.lock);
    *end = l->wishes.first;
    l->wishes.end = *end ? l->wishes.end : end;
    l->wishes.first = left;
    pthread_mutex_unlock(&l->wishes.lock);
    l->wishes.are_left = true;
}

/* For those that there is no memory for now there may be some later: whoever has added a queue waits for its READY. */
static void on_waker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_listener *l = arg;
    struct listener_wish *all;
    (void)fd, (void)what;
    bool goes_on = take_wishes(l, &all);
    l->wishes.are_left = false;
    for (struct listener_wish *next; all; all = next) {
        next = all->next;
        if (listener_ear_wish(l, all->has_queue ? all->queue : NULL, all->kinds) != MUSTER_OK) {
            put_back(l, all);
            break;
        }
        free(all);
    }
    listener_ear_go_on(l);
    if (!goes_on)
        event_base_loopbreak(l->base);
}

static void *run(void *arg)
{
    struct muster_listener *l = arg;
    event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

/* ---- its life ---- */

static void read_options(struct muster_listener *l, const struct muster_listener_options *o,
                         const struct client_options *c)
{
    l->owner = owner_this();
    snprintf(l->prefix, sizeof l->prefix, "%s", c->prefix);
    script_root_init(&l->root, l->prefix, c->url.db);
    l->timeout_ms = c->timeout_ms;
    l->box.max_n = o->max_heard ? o->max_heard : MUSTER_LISTENER_HEARD_DEFAULT;
    l->box.max_bytes = o->max_bytes ? o->max_bytes : MUSTER_LISTENER_BYTES_DEFAULT;
}

/* All of it can be freed, whatever it returns. */
static int init(struct muster_listener *l, const struct url *url)
{
    int err = listener_box_init(&l->box);
    pthread_mutex_init(&l->wishes.lock, NULL);
    l->wishes.end = &l->wishes.first;
    l->wishes.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->base = loop_new();
    if (err != MUSTER_OK || l->wishes.wake_fd < 0 || !l->base)
        return MUSTER_E_NOMEM;
    err = listener_links_init(l, url);
    if (err != MUSTER_OK)
        return err;
    l->waker = event_new(l->base, l->wishes.wake_fd, EV_READ | EV_PERSIST, on_waker, l);
    if (!l->waker || event_add(l->waker, NULL) != 0)
        return MUSTER_E_NOMEM;
    err = thread_start(&l->thread, run, l);
    l->has_thread = err == MUSTER_OK;
    return err;
}

int muster_listener_new(struct muster_listener **out, const struct muster_listener_options *options)
{
    struct muster_listener_options o;
    struct client_options c;
    *out = NULL;
    const char *why = check(options, &o);
    if (why)
        return async_thread_refuse(MUSTER_E_INVALID, why);
    int err = client_options_read(&c, o.client);
    struct muster_listener *l = err == MUSTER_OK ? calloc(1, sizeof *l) : NULL;
    if (l) {
        read_options(l, &o, &c);
        err = init(l, &c.url);
    } else if (err == MUSTER_OK) {
        err = MUSTER_E_NOMEM;
    }
    client_options_clear(&c);
    if (err == MUSTER_OK)
        *out = l;
    else
        muster_listener_free(l);
    return err == MUSTER_OK ? err : async_thread_refuse(err, muster_err_text(err));
}

static void end_thread(struct muster_listener *l)
{
    pthread_mutex_lock(&l->wishes.lock);
    l->wishes.is_closing = true;
    pthread_mutex_unlock(&l->wishes.lock);
    listener_wake(l);
    pthread_join(l->thread, NULL);
}

/* In a child of fork() nothing is touched, as with an asynchronous client. */
void muster_listener_free(struct muster_listener *l)
{
    struct listener_wish *left;
    if (!l || async_thread_check(l->owner) != MUSTER_OK)
        return;
    if (l->has_thread)
        end_thread(l);
    listener_links_clear(l);
    listener_ear_clear(l);
    take_wishes(l, &left);
    for (struct listener_wish *next; left; left = next) {
        next = left->next;
        free(left);
    }
    listener_box_clear(&l->box);
    if (l->wishes.wake_fd >= 0)
        close(l->wishes.wake_fd);
    pthread_mutex_destroy(&l->wishes.lock);
    if (l->waker)
        event_free(l->waker);
    if (l->base)
        event_base_free(l->base);
    free(l);
}
