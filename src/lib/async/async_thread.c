/* SPDX-License-Identifier: MIT
 *
 * Those who call a handle that has a thread of the library's own.
 */
#include "async/async_thread.h"

#include <stdio.h>

#include "base/owner.h"

static _Thread_local char refusal[512];

int async_thread_refuse(int err, const char *why)
{
    snprintf(refusal, sizeof refusal, "%s", why);
    return err;
}

const char *async_thread_refusal(void)
{
    return refusal;
}

int async_thread_check(uint64_t owner)
{
    if (owner == owner_this())
        return MUSTER_OK;
    return async_thread_refuse(MUSTER_E_STATE, "this handle is the parent's: a child of fork() makes its own");
}

int async_thread_check_queue(const char *queue)
{
    const char *why = muster_queue_check(queue);
    return why ? async_thread_refuse(MUSTER_E_INVALID, why) : MUSTER_OK;
}
