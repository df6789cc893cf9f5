/* SPDX-License-Identifier: MIT
 *
 * The local clock: milliseconds that also rise while the machine sleeps (CLOCK_BOOTTIME), because a worker's ttl runs
 * out during a suspend too, and the worker must notice. Times that two hosts compare are of Redis' clock.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
int64_t clock_us(void);

/* The time that comes in `ms`, which may be of any size: of somebody's wait, or of an answer. One that never comes is
 * CLOCK_NEVER. No other deadline is a sum with the clock (house/test_lists). */
#define CLOCK_NEVER INT64_MAX
int64_t clock_in_ms(int64_t ms);

#endif
