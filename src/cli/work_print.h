/* SPDX-License-Identifier: MIT
 *
 * The handler of `muster work` without a command.
 */
#ifndef CLI_WORK_PRINT_H
#define CLI_WORK_PRINT_H

#include <muster/worker.h>
#include <stdbool.h>

/*
 *   json         an object per task instead of its bytes
 *   patience_ms  how long a reader that does not read may keep the worker's loop
 */
struct printer {
    bool json;
    int patience_ms;
};

/* A muster_handler_fn; `arg` is a struct printer. */
enum muster_outcome work_print_task(struct muster_process *p, void *arg);

#endif
