/* SPDX-License-Identifier: MIT
 *
 * Where a Sentinel names the master, a listener asks one every second, over a connection of its own, made when a second
 * of hearing is over. It may cost the hearing MASTER_PATIENCE_MS; what comes meanwhile waits in the socket.
 */
#include "base/clock.h"
#include "redis/master.h"
#include "redis/redis_private.h"

/* So long nobody is asked again when none could be reached: reaching for them costs the hearing its patience, too. */
#define AGAIN_MS 3000

/* Without a sentinel nothing is known: the next one is asked next time. */
static int reach(struct redis *r)
{
    if (r->sentinel)
        return MUSTER_OK;
    const int timeout_ms = r->timeout_ms < MASTER_PATIENCE_MS ? r->timeout_ms : MASTER_PATIENCE_MS;
    int err = redis_new(&r->sentinel, &(struct redis_options){.url = &r->url,
                                                              .stays_at_sentinel = true,
                                                              .timeout_ms = timeout_ms,
                                                              .prefix = "",
                                                              .root_key = "",
                                                              .format_key = ""});
    if (err == MUSTER_OK)
        r->sentinel->interrupt = r->interrupt;
    return err;
}

static bool is_at(const struct redis *r, const struct place *named)
{
    return !r->wire || place_is_same(&r->place, named);
}

/* Both connections leave: what was told over one is of use only where the other one hears. */
static int leave_for(struct redis *listener, const struct place_node *node)
{
    struct redis *r = listener->listens_for;
    char why[MASTER_WHY_MAX];
    master_say(&listener->master, clock_ms(), why, sizeof why);
    int err = redis_break(listener, MUSTER_E_CONN, why);
    if (!r->asked)
        redis_leave(r);
    if (!r->wire)
        place_go_to(&r->place, node);
    return err;
}

void redis_follow_listener(struct redis *listener)
{
    struct redis *r = listener->listens_for;
    if (r->url.kind != URL_SENTINEL || r->asked || is_at(r, &listener->place))
        return;
    redis_leave(r);
    place_go_to(&r->place, &listener->place.node);
}

static void doubt(struct redis *sentinel)
{
    redis_drop(sentinel);
    place_failed(&sentinel->place);
}

static int hear_master(struct redis *listener, const struct redisReply *reply, int64_t asked_ms)
{
    struct place named = listener->sentinel->place;
    if (!master_read(&named, reply)) {
        doubt(listener->sentinel);
        return MUSTER_OK;
    }
    bool is_there = is_at(listener, &named) && is_at(listener->listens_for, &named);
    enum master_verdict verdict = master_judge(&listener->master, &named, is_there, asked_ms, clock_ms());
    if (verdict == MASTER_ASKS_ANOTHER)
        doubt(listener->sentinel);
    return verdict == MASTER_LEAVES ? leave_for(listener, &named.node) : MUSTER_OK;
}

int redis_look_for_master(struct redis *listener)
{
    struct command c = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    const int64_t asked_ms = clock_ms();
    int err = reach(listener);
    if (err == MUSTER_OK) {
        master_ask(&c, &listener->url);
        err = redis_call(listener->sentinel, &c, &reply);
    }
    command_clear(&c);
    listener->master_due_ms = clock_in_ms(err == MUSTER_OK ? MASTER_ASK_MS : AGAIN_MS);
    if (err == MUSTER_E_INTERRUPTED)
        redis_error_set(listener, "%s", redis_error(listener->sentinel));
    else
        err = err == MUSTER_OK ? hear_master(listener, reply, asked_ms) : MUSTER_OK;
    redis_reply_free(reply);
    return err;
}
