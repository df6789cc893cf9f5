/* SPDX-License-Identifier: MIT
 *
 * What a child prints: see output.c.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/tail.h"

struct muster_worker;
struct output;

enum output_kind {
    OUTPUT_RESULT, /* its beginning is kept; nothing is passed on */
    OUTPUT_MESSAGE /* its end is kept, and all of it goes on to the program's standard error */
};

TAILQ_HEAD(output_list, output);
/* All that are read. */
struct outputs {
    struct output_list list;
    size_t n;
    size_t n_left; /* those of children that have ended */
};

int output_new_list(struct muster_worker *w);

/* A pipe whose other end is `*write_fd`, which the caller closes. `most`: how many bytes of a result are kept. NULL with
 * errno: there can be none; also if that would take the descriptors that others need: children for a message, and the
 * worker for a result, if those that are left of children that have ended have taken too many (EMFILE). */
struct output *output_new(struct muster_worker *w, enum output_kind kind, size_t most, int *write_fd);

/* The child has exited: reads what it has left in the pipe. */
void output_end(struct output *o);

/* A result's bytes, which stay the output's. */
const char *output_result(const struct output *o, size_t *len, bool *is_cut);
/* A message's last lines, "" if there are none. */
void output_words(const struct output *o, char out[TAIL_TEXT_MAX + 1]);

/* The child is not the worker's any more. What it has started may still write: it is read on until that has ended. NULL
 * is allowed. */
void output_let_go(struct output *o);

/* The worker has stopped: reads no more of those that were let go. */
void output_stop(struct muster_worker *w);
void output_free_all(struct muster_worker *w);

#endif
