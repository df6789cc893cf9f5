/* SPDX-License-Identifier: MIT
 *
 * Threads of the library's own, and those who call.
 */
#include "async/async_thread.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

int async_thread_check(pid_t owner)
{
    if (owner == getpid())
        return MUSTER_OK;
    return async_thread_refuse(MUSTER_E_STATE, "this handle is the parent's: a child of fork() makes its own");
}

int async_thread_check_queue(const char *queue)
{
    const char *why = muster_queue_check(queue);
    return why ? async_thread_refuse(MUSTER_E_INVALID, why) : MUSTER_OK;
}

int async_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failure = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failure == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}
