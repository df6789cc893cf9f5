/* SPDX-License-Identifier: MIT
 *
 * What the system lacks for a command: see lack.c.
 */
#ifndef LACK_H
#define LACK_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct muster_worker;
struct served;

struct lack {
    struct event *pause;
    bool is_on;             /* the pause: nothing begins, and nothing is taken */
    int64_t quiet_until_ms; /* a lack that comes before belongs to one that was told */
};

int lack_new(struct muster_worker *w);
void lack_free(struct muster_worker *w);
/* The worker has stopped. */
void lack_stop(struct muster_worker *w);

/* A command of this queue could not begin; `text` says what the system lacks. */
void lack_begin(struct muster_worker *w, const struct served *s, const char *text);
bool lack_is_on(const struct muster_worker *w);

#endif
