/* SPDX-License-Identifier: MIT
 *
 * What a handle with a thread of the library's own needs: words for its callers, and the law of fork().
 */
#ifndef ASYNC_THREAD_H
#define ASYNC_THREAD_H

#include <muster/client.h>
#include <stdint.h>

/* MUSTER_OK, or E_STATE: this process is a child of the one that has made the handle, and has no such thread. */
int async_thread_check(uint64_t owner);

/* Returns `err`, and keeps the words for muster_async_error() and its like, on this thread. */
int async_thread_refuse(int err, const char *why);
const char *async_thread_refusal(void);

/* MUSTER_OK, or the error, with words. */
int async_thread_check_queue(const char *queue);

#endif
