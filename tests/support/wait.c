/* SPDX-License-Identifier: MIT
 *
 * Waiting for a condition.
 */
#include <time.h>

#include <event2/event.h>

#include "wait.h"

#define STEP_MS 2

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An exit timer instead of a non-blocking turn: everything that arrives within the step is handled when it arrives. */
static void step(struct event_base *base)
{
    if (!base) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        return;
    }
    event_base_loopexit(base, &(struct timeval){.tv_usec = STEP_MS * 1000});
    event_base_dispatch(base);
}

bool wait_for(struct event_base *base, condition_fn *fn, void *arg, int deadline_ms)
{
    for (int steps = deadline_ms / STEP_MS; !fn(arg); steps--) {
        if (steps <= 0)
            return false;
        step(base);
    }
    return true;
}

void run_loop(struct event_base *base, int span_ms)
{
    for (int64_t until = now_ms() + span_ms; now_ms() < until;)
        step(base);
}
