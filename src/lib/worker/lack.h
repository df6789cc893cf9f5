/* SPDX-License-Identifier: MIT
 *
 * What the system lacks for a command: see lack.c.
 */
#ifndef LACK_H
#define LACK_H

#include <stdbool.h>

struct event;
struct muster_worker;
struct served;

struct lack {
    struct event *pause;
    bool is_on;    /* the pause: nothing begins, and nothing is taken */
    bool was_told; /* and no command has begun since */
};

int lack_new(struct muster_worker *w);
void lack_free(struct muster_worker *w);
/* The worker has stopped. */
void lack_stop(struct muster_worker *w);

/* A command of this queue could not begin; `text` says what the system lacks. */
void lack_begin(struct muster_worker *w, const struct served *s, const char *text);
bool lack_is_on(const struct muster_worker *w);
/* A command has begun, as far as anybody knows. True: something was lacking before that. */
bool lack_is_over(struct muster_worker *w);
/* It has not: it lacked something itself, when it was to become its program. */
void lack_goes_on(struct muster_worker *w);

#endif
