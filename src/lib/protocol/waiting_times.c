/* SPDX-License-Identifier: MIT
 *
 * The times of callers that wait for work.
 */
#include "protocol/waiting_times.h"

#include <stdlib.h>

#define STAGGER_MS 1
#define STAGGER_MAX_MS 32
/* Those who were named have this long to take, before others look. */
#define OTHERS_MS 50

static int64_t within(int64_t ms)
{
    return (int64_t)arc4random_uniform((uint32_t)ms + 1);
}

int64_t waiting_times_look_in(bool others_are_named, int64_t stagger_ms)
{
    return others_are_named ? OTHERS_MS + within(OTHERS_MS) : within(stagger_ms);
}

int64_t waiting_times_stagger(int64_t before_ms)
{
    if (before_ms == 0)
        return STAGGER_MS;
    return 2 * before_ms < STAGGER_MAX_MS ? 2 * before_ms : STAGGER_MAX_MS;
}
