/* SPDX-License-Identifier: MIT
 *
 * How much is asked for in one look, on a Redis that may not send more: see heads_room.c.
 */
#ifndef HEADS_ROOM_H
#define HEADS_ROOM_H

#include "client/client.h"

/* A look has returned `err`. Is it over; or is the same to be asked for once more; or less than `room`, which was asked for?
 * Then redis_answer_limits() has the limits. */
enum heads_end { HEADS_OVER, HEADS_SAME, HEADS_LESS };
enum heads_end heads_room_end(struct muster_client *c, int err, size_t room);

/* A look was answered: the next one has twice the room, unless the limit is known; with `most` it is as much as it may. */
void heads_room_answered(struct muster_client *c, size_t *room, size_t most);

#endif
