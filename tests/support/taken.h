/* SPDX-License-Identifier: MIT
 *
 * Processes that were taken under a lease, or listed, kept so that a test can look at them and end them.
 */
#ifndef TAKEN_H
#define TAKEN_H

#include "protocol/process_name.h"
#include "scene.h"

#define TAKEN_MAX 16

struct taken {
    size_t n;
    struct taken_row {
        char id[PROCESS_ID_MAX], worker[MUSTER_WORKER_ID_MAX + 1], progress[32], task[32];
        size_t len; /* of the task, whatever is kept of it */
        uint64_t token;
        int64_t started_at_ms, ends_at_ms;
        int cancelled;
    } rows[TAKEN_MAX]; /* the first of the n */
};

/* A muster_process_row_fn; `arg` is the struct taken. */
int taken_add(const struct muster_process_info *p, void *arg);

/* Take up to n with the scene's client, without waiting. The answer's error is the return value. */
int take_n(struct scene *s, const char *queue, size_t n, int64_t lease_ms, struct taken *out);

/* Take one for an hour; it must be this task. Returns its id, which stays valid for seven more calls. */
const char *take_one(struct scene *s, const char *queue, const char *task);

/* This text is what waits in the queue, the next out first, each followed by a blank. */
void assert_queue_holds(struct scene *s, const char *queue, const char *tasks);

/* The queue's row of the list of queues; all zero if it is not there. The name is NULL. */
struct muster_queue_info queue_row_of(struct scene *s, const char *queue);

/* Wait until Redis' clock has passed this time. */
void await_server_ms(struct scene *s, int64_t at_ms);
int64_t server_now_ms(struct scene *s);

#endif
