/* SPDX-License-Identifier: MIT
 *
 * Prints a task and finishes it once it is written. This runs in the worker's loop: waiting for a slow reader would
 * delay the heartbeats, and the worker would lose its registration. So it waits for a short time only, then gives the
 * task back to the front of its queue, where this or another worker takes it again.
 */
#include <muster/job.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "out.h"
#include "work_print.h"

static bool can_write(int patience_ms)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, patience_ms) > 0;
}

static void print_json(struct muster_process *p, const void *task, size_t len)
{
    static const struct out_column columns[] = {
        {NULL, "process", OUT_TEXT}, {NULL, "queue", OUT_TEXT}, {NULL, "job", OUT_TEXT},
        {NULL, "task", OUT_BYTES},   {NULL, NULL, OUT_TEXT},
    };
    const struct muster_job *job = muster_process_job(p);
    const struct out_cell cells[] = {
        {.text = muster_process_id(p)},
        {.text = muster_process_queue(p)},
        {.text = job ? job->id : NULL},
        {.text = task, .len = len},
    };
    out_json(columns, cells);
}

enum muster_outcome work_print_task(struct muster_process *p, void *arg)
{
    const struct printer *printer = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    if (!can_write(printer->patience_ms))
        return MUSTER_GIVE_BACK;
    if (printer->json) {
        print_json(p, task, len);
    } else {
        out_bytes(task, len);
        out_bytes("\n", 1);
    }
    if (out_flush() == 0)
        return MUSTER_FINISH;
    muster_worker_stop(muster_process_worker(p), 0);
    return MUSTER_GIVE_BACK;
}
