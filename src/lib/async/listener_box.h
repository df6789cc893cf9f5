/* SPDX-License-Identifier: MIT
 *
 * What was heard, on its way to the program.
 */
#ifndef LISTENER_BOX_H
#define LISTENER_BOX_H

#include <muster/listen.h>
#include <pthread.h>
#include <stdbool.h>

struct listener_item;

struct listener_box {
    pthread_mutex_t lock;
    struct listener_item *first, **end;
    size_t n, bytes, max_n, max_bytes;
    bool is_over; /* something did not fit, and there is no room again yet */
    int fd;       /* readable while there is something */

    struct listener_item *handed; /* lent to the program, by the thread that takes */
};

int listener_box_init(struct listener_box *b);
void listener_box_clear(struct listener_box *b);

enum listener_room { LISTENER_IF_IT_FITS, LISTENER_ALWAYS };

/* A copy of it, with all that it points to. False: it did not fit, or there was no memory. */
bool listener_box_put(struct listener_box *b, const struct muster_heard *heard, enum listener_room room);

/* Is there room again, or was there always? */
bool listener_box_has_room(struct listener_box *b);

#endif
