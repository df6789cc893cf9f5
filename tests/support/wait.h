/* SPDX-License-Identifier: MIT
 *
 * Waiting for a condition, never for a time: the condition is checked every few milliseconds until it holds. The test
 * fails with the condition's name if it does not hold before the deadline.
 */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;

/* Long enough for anything that needs no timer of the library's. */
#define SOON_MS 30000

/* Monotonic; the same clock in all processes of the host. */
int64_t now_ms(void);

typedef bool condition_fn(void *arg);

/* True as soon as the condition holds, false at the deadline. With a `base` its loop runs meanwhile. The deadline is
 * counted in turns of waiting, not by the clock: one takes longer where everything does, on a slow machine or beside
 * much else. */
bool wait_for(struct event_base *base, condition_fn *fn, void *arg, int deadline_ms);

/* Let the loop run for `span_ms`: for checks that something does *not* happen. */
void run_loop(struct event_base *base, int span_ms);

#define wait_on(base, fn, arg, deadline_ms)                            \
    do {                                                               \
        if (!wait_for(base, fn, arg, deadline_ms))                     \
            fail_msg("not within %d ms: %s", (int)(deadline_ms), #fn); \
    } while (0)
#define wait_until(fn, arg, deadline_ms) wait_on(NULL, fn, arg, deadline_ms)

#endif
