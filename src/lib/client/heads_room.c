/* SPDX-License-Identifier: MIT
 *
 * A Redis that does not send an answer for its size closes the connection without a word, and connections end for other
 * reasons, too. So after one end the same is asked for again, and less only if that ends, too. Each answer that comes makes
 * room for more again, unless Redis has said that its limit is below that.
 */
#include "client/heads_room.h"

#include "redis/byte_limits.h"

enum heads_end heads_room_end(struct muster_client *c, int err, size_t room)
{
    const struct byte_limits *limits = err == MUSTER_E_CONN ? redis_answer_limits(c->redis) : NULL;
    if (!limits)
        return HEADS_OVER;
    const bool is_first = !c->heads.has_ended;
    c->heads.has_ended = true;
    if (is_first)
        return HEADS_SAME;
    c->heads.is_known = limits->answer > 0 && limits->answer / 2 < room;
    return HEADS_LESS;
}

void heads_room_answered(struct muster_client *c, size_t *room, size_t most)
{
    c->heads.has_ended = false;
    if (!c->heads.is_known)
        *room = *room * 2 < most ? *room * 2 : 0;
}
