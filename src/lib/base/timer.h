/* SPDX-License-Identifier: MIT
 *
 * Sets a timer of the loop, in milliseconds. libevent's clock is coarser than that of clock.h: a timer may come a
 * little early.
 */
#ifndef TIMER_H
#define TIMER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool timer_after_ms(struct event *timer, int64_t ms)
{
    const struct timeval tv = {ms > 0 ? ms / 1000 : 0, ms > 0 ? ms % 1000 * 1000 : 0};
    return event_add(timer, &tv) == 0;
}

#endif
