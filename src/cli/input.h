/* SPDX-License-Identifier: MIT
 *
 * Standard input as tasks: what one read brings is split into the tasks that are complete, so memory stays bounded by
 * the longest task, and a slow producer's tasks do not wait for each other.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <muster/client.h>
#include <stdbool.h>

#define INPUT_WHOLE (-1)

enum input_state {
    INPUT_MORE,
    INPUT_END,     /* these tasks are the last */
    INPUT_FAILED,  /* errno says why */
    INPUT_TOO_LONG /* the task behind these ones is over MUSTER_TASK_MAX_DEFAULT */
};

/*
 *   delimiter  ends each task, the last one may lack it; INPUT_WHOLE: all of the input is one task
 *   at_once    the first input_next() reads all there is
 *
 * The rest is input.c's, and `tasks`, `n` for the caller to look at until the next call; all zero in the beginning.
 */
struct input {
    int delimiter;
    bool at_once;
    struct muster_bytes *tasks;
    size_t n, n_max;
    char *data;
    size_t len, size; /* bytes read and not given out, and the room for them */
    size_t given;     /* bytes that the current tasks are made of */
    size_t tail;      /* where the task begins whose end was not seen yet */
    bool ended;
};

enum input_state input_next(struct input *in);
void input_clear(struct input *in);

#endif
