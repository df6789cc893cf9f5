/* SPDX-License-Identifier: MIT
 *
 * Puts together what goes in one call of enqueue.
 */
#include "protocol/enqueue_run.h"

#include <string.h>

bool enqueue_run_add(struct enqueue_run *run, const char *queue, struct muster_bytes task)
{
    if (run->n > 0 && (run->n == SCRIPT_ENQUEUE_TASKS || run->bytes + task.len > SCRIPT_ENQUEUE_BYTES ||
                       strcmp(queue, run->queue) != 0))
        return false;
    run->queue = queue;
    run->bytes += task.len;
    run->tasks[run->n++] = task;
    return true;
}

void enqueue_run_say(struct command *c, const struct script_root *root, const struct enqueue_run *run)
{
    script_enqueue(
        c, root,
        &(struct script_enqueue){.queue = run->queue, .chunk = 1, .of = run->n, .tasks = run->tasks, .n = run->n});
}

uint64_t enqueue_run_waiting(uint64_t waiting, uint64_t behind)
{
    return waiting > behind ? waiting - behind : 0;
}
