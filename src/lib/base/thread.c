/* SPDX-License-Identifier: MIT
 *
 * Threads of the library's own.
 */
#include "base/thread.h"

#include <muster/error.h>
#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failure = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failure == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}
