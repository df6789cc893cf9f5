/* SPDX-License-Identifier: MIT
 *
 * libevent ends the program, by exit(3), where it cannot make its pair of sockets for signals. So it is asked only where
 * there are descriptors for all that it opens up to then. Another thread may still take them in between.
 */
#include "base/loop.h"

#include <event2/event.h>
#include <muster/error.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* epoll, maybe its timer, and that pair. */
#define DESCRIPTORS 4

static bool are_there_descriptors(void)
{
    int fds[DESCRIPTORS], n = 0;
    while (n < DESCRIPTORS && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
        n++;
    bool are_there = n == DESCRIPTORS;
    while (n > 0)
        close(fds[--n]);
    return are_there;
}

/* Of links, and of whoever has them. */
#define TIMERS_USUAL 64

struct event_base *loop_new(void)
{
    struct event_base *base = are_there_descriptors() ? event_base_new() : NULL;
    if (!base || loop_keep_room(base, TIMERS_USUAL) == MUSTER_OK)
        return base;
    event_base_free(base);
    return NULL;
}

static void on_nothing(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

static bool set_one(struct event *timer, struct event_base *base)
{
    const struct timeval hour = {3600, 0};
    return event_assign(timer, base, -1, 0, on_nothing, NULL) == 0 && event_add(timer, &hour) == 0;
}

/* The heap in which libevent has them only grows. */
int loop_keep_room(struct event_base *base, size_t n_timers)
{
    const size_t size = event_get_struct_event_size();
    char *timers = calloc(n_timers, size);
    size_t n = 0;
    while (timers && n < n_timers && set_one((struct event *)(void *)(timers + n * size), base))
        n++;
    bool is_done = n == n_timers;
    while (n > 0)
        event_del((struct event *)(void *)(timers + --n * size));
    free(timers);
    return is_done ? MUSTER_OK : MUSTER_E_NOMEM;
}
