/* SPDX-License-Identifier: MIT
 *
 * The answers to asynchronous calls, in the order in which they came.
 */
#ifndef ANSWERS_H
#define ANSWERS_H

#include <muster/async.h>

#include "scene.h"

#define ANSWERS_MAX 64
#define ANSWERS_TEXT 512

struct answer_row {
    int err;
    uint64_t waiting;
    void *arg;
    char text[ANSWERS_TEXT];
};

/* The first of the n, and the last one. `counts`: how many had each error, as counts[-err]. */
struct answers {
    struct muster_async *async;
    size_t n;
    size_t counts[64];
    struct answer_row rows[ANSWERS_MAX], last;
};

/* A client of the scene's namespace; the options may be NULL. `url` NULL: the scene's server. answers_close() frees it. */
void answers_open(struct answers *as, struct scene *s, const char *url, int timeout_ms,
                  const struct muster_async_options *o);
void answers_close(struct answers *as);

/* Enqueue a text; its answer has the arg. */
void answers_enqueue(struct answers *as, const char *queue, const char *task, void *arg);

/* Take answers by muster_async_dispatch(), as the descriptor tells, until there are n in all. */
void answers_await(struct answers *as, size_t n);

/* The fn of all calls whose answers are to be noted. They go to the one that is open. */
void answers_fn(const struct muster_answer *answer, void *arg);

#endif
