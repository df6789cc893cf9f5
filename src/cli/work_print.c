/* SPDX-License-Identifier: MIT
 *
 * Prints a task and finishes it once it is written. This runs on threads of the worker, one for each hand: a reader that
 * does not read must hold up neither its loop, whose heartbeats are its registration, nor its end.
 *
 * A task of which the reader takes nothing for a while goes back to the front of its queue, where this or another worker
 * takes it again. Of one that is printed in part the rest follows, however long that takes: half of it is nobody's task.
 * Only when it is to stop, or the worker is, and nobody reads, it is left there and goes back, which is told at the end.
 */
#include "work_print.h"

#include <muster/job.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "need.h"
#include "out.h"

static char *json_line(struct muster_process *p, const void *task, size_t len)
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
    return out_json_line(columns, cells);
}

/* With its line feed. */
static char *line_of(struct muster_process *p, bool is_json, size_t *n)
{
    size_t len;
    const void *task = muster_process_task(p, &len);
    if (is_json) {
        char *line = json_line(p, task, len);
        *n = strlen(line);
        return line;
    }
    char *shown = out_shown(task, len, n);
    shown = need(realloc(shown, *n + 1));
    shown[(*n)++] = '\n';
    return shown;
}

/* How often the reader of a part of a line is waited for at a stop. */
#define WAITS_AT_STOP 4

static bool is_to_stop(const struct printer *printer, struct muster_process *p)
{
    enum muster_stop_reason reason = muster_process_stop_reason(p);
    return atomic_load(printer->stops_asked) || (reason != MUSTER_GO_ON && reason != MUSTER_STOP_MOVE);
}

/* Returns how much of it was written; less than all: it goes back. */
static size_t write_line(const struct printer *printer, struct muster_process *p, const char *line, size_t len)
{
    size_t done = 0, n = 0;
    int waits = 0;
    while (done < len && out_some(line + done, len - done, printer->patience_ms, &n) == 0) {
        waits = n == 0 && is_to_stop(printer, p) ? waits + 1 : 0;
        if (n == 0 && (done == 0 || waits == WAITS_AT_STOP))
            break;
        done += n;
    }
    return done;
}

/* What comes behind a part of a line begins another one. */
static bool end_torn_line(struct printer *printer)
{
    size_t n;
    if (printer->is_torn && out_some("\n", 1, printer->patience_ms, &n) == 0)
        printer->is_torn = n == 0;
    return !printer->is_torn;
}

/* No other one prints. */
static bool print(struct printer *printer, struct muster_process *p)
{
    size_t len;
    char *line = line_of(p, printer->json, &len);
    size_t done = end_torn_line(printer) ? write_line(printer, p, line, len) : 0;
    free(line);
    if (done == len)
        return true;
    printer->is_torn |= done > 0;
    printer->n_torn += done > 0 && out_error() == 0;
    if (out_error())
        muster_worker_stop(muster_process_worker(p), 0);
    return false;
}

static struct timespec after_ms(int ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* Waits until no other one prints; false: that takes too long. */
static bool begin(struct printer *printer)
{
    const struct timespec until = after_ms(printer->patience_ms);
    int err = 0;
    pthread_mutex_lock(&printer->lock);
    while (printer->is_printing && err == 0)
        err = pthread_cond_timedwait(&printer->is_free, &printer->lock, &until);
    bool is_mine = !printer->is_printing;
    printer->is_printing = true;
    pthread_mutex_unlock(&printer->lock);
    return is_mine;
}

static void end(struct printer *printer)
{
    pthread_mutex_lock(&printer->lock);
    printer->is_printing = false;
    pthread_cond_signal(&printer->is_free);
    pthread_mutex_unlock(&printer->lock);
}

enum muster_outcome work_print_task(struct muster_process *p, void *arg)
{
    struct printer *printer = arg;
    if (!begin(printer))
        return MUSTER_GIVE_BACK;
    bool is_printed = print(printer, p);
    end(printer);
    return is_printed ? MUSTER_FINISH : MUSTER_GIVE_BACK;
}

void work_print_init(struct printer *printer, bool is_json, int patience_ms, const atomic_int *stops_asked)
{
    pthread_condattr_t monotonic;
    *printer = (struct printer){.json = is_json, .patience_ms = patience_ms, .stops_asked = stops_asked};
    pthread_mutex_init(&printer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&printer->is_free, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
