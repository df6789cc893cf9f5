/* SPDX-License-Identifier: MIT
 *
 * A caller that waits listens on the queue's channel `_work`. So the order is: subscribe, then take, then sleep; the
 * take sees what came in between. A message that got lost, or a task that came without one, costs at most
 * WAITING_RENEW_MS: the script must be told that often anyway that somebody listens.
 *
 * Callers that wait take turns (include takers): a message names those for whom there is work. Who is named takes at
 * once. Who is not looks somewhat later, by plain commands, for one that was named may have died. A message without
 * names, which a foreign program publishes, or which says that something is due sooner, wakes all: then who came too
 * late looks a random moment later the next time, so that one of them takes, and the others see that nothing is left.
 */
#include "client/vigil.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/waiting.h"
#include "protocol/waiting_times.h"

/* Looks are at least this far apart, but for those that a message asks for by name: a foreign program's messages must
 * not make a tight loop. */
/* One look serves at most this many messages: a flood on the channel must not keep a waiting caller from looking. */
#define DRAIN_MAX 1000

enum heard { HEARD_NOTHING, HEARD_OTHERS, HEARD_ALL, HEARD_OWN_NAME, HEARD_BREAK, HEARD_INTERRUPT };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int vigil_listen(struct vigil *v)
{
    char channel[CHANNEL_MAX];
    if (v->listener)
        return MUSTER_OK;
    key_channel(channel, v->client->root.channels, v->queue, CHANNEL_WORK);
    return redis_listen(&v->listener, v->client->redis, (const char *const[]){channel}, 1);
}

void vigil_end(struct vigil *v)
{
    redis_free(v->listener);
}

static enum heard names_whom(struct muster_client *c, struct muster_bytes message)
{
    static const enum heard heard[] = {
        [TAKE_CALLS_OTHERS] = HEARD_OTHERS, [TAKE_CALLS_ALL] = HEARD_ALL, [TAKE_CALLS_THIS_ONE] = HEARD_OWN_NAME};
    return heard[take_name_called(message, unheard_caller(c))];
}

/* Of several messages the one that asks for most counts. If the connection broke, one may be lost: then the caller must
 * take, and listen on a new one. */
static enum heard hear(struct vigil *v, int64_t ms)
{
    enum heard most = HEARD_NOTHING;
    struct redisReply *message;
    int err = redis_hear(v->listener, ms, &message);
    for (int i = 0; err == MUSTER_OK; i++) {
        enum heard one = names_whom(v->client, reply_bytes(reply_at(message, 2)));
        most = one > most ? one : most;
        redis_reply_free(message);
        if (i == DRAIN_MAX)
            return most;
        err = redis_hear(v->listener, 0, &message);
    }
    if (err == MUSTER_E_TIMEOUT)
        return most;
    redis_free(v->listener);
    v->listener = NULL;
    return err == MUSTER_E_INTERRUPTED ? HEARD_INTERRUPT : HEARD_BREAK;
}

/* When to look because of what was heard. */
static int64_t look_at(struct vigil *v, enum heard heard)
{
    int64_t ms = clock_in_ms(waiting_times_look_in(heard == HEARD_OTHERS, v->stagger_ms));
    return ms > v->looked_at_ms + WAITING_LOOK_APART_MS ? ms : v->looked_at_ms + WAITING_LOOK_APART_MS;
}

/* A message may also mean that something is due sooner. What comes after the look has a message of its own. Returns
 * MUSTER_OK, or E_INTERRUPTED; what else is wrong the take will tell. */
static int look(struct vigil *v, int64_t *due_ms, bool *is_worth_a_take)
{
    uint64_t waiting;
    int64_t next_due_ms;
    int err = waiting_look(v->client, v->queue, &waiting, &next_due_ms);
    v->looked_at_ms = clock_ms();
    v->stagger_ms = waiting_times_stagger(v->stagger_ms);
    *due_ms = next_due_ms >= 0 ? clock_in_ms(next_due_ms) : CLOCK_NEVER;
    *is_worth_a_take = err != MUSTER_OK || waiting > 0 || next_due_ms == 0;
    return err == MUSTER_E_INTERRUPTED ? err : MUSTER_OK;
}

/* Until when, however much others keep on publishing, no take may follow the last one. */
static void keep_apart(const struct vigil *v, int64_t since_ms)
{
    int64_t ms = since_ms + WAITING_LOOK_APART_MS - clock_ms();
    if (ms > 0)
        redis_sleep(v->client->redis, (int)ms);
}

int vigil_sleep(struct vigil *v, int64_t next_due_ms, int64_t ms)
{
    const int64_t began_at_ms = clock_ms(), end_ms = clock_in_ms(least(ms, WAITING_RENEW_MS));
    int64_t due_ms = next_due_ms >= 0 ? clock_in_ms(next_due_ms) : CLOCK_NEVER, look_ms = CLOCK_NEVER;
    v->looked_at_ms = began_at_ms;
    for (;;) {
        const int64_t until_ms = least(end_ms, least(due_ms, look_ms)), left_ms = until_ms - clock_ms();
        enum heard heard = left_ms > 0 ? hear(v, left_ms) : HEARD_NOTHING;
        if (heard == HEARD_INTERRUPT)
            return MUSTER_E_INTERRUPTED;
        if (heard == HEARD_OWN_NAME)
            return MUSTER_OK;
        if (heard == HEARD_OTHERS || heard == HEARD_ALL)
            look_ms = least(look_ms, look_at(v, heard));
        if (heard == HEARD_BREAK || (clock_ms() >= until_ms && until_ms != look_ms))
            break;
        if (clock_ms() < until_ms)
            continue;
        bool is_worth_a_take;
        int err = look(v, &due_ms, &is_worth_a_take);
        if (err != MUSTER_OK)
            return err;
        if (is_worth_a_take)
            break;
        look_ms = CLOCK_NEVER;
    }
    keep_apart(v, began_at_ms);
    return MUSTER_OK;
}
