/* SPDX-License-Identifier: MIT
 *
 * What a wire has read: bytes go in, replies come out, within the bounds of a guard.
 */
#ifndef WIRE_IN_H
#define WIRE_IN_H

#include "redis/guard.h"
#include "redis/reply.h"

struct wire_in {
    redisReader *reader;
    struct guard guard;
    size_t held_most; /* by the reader */
    bool was_pushed;  /* the last reply */
    int err;          /* no further reply comes out */
    char why[192];
};

int wire_in_init(struct wire_in *in);
void wire_in_clear(struct wire_in *in);

/* How many bytes of the next reply it holds. */
size_t wire_in_held(const struct wire_in *in);
int wire_in_feed(struct wire_in *in, const char *data, size_t n);
/* The next reply, or NULL if none is whole. An error is final, and `why` has words. */
int wire_in_next(struct wire_in *in, struct redisReply **reply);

#endif
