/* SPDX-License-Identifier: MIT
 *
 * A run: neighbours for one queue that are enqueued in one call, all or none. It has at most SCRIPT_ENQUEUE_TASKS tasks
 * and SCRIPT_ENQUEUE_BYTES bytes, or one larger task alone.
 */
#ifndef ENQUEUE_RUN_H
#define ENQUEUE_RUN_H

#include "protocol/script_task.h"

/* Begin with n and bytes 0. The queue and the bytes are borrowed until the call is sent. */
struct enqueue_run {
    const char *queue;
    size_t n, bytes;
    struct muster_bytes tasks[SCRIPT_ENQUEUE_TASKS];
};

/* False: the task does not go with these; it begins the next run. The first one always goes. */
bool enqueue_run_add(struct enqueue_run *run, const char *queue, struct muster_bytes task);
void enqueue_run_say(struct command *c, const struct script_root *root, const struct enqueue_run *run);

/* How many wait, to tell with one task of the run, behind which there are `behind` others: `waiting` is the answer, and
 * these were added after it. */
uint64_t enqueue_run_waiting(uint64_t waiting, uint64_t behind);

#endif
