/* SPDX-License-Identifier: MIT
 *
 * Ages: the timer's keeper has noted how many tasks have come to each queue by now, with each of its heartbeats. From
 * these points anybody can tell how long the oldest one has waited (lua/include/queue/ages.lua). A walk over all names
 * is one call for each 200 of them, one after the other.
 */
#include "protocol/script_queue.h"
#include "worker/worker.h"

static void note(struct muster_worker *w);

static void on_noted(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct ages *a = &w->ages;
    struct script_noted_ages noted;
    a->in_flight = false;
    if (!reply)
        return;
    int err = script_noted_ages(reply, &noted);
    if (err != MUSTER_OK) {
        a->before_ms = 0;
        tell_refused(w, REQUEST_AGES, err, reply_text(reply));
        return;
    }
    tell_accepted(w, REQUEST_AGES);
    if (a->place == 0)
        a->began_ms = noted.now_ms;
    a->place = noted.place > 0 ? (uint64_t)noted.place : 0;
    if (a->place == 0)
        a->before_ms = a->began_ms;
    else if (w->keeper.keeps && connection_can_call(w))
        note(w);
}

static void note(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    script_note_ages(&c, &w->root, w->ages.place, w->ages.before_ms);
    w->ages.in_flight = link_script(w->connection.data, &c, on_noted, w) == MUSTER_OK;
    command_clear(&c);
}

void ages_after_heartbeat(struct muster_worker *w)
{
    if (w->ages.in_flight || !connection_can_call(w))
        return;
    w->ages.place = 0;
    note(w);
}
