/* SPDX-License-Identifier: MIT
 *
 * Threads of the library's own.
 */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>

/* Start one with all signals blocked: those are the program's, and one that came here would only interrupt a call.
 * Returns MUSTER_OK or MUSTER_E_NOMEM. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
