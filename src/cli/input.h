/* SPDX-License-Identifier: MIT
 *
 * Standard input as tasks. Each read is split into the tasks that are complete. So memory stays bounded by the longest
 * task, and the tasks of a slow producer do not wait for each other.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <muster/client.h>
#include <stdbool.h>
#include <stdint.h>

#define INPUT_WHOLE (-1)

enum input_state {
    INPUT_MORE,
    INPUT_END,     /* these tasks are the last */
    INPUT_FAILED,  /* errno says why: EINTR if the verb was interrupted */
    INPUT_TOO_LONG /* the task after these is longer than MUSTER_TASK_MAX_DEFAULT */
};

/*
 *   delimiter  ends each task, except perhaps the last; INPUT_WHOLE: all of the input is one task
 *   at_once    the first input_next() reads all of the input
 *   tasks, n   the tasks of the last call, valid until the next one
 *
 * The rest belongs to input.c. All but the first two are zero at the beginning.
 */
struct input {
    int delimiter;
    bool at_once;
    struct muster_bytes *tasks;
    size_t n, n_max;
    char *data;
    size_t len, size; /* bytes that were read and not handed out yet, and the room for them */
    size_t given;     /* bytes of the current tasks */
    size_t tail;      /* where the incomplete task begins */
    bool ended;
    uint64_t n_read; /* bytes, in all */
};

/* Which part of the input was read, from 0 to 1; below 0: nobody knows how long it is. */
double input_part(const struct input *in);

/* Read on, and set `tasks` and `n` to the next tasks. */
enum input_state input_next(struct input *in);

/* Free what input_next() allocated. */
void input_clear(struct input *in);

#endif
