/* SPDX-License-Identifier: MIT
 *
 * What has to wait for Redis is done by threads of its own, from a queue with a bound; then it is finished on the loop.
 * There are some threads, so that one long list does not hold up all other requests.
 */
#ifndef WEB_WORK_H
#define WEB_WORK_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct work;

#define WORK_THREADS 4

/* `run` is called on one of the threads, which are numbered from 0, then `done` on the loop, with the same argument. */
typedef void work_run_fn(void *arg, size_t thread);
typedef void work_fn(void *arg);

struct work *work_new(struct event_base *base);

/* On the loop's thread: what is under way is waited for. `done` is called for all that is left, also for what was never
 * run. */
void work_free(struct work *w);

/* False: too much waits already. */
bool work_post(struct work *w, work_run_fn *run, work_fn *done, void *arg);

/* From any thread: call `done` on the loop. */
void work_tell(struct work *w, work_fn *done, void *arg);

#endif
