/* SPDX-License-Identifier: MIT
 *
 * A heartbeat goes over the data link, in its turn. Behind a large result, or a large task that comes, it may have to wait
 * for longer than a ttl, where the line is slow. The worker is not silent then: it is busy. But its peers would take it
 * for dead, and whoever got its work next would be as busy with it, and so on.
 *
 * So while a heartbeat waits, and the data link is busy, the liveness key is renewed over a connection of its own. As a
 * probe, that decides nothing, and can only prolong a life that is there (probe.c); the record, which is read
 * afterwards, must name this life and this data connection: that proves the server, too. It goes when the heartbeat is
 * answered. A Redis that stands still gets no further connections for it but from those who have sent something large, or
 * have a part of an answer.
 *
 * Where the data connection was handed in, there is nothing to connect to by oneself. Then the fence tells of the doubt,
 * and E_GONE of the loss, as ever.
 */
#include "worker/lifeline.h"

#include <event2/event.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "protocol/keys.h"
#include "worker/worker.h"

/* ---- renewing ---- */

static void on_renewed(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    w->lifeline.is_renewed = reply_integer(reply) == 1;
}

static void on_record(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct lifeline *l = &w->lifeline;
    l->in_flight = false;
    if (!l->is_renewed || !registration_is_there(w) || !registration_is_life(w, &l->life) ||
        !reply_is(reply_at(reply, 0), l->life.epoch) || reply_number(reply_at(reply, 1), -1) != (long long)l->conn)
        return;
    trace_line(TRACE_STATE, "worker %s: its heartbeat waits behind what is large, its lifeline holds", w->id);
    fence_confirm(w, l->sent_ms);
}

static int say(struct link *link, struct muster_worker *w, enum key key, const char *const *words, link_reply_fn *fn)
{
    struct command c = COMMAND_EMPTY;
    char name[KEY_MAX];
    size_t len = key_of(name, w->prefix, key, w->id);
    command_text(&c, *words);
    command_bytes(&c, name, len);
    command_words(&c, words + 1);
    int err = link_call(link, &c, fn, w);
    command_clear(&c);
    return err;
}

static void renew(struct muster_worker *w)
{
    struct lifeline *l = &w->lifeline;
    char ttl[24];
    if (l->in_flight || !link_is_up(l->link))
        return;
    snprintf(ttl, sizeof ttl, "%d", w->ttl_ms);
    l->sent_ms = clock_ms();
    l->life = registration_life(w);
    l->conn = w->caller.conn;
    l->is_renewed = false;
    l->in_flight =
        say(l->link, w, KEY_ALIVE, (const char *const[]){"PEXPIRE", ttl, "GT", NULL}, on_renewed) == MUSTER_OK &&
        say(l->link, w, KEY_WORKER, (const char *const[]){"HMGET", "epoch", "conn", NULL}, on_record) == MUSTER_OK;
}

/* ---- its connection ---- */

static void on_up(void *arg)
{
    struct muster_worker *w = arg;
    if (w->heartbeat.in_flight && connection_can_call(w))
        renew(w);
}

/* It tries again by itself; that nothing was confirmed meanwhile, the fence tells. */
static void on_down(void *arg, int err, const char *text)
{
    (void)arg, (void)err, (void)text;
}

static void begin(struct muster_worker *w)
{
    struct lifeline *l = &w->lifeline;
    if (connection_branch(w, &l->link, "lifeline", &(struct link_callbacks){.up = on_up, .down = on_down}) == MUSTER_OK)
        link_connect(l->link);
}

void lifeline_watch(struct muster_worker *w)
{
    timer_after_ms(w->lifeline.timer, w->heartbeat.interval_ms / 2);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct lifeline *l = &w->lifeline;
    (void)fd, (void)what;
    if (!w->heartbeat.in_flight || !connection_can_call(w))
        return;
    if (l->link)
        renew(w);
    else if (link_is_busy(w->connection.data))
        begin(w);
    lifeline_watch(w);
}

void lifeline_end(struct muster_worker *w)
{
    struct lifeline *l = &w->lifeline;
    event_del(l->timer);
    link_free(l->link);
    l->link = NULL;
    l->in_flight = false;
}

int lifeline_new(struct muster_worker *w)
{
    w->lifeline.timer = evtimer_new(w->base, on_timer, w);
    return w->lifeline.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void lifeline_free(struct muster_worker *w)
{
    if (!w->lifeline.timer)
        return;
    lifeline_end(w);
    event_free(w->lifeline.timer);
}
