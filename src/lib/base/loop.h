/* SPDX-License-Identifier: MIT
 *
 * A loop of the library's own.
 */
#ifndef LOOP_H
#define LOOP_H

#include <stddef.h>

struct event_base;

/* Make one, with room for what is usual; NULL: there is no memory for it, or there are no descriptors. */
struct event_base *loop_new(void);

/* So many more timers can be set from now on without memory of that moment, as far as nobody else takes the room: one that
 * was not would never come. MUSTER_OK or E_NOMEM. */
int loop_keep_room(struct event_base *base, size_t n_timers);

#endif
