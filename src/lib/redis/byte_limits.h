/* SPDX-License-Identifier: MIT
 *
 * Above how many bytes a Redis closes a connection. Whoever may not ask cannot know.
 */
#ifndef BYTE_LIMITS_H
#define BYTE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/reply.h"

struct redis;

/* It was not asked, or has not answered; it does not say; it has answered. */
enum byte_limits_how { BYTE_LIMITS_UNASKED, BYTE_LIMITS_SECRET, BYTE_LIMITS_KNOWN };

/* Begin with 0. */
struct byte_limits {
    enum byte_limits_how how;
    uint64_t request, query, answer; /* 0: there is none; `query`: of client-query-buffer-limit alone */
    uint64_t answer_hard;            /* that which knows no time; 0: there is none */
};

void byte_limits_ask(struct command *c);
/* NULL: the connection broke. */
void byte_limits_hear(struct byte_limits *b, const struct redisReply *reply);
/* Both at once. A refusal is an answer: an error means that none came. */
int byte_limits_call(struct byte_limits *b, struct redis *r);

/* Can they be why a connection ended at so many bytes? What does not say is believed to have them. */
enum byte_limits_way { BYTE_LIMITS_REQUEST, BYTE_LIMITS_ANSWER };
bool byte_limits_may_end(const struct byte_limits *b, enum byte_limits_way way, uint64_t n_bytes);
/* Is it certain that an answer of so many bytes ends it? */
bool byte_limits_must_end(const struct byte_limits *b, uint64_t n_bytes);

#endif
