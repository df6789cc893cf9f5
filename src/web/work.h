/* SPDX-License-Identifier: MIT
 *
 * What has to wait for Redis is done by a thread of its own, one thing after the other, from a queue with a bound; then
 * it is finished on the loop.
 */
#ifndef WEB_WORK_H
#define WEB_WORK_H

#include <stdbool.h>

struct event_base;
struct work;

/* `run` is called on the thread, then `done` on the loop, with the same argument. */
typedef void work_fn(void *arg);

struct work *work_new(struct event_base *base);

/* On the loop's thread: what is under way is waited for. `done` is called for all that is left, also for what was never
 * run. */
void work_free(struct work *w);

/* False: too much waits already. */
bool work_post(struct work *w, work_fn *run, work_fn *done, void *arg);

/* From any thread: call `done` on the loop. */
void work_tell(struct work *w, work_fn *done, void *arg);

#endif
