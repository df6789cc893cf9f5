/* SPDX-License-Identifier: MIT
 *
 * Two lists under one lock: what is to be run, and what is to be finished. An eventfd wakes the loop.
 */
#include "work.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "need.h"

#define WAITING_MAX 64

struct item {
    struct item *next;
    work_run_fn *run;
    work_fn *done;
    void *arg;
};

struct list {
    struct item *first, **end;
    size_t n;
};

struct hand {
    struct work *work;
    size_t number;
    pthread_t thread;
};

struct work {
    struct hand hands[WORK_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t is_asked;
    struct list asked, done;
    bool is_ending;
    int fd;
    struct event *event;
};

static void list_init(struct list *l)
{
    *l = (struct list){.end = &l->first};
}

static void list_add(struct list *l, struct item *item)
{
    *l->end = item;
    l->end = &item->next;
    l->n++;
}

static struct item *list_take(struct list *l)
{
    struct item *item = l->first;
    if (!item)
        return NULL;
    l->first = item->next;
    if (!l->first)
        l->end = &l->first;
    l->n--;
    item->next = NULL;
    return item;
}

static void finish_all(struct list *l)
{
    for (struct item *item; (item = list_take(l));) {
        item->done(item->arg);
        free(item);
    }
}

static struct item *item_new(work_run_fn *run, work_fn *done, void *arg)
{
    struct item *item = need(calloc(1, sizeof *item));
    *item = (struct item){.run = run, .done = done, .arg = arg};
    return item;
}

static void wake_loop(struct work *w)
{
    (void)!write(w->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void *run_all(void *arg)
{
    const struct hand *hand = arg;
    struct work *w = hand->work;
    pthread_mutex_lock(&w->lock);
    while (!w->is_ending) {
        struct item *item = list_take(&w->asked);
        if (!item) {
            pthread_cond_wait(&w->is_asked, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        item->run(item->arg, hand->number);
        pthread_mutex_lock(&w->lock);
        list_add(&w->done, item);
        wake_loop(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static struct item *take_done(struct work *w)
{
    pthread_mutex_lock(&w->lock);
    struct item *item = list_take(&w->done);
    pthread_mutex_unlock(&w->lock);
    return item;
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
    struct work *w = arg;
    uint64_t n;
    (void)what;
    (void)!read(fd, &n, sizeof n);
    for (struct item *item; (item = take_done(w));) {
        item->done(item->arg);
        free(item);
    }
}

struct work *work_new(struct event_base *base)
{
    struct work *w = need(calloc(1, sizeof *w));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->is_asked, NULL);
    list_init(&w->asked);
    list_init(&w->done);
    w->fd = need_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    w->event = need(event_new(base, w->fd, EV_READ | EV_PERSIST, on_done, w));
    event_add(w->event, NULL);
    for (size_t i = 0; i < WORK_THREADS; i++) {
        w->hands[i] = (struct hand){.work = w, .number = i};
        if (pthread_create(&w->hands[i].thread, NULL, run_all, &w->hands[i]) != 0)
            need(NULL);
    }
    return w;
}

void work_free(struct work *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_broadcast(&w->is_asked);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < WORK_THREADS; i++)
        pthread_join(w->hands[i].thread, NULL);
    finish_all(&w->done);
    finish_all(&w->asked);
    event_free(w->event);
    close(w->fd);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->is_asked);
    free(w);
}

bool work_post(struct work *w, work_run_fn *run, work_fn *done, void *arg)
{
    pthread_mutex_lock(&w->lock);
    bool has_room = w->asked.n < WAITING_MAX;
    if (has_room)
        list_add(&w->asked, item_new(run, done, arg));
    pthread_cond_signal(&w->is_asked);
    pthread_mutex_unlock(&w->lock);
    return has_room;
}

void work_tell(struct work *w, work_fn *done, void *arg)
{
    pthread_mutex_lock(&w->lock);
    list_add(&w->done, item_new(NULL, done, arg));
    pthread_mutex_unlock(&w->lock);
    wake_loop(w);
}
