/* SPDX-License-Identifier: MIT
 *
 * A flag that says whether it is raised, and an eventfd that ends a poll(2).
 *
 * Who raises sets the flag first and writes then. Who takes reads the eventfd first and clears the flag then. So what
 * was read belongs to a flag that is seen. Of a raise between the two the write may come later: then the eventfd is
 * readable without a flag, ends one wait too early, and is read there.
 */
#include "redis/interrupt.h"

#include <errno.h>
#include <muster/error.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A signal handler may do only what takes no lock. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "an interrupt is raised in signal handlers");

int interrupt_open(struct interrupt *i)
{
    atomic_init(&i->is_raised, 0);
    i->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return i->fd >= 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

void interrupt_close(struct interrupt *i)
{
    if (i->fd >= 0)
        close(i->fd);
    i->fd = -1;
}

void interrupt_raise(struct interrupt *i)
{
    const uint64_t one = 1;
    const int before = errno;
    atomic_store(&i->is_raised, 1);
    (void)!write(i->fd, &one, sizeof one); /* it fails only if it is readable already */
    errno = before;
}

static void empty(const struct interrupt *i)
{
    uint64_t n;
    (void)!read(i->fd, &n, sizeof n);
}

bool interrupt_take(struct interrupt *i)
{
    if (!atomic_load(&i->is_raised))
        return false;
    empty(i);
    return atomic_exchange(&i->is_raised, 0);
}

bool interrupt_wait(struct interrupt *i, int fd, short events, int ms, short *ready)
{
    struct pollfd p[] = {{.fd = i->fd, .events = POLLIN}, {.fd = fd, .events = events}};
    int n = poll(p, sizeof p / sizeof *p, ms);
    *ready = n > 0 ? p[1].revents : 0;
    if (n > 0 && p[0].revents && !atomic_load(&i->is_raised))
        empty(i);
    return n > 0 || (n < 0 && errno == EINTR);
}
