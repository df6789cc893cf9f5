/* SPDX-License-Identifier: MIT
 *
 * Tidying: the timer's keeper goes through the names of all queues, a hundred in a call, and has removed what nobody
 * needs any more. One worker is enough, and it never sends probes instead of heartbeats. As long as a call removes
 * something the next one follows at once: so queues that come and go do not pile up, however many they are. Otherwise
 * it follows the next heartbeat, until all names were looked at. Every tenth heartbeat a new round begins.
 */
#include "protocol/script_queue.h"
#include "worker/worker.h"

static void tidy(struct muster_worker *w);

static void on_tidied(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_tidied tidied;
    w->tidying.in_flight = false;
    if (!reply)
        return;
    int err = script_tidied(reply, &tidied);
    if (err != MUSTER_OK) {
        tell_refused(w, REQUEST_TIDY, err, reply_text(reply));
        return;
    }
    tell_accepted(w, REQUEST_TIDY);
    w->tidying.is_under_way = tidied.place >= 0;
    w->tidying.place = tidied.place > 0 ? (uint64_t)tidied.place : 0;
    if (tidied.removed > 0 && w->tidying.is_under_way && w->keeper.keeps && connection_can_call(w))
        tidy(w);
}

static void tidy(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    script_tidy(&c, &w->root, w->tidying.place);
    w->tidying.in_flight = link_script(w->connection.data, &c, on_tidied, w) == MUSTER_OK;
    command_clear(&c);
}

void tidy_after_heartbeat(struct muster_worker *w, bool begins)
{
    if (!w->tidying.in_flight && (begins || w->tidying.is_under_way) && connection_can_call(w))
        tidy(w);
}
