/* SPDX-License-Identifier: MIT
 *
 * Both ends of the ring lie in one word, so that taking a thing and calling back the rest exclude each other. A taker
 * reads the slot before it moves the end: only if it moves it, it has the thing; and until then nobody fills that slot
 * again, because slots are filled behind `seen`.
 */
#include "worker/ring.h"

#include <stdlib.h>

static uint64_t ends_of(uint32_t first, uint32_t behind)
{
    return (uint64_t)first << 32 | behind;
}

static uint32_t first_of(uint64_t ends)
{
    return (uint32_t)(ends >> 32);
}

static uint32_t behind_of(uint64_t ends)
{
    return (uint32_t)ends;
}

static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static _Atomic(void *) *slot(const struct ring *r, uint32_t number)
{
    return &r->slots[number & r->mask];
}

bool ring_new(struct ring *r, size_t n)
{
    uint32_t size = 2;
    while (size < n)
        size *= 2;
    *r = (struct ring){.mask = size - 1, .slots = calloc(size, sizeof *r->slots)};
    return r->slots != NULL;
}

void ring_free(struct ring *r)
{
    free(r->slots);
}

/* ---- any thread ---- */

void *ring_take(struct ring *r, enum ring_part part)
{
    uint64_t ends = atomic_load(&r->ends);
    for (;;) {
        uint32_t first = first_of(ends);
        if (first == behind_of(ends) || (part == RING_SURE && !is_before(first, atomic_load(&r->sure))))
            return NULL;
        void *thing = atomic_load_explicit(slot(r, first), memory_order_relaxed);
        if (atomic_compare_exchange_weak(&r->ends, &ends, ends_of(first + 1, behind_of(ends))))
            return thing;
    }
}

bool ring_has_sure(const struct ring *r)
{
    uint64_t ends = atomic_load(&r->ends);
    return first_of(ends) != behind_of(ends) && is_before(first_of(ends), atomic_load(&r->sure));
}

/* ---- the thread that puts in ---- */

bool ring_has_room(const struct ring *r, uint32_t spare)
{
    return r->filled - r->seen + spare <= r->mask;
}

uint32_t ring_put(struct ring *r, void *thing)
{
    atomic_store_explicit(slot(r, r->filled), thing, memory_order_relaxed);
    return r->filled++;
}

void ring_publish(struct ring *r)
{
    uint64_t ends = atomic_load(&r->ends);
    while (behind_of(ends) != r->filled &&
           !atomic_compare_exchange_weak(&r->ends, &ends, ends_of(first_of(ends), r->filled)))
        ;
}

void ring_make_sure(struct ring *r, uint32_t number)
{
    atomic_store(&r->sure, number + 1);
}

/* The first thing that is ahead, if there is one. */
static uint32_t first_ahead(const struct ring *r, uint64_t ends)
{
    uint32_t sure = atomic_load_explicit(&r->sure, memory_order_relaxed);
    return is_before(first_of(ends), sure) ? sure : first_of(ends);
}

void *ring_last_ahead(const struct ring *r)
{
    uint32_t first = first_ahead(r, atomic_load(&r->ends));
    return is_before(first, r->filled) ? atomic_load_explicit(slot(r, r->filled - 1), memory_order_relaxed) : NULL;
}

void ring_call_back(struct ring *r, void (*tell)(void *thing))
{
    uint64_t ends = atomic_load(&r->ends);
    uint32_t first, filled = r->filled;
    do
        first = first_ahead(r, ends);
    while (is_before(first, behind_of(ends)) &&
           !atomic_compare_exchange_weak(&r->ends, &ends, ends_of(first_of(ends), first)));
    if (is_before(first, filled))
        r->filled = first;
    for (uint32_t number = first; is_before(number, filled); number++)
        tell(atomic_load_explicit(slot(r, number), memory_order_relaxed));
}

void *ring_next_taken(struct ring *r)
{
    uint32_t first = first_of(atomic_load(&r->ends));
    uint32_t sure = atomic_load_explicit(&r->sure, memory_order_relaxed);
    void *thing = NULL;
    for (; !thing && is_before(r->seen, first); r->seen++)
        if (!is_before(r->seen, sure))
            thing = atomic_load_explicit(slot(r, r->seen), memory_order_relaxed);
    if (is_before(sure, r->seen))
        atomic_store(&r->sure, r->seen); /* it keeps up, or numbers wrap around between the two */
    return thing;
}

void ring_forget(struct ring *r, uint32_t number)
{
    atomic_store_explicit(slot(r, number), NULL, memory_order_relaxed);
}
