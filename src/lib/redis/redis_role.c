/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: is it still at a master? Who only reads is never refused, and would go on reading at a master
 * that was demoted, whatever the name leads to by now.
 */
#include "base/clock.h"
#include "redis/greeting.h"
#include "redis/redis_private.h"

/* A server that has become a replica is left, as is one that has closed the connection: nothing was sent yet. A replica
 * to which the URL leads will do, for as long as this is not asked again. */
static int look(struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    r->role_due_ms = clock_in_ms(ROLE_LOOK_MS);
    command_text(&c, "HELLO");
    int err = wire_say(r->wire, &c, 1);
    command_clear(&c);
    if (err != MUSTER_OK)
        return redis_break(r, err, "out of memory");
    err = redis_answer(r, &reply);
    bool is_replica = err == MUSTER_OK && greeting_is_replica(reply);
    redis_reply_free(reply);
    if (is_replica)
        redis_leave(r);
    if (is_replica || err == MUSTER_E_TIMEOUT) {
        place_failed(&r->place);
        resolver_note_failure(&r->resolver, r->address); /* another one of the host may be the master's */
    }
    return err == MUSTER_E_CONN ? MUSTER_OK : err;
}

static bool is_role_due(const struct redis *r)
{
    return r->wire && r->is_greeted && !r->asked && !r->borrowed && !r->stays_at_sentinel &&
           r->url.kind != URL_CLUSTER && clock_ms() >= r->role_due_ms;
}

int redis_look_at_role(struct redis *r)
{
    return is_role_due(r) ? look(r) : MUSTER_OK;
}
