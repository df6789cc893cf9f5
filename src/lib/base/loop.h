/* SPDX-License-Identifier: MIT
 *
 * A loop of the library's own.
 */
#ifndef LOOP_H
#define LOOP_H

struct event_base;

/* Make one; NULL: there is no memory for it, or there are no descriptors. */
struct event_base *loop_new(void);

#endif
