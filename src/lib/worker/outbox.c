/* SPDX-License-Identifier: MIT
 *
 * The outbox: what lies ready for a program that has an event loop of its own, and how it is told.
 *
 * Design notes
 *
 *   1. One lock for all that lies there. The loop takes it once in a dispatch, muster_worker_next() once in a call: so
 *      a batch shares it. An end takes it only if all hands were in use.
 *   2. What is offered has no hand yet. A process gets one when it is handed out, if fewer than `hands` are out:
 *      `n_out` rises here, and falls where the program ends one, on whatever thread. So the next one may go out before
 *      the loop has heard of the end: the hand of the one is the hand of the other. The loop hears of both later, of
 *      the end first or not; it counts no more hands than there are (executor_next.c).
 *   3. The fence is compared under the lock, before anything is handed out. To call off what is offered, the loop takes
 *      the lock: then a process is either the program's or the loop's.
 *   4. The descriptor is readable while the next call would bring something, as of the last change here. If the fence
 *      holds something back, the loop is woken to look, because it may not have noticed.
 *   5. Events about processes are not left out for being too many: nothing begins while too much is unread. What tells
 *      of a process' end needs no memory of that moment, either.
 */
#include "worker/outbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

/* ---- under the lock ---- */

static bool has_a_hand(const struct outbox *o)
{
    return atomic_load(&o->n_out) < atomic_load(&o->hands);
}

/* Shall it come for a process? */
static bool is_program_due(const struct outbox *o)
{
    return (o->offered || o->invitation == INVITES) && has_a_hand(o);
}

static void set_fd(struct outbox *o, bool is_readable)
{
    uint64_t count = 1;
    if (is_readable == o->is_signalled)
        return;
    o->is_signalled = is_readable;
    ssize_t done = is_readable ? write(o->fd, &count, sizeof count) : read(o->fd, &count, sizeof count);
    (void)done; /* its count is 0 or 1: neither fails */
}

static void set_hands(struct outbox *o, int hands)
{
    atomic_store(&o->hands, hands);
    if (is_program_due(o))
        set_fd(o, true);
}

static void count(struct outbox *o, const struct outbox_item *item, int by)
{
    if (item->item.type != MUSTER_ITEM_EVENT)
        return;
    o->n_events += (size_t)by;
    o->event_bytes += (size_t)by * item->bytes;
}

static void append(struct outbox *o, struct outbox_item *item)
{
    item->next = NULL;
    *o->items_end = item;
    o->items_end = &item->next;
    outbox_item_tie(item);
    count(o, item, 1);
    set_fd(o, true);
}

static bool has_too_much(const struct outbox *o)
{
    return o->n_events >= MUSTER_UNREAD_MAX || o->event_bytes >= MUSTER_UNREAD_BYTES_MAX;
}

/* ---- events ---- */

bool outbox_is_heard(const struct muster_worker *w)
{
    return atomic_load(&w->outbox.is_heard);
}

static bool may_be_left_out(const struct muster_event *e)
{
    return !e->process && e->type != MUSTER_EVENT_STOPPED;
}

/* Before the last event, or when the program comes to fetch. */
static void tell_left_out(struct outbox *o)
{
    char line[120];
    if (o->n_left_out == 0)
        return;
    snprintf(line, sizeof line,
             "%" PRIu64 " events were left out: muster_worker_next() was not called in time, or memory ran out",
             o->n_left_out);
    struct outbox_item *item =
        outbox_item_of_event(&(struct muster_event){.type = MUSTER_EVENT_LEFT_OUT, .text = line}, NULL);
    if (!item)
        return;
    o->n_left_out = 0;
    append(o, item);
}

void outbox_event(struct muster_worker *w, const struct muster_event *e)
{
    struct outbox *o = &w->outbox;
    struct outbox_item *item = outbox_item_of_event(e, &o->stopped);
    if (e->process)
        e->process->has_items = true;
    pthread_mutex_lock(&o->lock);
    if (e->type == MUSTER_EVENT_STOPPED)
        tell_left_out(o);
    bool is_kept = item && !(has_too_much(o) && may_be_left_out(e));
    if (is_kept)
        append(o, item);
    else
        o->n_left_out++;
    pthread_mutex_unlock(&o->lock);
    if (is_kept)
        return;
    if (!item)
        log_line(MUSTER_LOG_ERROR, "worker %s: out of memory: an event was left out: %s", w->id, e->text);
    else
        tell_log_event(w, e);
    free(item);
}

void outbox_forget(struct muster_process *p)
{
    struct outbox *o = &p->worker->outbox;
    if (!p->has_items)
        return;
    pthread_mutex_lock(&o->lock);
    while (p->items)
        outbox_item_untie(p->items);
    pthread_mutex_unlock(&o->lock);
}

bool outbox_is_full(struct muster_worker *w)
{
    struct outbox *o = &w->outbox;
    if (!o->is_there)
        return false;
    pthread_mutex_lock(&o->lock);
    o->is_full = has_too_much(o);
    bool is_full = o->is_full;
    pthread_mutex_unlock(&o->lock);
    return is_full;
}

/* ---- answers ---- */

void outbox_answer(struct muster_worker *w, struct outbox_item *answer)
{
    struct outbox *o = &w->outbox;
    pthread_mutex_lock(&o->lock);
    append(o, answer);
    pthread_mutex_unlock(&o->lock);
}

/* ---- processes, for the loop ---- */

void outbox_offer(struct muster_worker *w, struct muster_process *first, int hands)
{
    struct outbox *o = &w->outbox;
    pthread_mutex_lock(&o->lock);
    for (struct muster_process *p = first; p; p = p->next_in_outbox) {
        *o->offered_end = p;
        o->offered_end = &p->next_in_outbox;
    }
    set_hands(o, hands);
    pthread_mutex_unlock(&o->lock);
}

bool outbox_invite(struct muster_worker *w, int hands)
{
    struct outbox *o = &w->outbox;
    pthread_mutex_lock(&o->lock);
    bool has_come = o->invitation == HAS_COME;
    o->invitation = has_come ? INVITES_NOBODY : INVITES;
    set_hands(o, hands);
    pthread_mutex_unlock(&o->lock);
    o->is_inviting = !has_come;
    return has_come;
}

void outbox_call_off(struct muster_worker *w)
{
    struct outbox *o = &w->outbox;
    pthread_mutex_lock(&o->lock);
    o->offered = NULL;
    o->offered_end = &o->offered;
    o->invitation = INVITES_NOBODY;
    pthread_mutex_unlock(&o->lock);
    o->is_inviting = false;
}

struct muster_process *outbox_taken(struct muster_worker *w, size_t max)
{
    struct outbox *o = &w->outbox;
    pthread_mutex_lock(&o->lock);
    struct muster_process *first = o->taken, **end = &first;
    for (; max > 0 && *end; max--)
        end = &(*end)->next_in_outbox;
    o->taken = *end;
    if (!o->taken)
        o->taken_end = &o->taken;
    *end = NULL;
    pthread_mutex_unlock(&o->lock);
    return first;
}

/* If all hands were in use, what waits for one can be fetched now: before the loop has heard of the end. */
void outbox_ended(struct muster_worker *w, int n)
{
    struct outbox *o = &w->outbox;
    if (atomic_fetch_sub(&o->n_out, n) < atomic_load(&o->hands))
        return;
    pthread_mutex_lock(&o->lock);
    if (is_program_due(o) && !fence_has_passed(w, clock_us()))
        set_fd(o, true);
    pthread_mutex_unlock(&o->lock);
}

/* ---- muster_worker_next() ---- */

/* The items of one call: `out` has the caller's distance between two of them. */
struct filling {
    char *out;
    size_t size, n, max;
    size_t n_items; /* of `n`; the rest are processes */
};

static struct muster_item *place(const struct filling *f, size_t i)
{
    return (struct muster_item *)(void *)(f->out + i * f->size);
}

/* The size is known to be good. */
static void fill(const struct filling *f, size_t i, const struct muster_item *item)
{
    struct muster_item *to = place(f, i);
    to->size = f->size;
    sized_clear(SIZED_ITEM, to);
    sized_write(SIZED_ITEM, to, item);
}

static void take_items(struct outbox *o, struct filling *f)
{
    struct outbox_item *first = o->items, **end = &first;
    for (struct outbox_item *item; (item = *end) != NULL && f->n < f->max; end = &item->next) {
        struct muster_process *p = item->process;
        outbox_item_untie(item);
        item->item.process = p && !atomic_load(&p->end_called) ? p : NULL;
        fill(f, f->n++, &item->item);
        count(o, item, -1);
        if (item->item.type != MUSTER_ITEM_ANSWER)
            continue;
        atomic_fetch_sub(&o->n_answers, 1);
        atomic_fetch_add(&o->n_fetched, 1);
    }
    o->items = *end;
    if (!o->items)
        o->items_end = &o->items;
    *end = NULL;
    o->lent = first;
}

/* Only their places are filled yet. */
static void take_processes(struct outbox *o, struct filling *f)
{
    int64_t now_us = clock_us();
    for (struct muster_process *p; f->n < f->max && (p = o->offered) != NULL && has_a_hand(o); f->n++) {
        o->offered = p->next_in_outbox;
        p->next_in_outbox = NULL;
        *o->taken_end = p;
        o->taken_end = &p->next_in_outbox;
        atomic_store_explicit(&p->taken_at_us, now_us, memory_order_relaxed);
        atomic_fetch_add(&o->n_out, 1);
        place(f, f->n)->process = p;
    }
    if (!o->offered)
        o->offered_end = &o->offered;
}

/* Without the lock: it is the program's, which does not know it yet. */
static void fill_process(const struct filling *f, size_t i)
{
    struct muster_process *p = place(f, i)->process;
    const struct muster_job *job = muster_process_job(p);
    fill(f, i,
         &(struct muster_item){.type = MUSTER_ITEM_PROCESS,
                               .process = p,
                               .id = muster_process_id(p),
                               .queue = p->served->name,
                               .job = job ? job->id : NULL,
                               .task = p->task,
                               .len = p->len,
                               .token = p->token});
}

/* True: the loop must look. It learns that the program has come, and of what was handed out, which changes what it
 * counts, and may have a time limit. */
static bool take(struct muster_worker *w, struct filling *f)
{
    struct outbox *o = &w->outbox;
    tell_left_out(o);
    take_items(o, f);
    bool is_fenced = (o->offered || o->invitation == INVITES) && fence_has_passed(w, clock_us());
    bool was_known = !o->taken;
    f->n_items = f->n;
    if (!is_fenced)
        take_processes(o, f);
    bool has_come = !is_fenced && o->invitation == INVITES && f->n < f->max && has_a_hand(o);
    o->invitation = has_come ? HAS_COME : o->invitation;
    bool has_room_again = o->is_full && !has_too_much(o);
    o->is_full &= !has_room_again;
    set_fd(o, o->items || (!is_fenced && is_program_due(o)));
    return is_fenced || has_come || (o->taken && was_known) || has_room_again;
}

size_t muster_worker_next(struct muster_worker *w, struct muster_item *out, size_t max)
{
    struct outbox *o = &w->outbox;
    if (max == 0 || !worker_is_own(w))
        return 0;
    const char *why = o->is_there ? sized_clear(SIZED_ITEM, out) : "muster_worker_next() needs the option own_thread";
    if (why) {
        tell_error(w, "%s", why);
        return 0;
    }
    struct filling f = {.out = (char *)out, .size = out->size, .max = max};
    outbox_item_free_all(o->lent);
    pthread_mutex_lock(&o->lock);
    bool wakes = take(w, &f);
    pthread_mutex_unlock(&o->lock);
    if (wakes)
        stop_wake(w);
    for (size_t i = f.n_items; i < f.n; i++)
        fill_process(&f, i);
    return f.n;
}

int muster_worker_fd(struct muster_worker *w)
{
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    if (!w->outbox.is_there)
        return tell_error_as(w, MUSTER_E_STATE, "the descriptor is for a worker with the option own_thread");
    atomic_store(&w->outbox.is_heard, true);
    return w->outbox.fd;
}

/* ---- life ---- */

int outbox_new(struct muster_worker *w)
{
    struct outbox *o = &w->outbox;
    o->fd = -1;
    if (!w->own_thread.is_wanted)
        return MUSTER_OK;
    o->items_end = &o->items;
    o->offered_end = &o->offered;
    o->taken_end = &o->taken;
    o->offering_end = &o->offering;
    pthread_mutex_init(&o->lock, NULL);
    o->is_there = true;
    o->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    o->stopped = outbox_item_for_stopped();
    return o->fd >= 0 && o->stopped ? MUSTER_OK : MUSTER_E_NOMEM;
}

void outbox_free(struct muster_worker *w)
{
    struct outbox *o = &w->outbox;
    if (!o->is_there)
        return;
    o->is_there = false;
    outbox_item_free_all(o->lent);
    outbox_item_free_all(o->items);
    free(o->stopped);
    pthread_mutex_destroy(&o->lock);
    if (o->fd >= 0)
        close(o->fd);
}
