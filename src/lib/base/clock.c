/* SPDX-License-Identifier: MIT
 *
 * The local clock. clock.h says which, and why.
 */
#include "base/clock.h"

#include <time.h>

int64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_ms(void)
{
    return clock_us() / 1000;
}

int64_t clock_in_ms(int64_t ms)
{
    const int64_t now_ms = clock_ms();
    return ms < CLOCK_NEVER - now_ms ? now_ms + ms : CLOCK_NEVER;
}
