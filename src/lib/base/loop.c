/* SPDX-License-Identifier: MIT
 *
 * libevent ends the program, by exit(3), where it cannot make its pair of sockets for signals. So it is asked only where
 * there are descriptors for all that it opens up to then. Another thread may still take them in between.
 */
#include "base/loop.h"

#include <event2/event.h>
#include <stdbool.h>
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

struct event_base *loop_new(void)
{
    return are_there_descriptors() ? event_base_new() : NULL;
}
