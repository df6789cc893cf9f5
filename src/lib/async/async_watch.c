/* SPDX-License-Identifier: MIT
 *
 * Takes that wait for work, as client/vigil.c has it for one blocking caller: subscribe, then take, then sleep. What comes
 * after the take has a message of its own, and a message that got lost costs at most WAITING_RENEW_MS.
 *
 * Each take has a name of its own, and its turn (include takers). Who is named takes at once. If none of a queue's takes
 * is named, one look for all of them follows a little later, by plain commands, for one that was named may have died; only
 * if something is there the one that has waited longest takes.
 *
 * A message may overtake the answer that nothing was there, and then it finds nobody asleep. So a look is planned all the
 * same, for who goes to sleep. Only a take that goes out later makes it needless: that sees what the message is about, and
 * if it takes something, a look follows it.
 */
#include "async/async_watch.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "async/async_watch_private.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/sorted.h"
#include "base/timer.h"
#include "protocol/keys.h"
#include "protocol/waiting_times.h"

/* A queue for which nobody waits any more is left after this time. */
#define IDLE_MS 10000
/* Timers of links and of the client's line, beside those of the queues. */
#define TIMERS_OWN 64

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- waking ---- */

struct async_call *async_watch_take_out(struct async_watch *w, struct async_sleeper **at)
{
    struct async_sleeper *s = *at;
    struct async_call *take = s->take;
    *at = s->next;
    if (!*at)
        w->end = at;
    free(s);
    w->idle_ms = clock_in_ms(IDLE_MS);
    return take;
}

/* Its time to be answered counts from here. */
void async_watch_wake(struct async_watch *w, struct async_sleeper **at)
{
    struct async_list one;
    struct async_call *take = async_watch_take_out(w, at);
    take->made_ms = clock_ms();
    async_list_init(&one);
    async_list_add(&one, take);
    async_line_add(w->async, &one);
}

void async_watch_set_timer(struct async_watch *w)
{
    int64_t at_ms = w->n_to_come > 0 ? ASYNC_WATCH_NEVER : w->first ? w->look_ms : w->idle_ms;
    for (const struct async_sleeper *s = w->first; s; s = s->next)
        at_ms = least(at_ms, s->wake_ms);
    if (at_ms < ASYNC_WATCH_NEVER)
        timer_after_ms(w->timer, at_ms - clock_ms());
}

void async_watch_plan_look(struct async_watch *w, int64_t in_ms)
{
    int64_t at_ms = clock_in_ms(in_ms);
    if (at_ms < w->looked_ms + WAITING_LOOK_APART_MS)
        at_ms = w->looked_ms + WAITING_LOOK_APART_MS;
    w->look_ms = least(w->look_ms, at_ms);
    async_watch_set_timer(w);
}

/* ---- a queue that is watched ---- */

static int compare(const struct async_watch *w, const char *queue, size_t len)
{
    int order = strncmp(w->queue, queue, len);
    return order != 0 ? order : w->queue[len] != '\0';
}

static int compare_at(const void *list, size_t at, const void *wanted)
{
    struct async_watch *const *all = list;
    const struct muster_bytes *queue = wanted;
    return compare(all[at], queue->data, queue->len);
}

/* Where it is, or would be. */
static size_t place_of(const struct async_watches *all, const char *queue, size_t len)
{
    return sorted_place(all->all, all->n, compare_at, &(const struct muster_bytes){queue, len});
}

struct async_watch *async_watch_find(struct muster_async *a, const char *queue, size_t len)
{
    size_t at = place_of(&a->watches, queue, len);
    return at < a->watches.n && compare(a->watches.all[at], queue, len) == 0 ? a->watches.all[at] : NULL;
}

static void free_watch(struct async_watch *w)
{
    while (w->first)
        async_call_free(async_watch_take_out(w, &w->first));
    if (w->timer)
        event_free(w->timer);
    free(w);
}

static void leave(struct async_watch *w)
{
    struct async_watches *all = &w->async->watches;
    const size_t at = place_of(all, w->queue, strlen(w->queue));
    char channel[CHANNEL_MAX];
    key_channel(channel, w->async->root.channels, w->queue, CHANNEL_WORK);
    if (w->is_asked)
        (void)link_unsubscribe(all->link, channel);
    memmove(all->all + at, all->all + at + 1, (all->n - at - 1) * sizeof *all->all);
    all->n--;
    free_watch(w);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct async_watch *w = arg;
    const int64_t now = clock_ms();
    (void)fd, (void)what;
    for (struct async_sleeper **at = &w->first; *at;)
        if ((*at)->wake_ms <= now)
            async_watch_wake(w, at);
        else
            at = &(*at)->next;
    if (w->first && w->n_to_come == 0 && w->look_ms <= now)
        async_watch_look(w);
    if (!w->first && w->n_to_come == 0 && w->idle_ms <= now)
        leave(w);
    else
        async_watch_set_timer(w);
}

/* In the list, and for the timers of so many: without its timer a take would wait for ever. */
static bool has_room(struct muster_async *a)
{
    struct async_watches *all = &a->watches;
    if (all->n < all->cap)
        return true;
    const size_t cap = all->cap ? 2 * all->cap : 16;
    if (loop_keep_room(a->base, TIMERS_OWN + cap) != MUSTER_OK)
        return false;
    struct async_watch **more = realloc(all->all, cap * sizeof(struct async_watch *));
    if (!more)
        return false;
    all->all = more;
    all->cap = cap;
    return true;
}

static struct async_watch *new_watch(struct muster_async *a, const char *queue)
{
    struct async_watches *all = &a->watches;
    const size_t len = strlen(queue) + 1, at = place_of(all, queue, len - 1);
    struct async_watch *w = has_room(a) ? calloc(1, sizeof *w + len) : NULL;
    if (!w)
        return NULL;
    memcpy(w->queue, queue, len);
    w->async = a;
    w->end = &w->first;
    w->look_ms = ASYNC_WATCH_NEVER;
    w->timer = evtimer_new(a->base, on_timer, w);
    if (!w->timer) {
        free_watch(w);
        return NULL;
    }
    memmove(all->all + at + 1, all->all + at, (all->n - at) * sizeof *all->all);
    all->all[at] = w;
    all->n++;
    return w;
}

/* ---- sleeping ---- */

unsigned async_watch_hears(struct muster_async *a, const char *queue)
{
    const struct async_watch *w = async_watch_find(a, queue, strlen(queue));
    return w && w->is_subscribed ? w->n_subscribed : 0;
}

unsigned async_watch_begin(struct muster_async *a, const char *queue)
{
    struct async_watch *w = async_watch_find(a, queue, strlen(queue));
    if (w && !w->first)
        w->look_ms = ASYNC_WATCH_NEVER;
    return async_watch_hears(a, queue);
}

int async_watch_sleep(struct async_call *take, const char *queue, const char *caller, int64_t next_due_ms,
                      int64_t until_ms)
{
    struct muster_async *a = take->async;
    struct async_watch *w = async_watch_find(a, queue, strlen(queue));
    struct async_sleeper *s = async_watch_open_link(a) == MUSTER_OK ? malloc(sizeof *s) : NULL;
    if (s && !w)
        w = new_watch(a, queue);
    if (!s || !w) {
        free(s);
        return MUSTER_E_NOMEM;
    }
    const int64_t now = clock_ms();
    *s = (struct async_sleeper){.take = take, .caller = caller};
    s->wake_ms = least(
        until_ms, clock_in_ms(next_due_ms >= 0 && next_due_ms < WAITING_RENEW_MS ? next_due_ms : WAITING_RENEW_MS));
    if (s->wake_ms < now + WAITING_LOOK_APART_MS && s->wake_ms < until_ms)
        s->wake_ms = now + WAITING_LOOK_APART_MS;
    *w->end = s;
    w->end = &s->next;
    async_watch_subscribe(w);
    async_watch_set_timer(w);
    return MUSTER_OK;
}

void async_watch_found(struct muster_async *a, const char *queue)
{
    struct async_watch *w = async_watch_find(a, queue, strlen(queue));
    if (!w)
        return;
    w->stagger_ms = 0;
    async_watch_plan_look(w, 0);
}

/* ---- its life ---- */

int async_watch_init(struct muster_async *a, const struct url *url)
{
    a->watches.url = malloc(sizeof *a->watches.url);
    if (!a->watches.url)
        return MUSTER_E_NOMEM;
    return url_copy(a->watches.url, url);
}

void async_watch_clear(struct muster_async *a)
{
    struct async_watches *all = &a->watches;
    lookout_free(all->lookout);
    link_free(all->link);
    for (size_t i = 0; i < all->n; i++)
        free_watch(all->all[i]);
    free(all->all);
    if (all->pinger)
        event_free(all->pinger);
    if (all->url)
        url_clear(all->url);
    free(all->url);
}
