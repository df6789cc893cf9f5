/* SPDX-License-Identifier: MIT
 *
 * Listening to the queue "q". Once listening has begun, a test does with another client what should be heard, and then
 * finishes a task with a name of its own, which is the end. What was heard until then is compared with what was
 * expected.
 */
#ifndef LISTENING_H
#define LISTENING_H

#include <stdio.h>

#include "scene.h"

/*
 *   act      run when it has begun; NULL: nothing
 *   wait_ms  0: long enough
 *   why      the client's error afterwards
 *   heard    a line for each event; n of them. Bytes that do not print are shown as \xx
 */
struct listening {
    struct scene *scene;
    void (*act)(struct listening *l);
    int64_t wait_ms;
    FILE *out;
    char *heard;
    size_t heard_len, n;
    bool has_begun;
    char why[256];
};

#define LISTENING_END "the end"

/* Listen with this client, which is freed. `l->heard` is to be freed. */
int listen_with(struct muster_client *c, struct listening *l);

/* Listen with a client of the scene's: it ends well, and this was heard. */
void assert_heard(struct scene *s, void (*act)(struct listening *l), const char *expected);

/* Enqueue the task, take it, and finish it with the result, NULL for none. */
void finish_with(struct scene *s, const char *task, const struct muster_bytes *result);

/* The last act. */
void say_the_end(struct listening *l);

#endif
