/* SPDX-License-Identifier: MIT
 *
 * How far a wire has come: what ends a wait. Bytes that were sent count when they have left: the kernel holds megabytes of
 * them, and takes none more for a long time while they cross a slow line.
 */
#ifndef WIRE_PROGRESS_H
#define WIRE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Begin with 0. */
struct wire_progress {
    unsigned marks;
    size_t moved; /* bytes, since the last mark */
    size_t sent_bytes, received_bytes;
    size_t begun;   /* received since the last whole reply */
    size_t replied; /* received for that, and with it */
    size_t held;    /* by the kernel, of what was sent: when it was last asked, and all since */
    size_t unasked; /* sent since it was asked */
};

/* The wire has come further; so it has by a whole reply, and what moved before that counts no more. `is_last`: nothing else
 * is unanswered, so all that was sent has left. */
void wire_progress_mark(struct wire_progress *p);
void wire_progress_replied(struct wire_progress *p, bool is_last);
void wire_progress_received(struct wire_progress *p, size_t n);
/* The kernel has taken so much. */
void wire_progress_sent(struct wire_progress *p, int fd, size_t n);
/* Ask the kernel what has left. */
void wire_progress_look(struct wire_progress *p, int fd);

#endif
