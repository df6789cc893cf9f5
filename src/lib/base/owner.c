/* SPDX-License-Identifier: MIT
 *
 * The number lies on a page that the kernel clears in a child (MADV_WIPEONFORK): so every way to fork counts, those that
 * call no handlers of pthread_atfork(), too, and in a child of vfork(), which uses its parent's memory, the parent stays
 * what it is. The number is made at random, because a pid comes again, in another namespace of pids or after a while.
 * Where the kernel has no such page, it is the pid, for a system call each time.
 */
#include "base/owner.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* NULL: not made yet. */
static _Atomic(_Atomic uint64_t *) page;
/* Stands for a page that could not be made: once it is decided, it stays so, or a handle would lose its owner. */
static _Atomic uint64_t none;

/* The kernel makes a whole page of it. */
static _Atomic uint64_t *map_page(void)
{
    void *made = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return &none;
    if (madvise(made, sizeof none, MADV_WIPEONFORK) == 0)
        return made;
    munmap(made, sizeof none);
    return &none;
}

/* Another thread may be first. */
static _Atomic uint64_t *make_page(void)
{
    _Atomic uint64_t *before = NULL, *made = map_page();
    if (atomic_compare_exchange_strong(&page, &before, made))
        return made;
    if (made != &none)
        munmap((void *)made, sizeof none);
    return before;
}

static uint64_t make_number(_Atomic uint64_t *at)
{
    uint64_t before = 0, number = (uint64_t)arc4random() << 32 | arc4random() | 1;
    return atomic_compare_exchange_strong(at, &before, number) ? number : before;
}

uint64_t owner_this(void)
{
    _Atomic uint64_t *at = atomic_load_explicit(&page, memory_order_acquire);
    if (!at)
        at = make_page();
    if (at == &none)
        return (uint64_t)getpid();
    const uint64_t number = atomic_load_explicit(at, memory_order_relaxed);
    return number ? number : make_number(at);
}
