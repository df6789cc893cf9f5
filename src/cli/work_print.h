/* SPDX-License-Identifier: MIT
 *
 * The handler of `muster work` without a COMMAND.
 */
#ifndef CLI_WORK_PRINT_H
#define CLI_WORK_PRINT_H

#include <muster/worker.h>
#include <stdbool.h>

/*
 *   json         print an object for each task instead of its bytes
 *   patience_ms  how long a slow reader may hold up the worker's loop
 */
struct printer {
    bool json;
    int patience_ms;
};

/* Is a muster_handler_fn; `arg` is a struct printer. */
enum muster_outcome work_print_task(struct muster_process *p, void *arg);

#endif
