/* SPDX-License-Identifier: MIT
 *
 * The log of `muster work` on standard error, or in a file: a line for each event, and for each task that ends.
 */
#ifndef CLI_WORK_LOG_H
#define CLI_WORK_LOG_H

#include <muster/worker.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"

/* X(form, name): what --log can name. */
#define WORK_LOG_FORMS(X)                                                           \
    X(WORK_LOG_FAILURES, "failures") /* events, and tasks that fail; plain lines */ \
    X(WORK_LOG_TEXT, "text")         /* all, with time and level */                 \
    X(WORK_LOG_JSON, "json")         /* all, as JSON */                             \
    X(WORK_LOG_NONE, "none")         /* only why the worker ends */

enum work_log_form {
#define WORK_LOG_ENUM(form, name) form,
    WORK_LOG_FORMS(WORK_LOG_ENUM)
#undef WORK_LOG_ENUM
};

/* A `check` for --log. */
const char *work_log_check(const char *name);

struct work_log {
    const struct call *call;
    enum work_log_form form;
    int fd;            /* standard error, or --log-file */
    int patience_ms;   /* how long a line may wait for a slow reader: the heartbeat waits as long */
    uint64_t left_out; /* lines that nobody read in time, or that could not be written, and that were not told yet */
    bool is_file;      /* of --log-file */
    bool is_torn;      /* the last of them was written in part */
};

/* `log` must live until work_log_end(). From now on the library's own lines, and complaints of this thread, take its form,
 * too, and its place: `file`, NULL: standard error. Those of other threads go to standard error, and wait for nobody.
 * Returns the exit code. */
int work_log_begin(struct work_log *log, const struct call *call, const char *form, const char *file, int patience_ms);
void work_log_end(struct work_log *log);

/*
 * What a line tells. A text that is NULL and a number below 0 is unknown, or does not apply.
 *
 *   what     the event, or "ended"
 *   message  in words, without the worker and the process
 */
struct work_line {
    enum muster_log_level level;
    const char *worker, *what, *queue, *process, *job, *outcome, *group, *error, *message;
    int64_t waited_ms, ran_ms;
};
void work_log_write(struct work_log *log, const struct work_line *line);

/* A task has ended: the callback of a worker's option `on_end` calls it. */
void work_log_task(struct work_log *log, struct muster_worker *w, const struct muster_end *end);

#endif
