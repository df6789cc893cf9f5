/* SPDX-License-Identifier: MIT
 *
 * Is the master still where we are? A Sentinel that replaces a master which lives lets it go on as a master for up to ten
 * seconds. Whoever writes is refused after that, and has lost what was not confirmed; whoever only listens hears nothing
 * of what happens at the new master meanwhile. So a listener asks a sentinel again and again. Only the decision: a lookout
 * or a blocking listener carries it out.
 *
 *   a sentinel names another master than it did before, and we are not there  we go there at once
 *   a sentinel has named another one than ours for a while                    it may be cut off, and be wrong for good: so the
 *                                                                             next one is asked. If that does not name ours
 *                                                                             either, we go where it says
 *
 * A little while after a failover some sentinels still name the old master. So what another sentinel says than the one that
 * was asked before is no news, and sends nobody back at once.
 */
#ifndef MASTER_H
#define MASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/place.h"
#include "redis/reply.h"

/* A sentinel is asked so often, and has so much time. */
#define MASTER_ASK_MS 1000
#define MASTER_PATIENCE_MS 1000
/* The longest of what master_say() says. */
#define MASTER_WHY_MAX (PLACE_HOST_MAX + 120)

/* Zero: nobody was asked yet. */
struct master {
    struct place_node named; /* by the last answer */
    size_t sentinel;         /* which of the URL's it was from */
    int64_t agreed_ms;       /* when the last question was asked to which the answer was where we are; 0: none was */
    int64_t differs_ms;      /* since then answers have named another place; 0: the last one did not */
    bool has_doubted;        /* the same: one that has said so was left for the next one */
};

/* MASTER_ASKS_ANOTHER: the sentinel is left for the next one. */
enum master_verdict { MASTER_STAYS, MASTER_ASKS_ANOTHER, MASTER_LEAVES };

/* The question. */
void master_ask(struct command *c, const struct url *url);
/* The answer of the sentinel at `place`, which leads to the master then. False: it does not know one. */
bool master_read(struct place *place, const struct redisReply *reply);
/* What follows from an answer, which led the sentinel's place to `named`. `is_there`: we are there, or nowhere. */
enum master_verdict master_judge(struct master *m, const struct place *named, bool is_there, int64_t asked_ms,
                                 int64_t now_ms);
/* Why the old one is left. */
void master_say(const struct master *m, int64_t now_ms, char *out, size_t size);

#endif
