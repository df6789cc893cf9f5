/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: interrupts, which end a wait.
 */
#include "redis/redis_private.h"

void redis_interrupt(struct redis *r)
{
    interrupt_raise(r->interrupt);
}

bool redis_take_interrupt_back(struct redis *r)
{
    return interrupt_take(r->interrupt);
}

void redis_pass_over(struct redis *r, int err)
{
    if (err == MUSTER_E_INTERRUPTED)
        redis_interrupt(r);
}

int redis_first_error(struct redis *r, int err, int later)
{
    if (err == MUSTER_OK)
        return later;
    redis_pass_over(r, later);
    return err;
}

int redis_check_interrupt(struct redis *r)
{
    if (!interrupt_take(r->interrupt))
        return MUSTER_OK;
    redis_error_set(r, "interrupted");
    return MUSTER_E_INTERRUPTED;
}

void redis_sleep(struct redis *r, int ms)
{
    short none;
    (void)interrupt_wait(r->interrupt, -1, 0, ms, &none);
}
