/* SPDX-License-Identifier: MIT
 *
 * The handler of `muster work` without a COMMAND.
 */
#ifndef CLI_WORK_PRINT_H
#define CLI_WORK_PRINT_H

#include <muster/worker.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 *   json         print an object for each task instead of its bytes
 *   patience_ms  how long it waits for a slow reader before the task goes back
 *   stops_asked  non-zero: the worker is to stop
 *   is_printing  one line at a time. Who prints has what follows
 *   is_torn      a part of a line is printed, and the rest will not follow
 *   n_torn       how many tasks that were printed in part have gone back
 */
struct printer {
    bool json;
    int patience_ms;
    const atomic_int *stops_asked;
    pthread_mutex_t lock;
    pthread_cond_t is_free;
    bool is_printing;
    bool is_torn;
    unsigned n_torn;
};

void work_print_init(struct printer *printer, bool is_json, int patience_ms, const atomic_int *stops_asked);

/* Is a muster_handler_fn, for threads of the worker's; `arg` is a struct printer. */
enum muster_outcome work_print_task(struct muster_process *p, void *arg);

#endif
