/* SPDX-License-Identifier: MIT
 *
 * What the program asked for: checked, and completed with defaults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/worker.h"

#define TTL_MAX_MS (24 * 3600 * 1000)
#define LIMIT_MAX_MS ((int64_t)365 * TTL_MAX_MS)

/* host-pid-random, in the alphabet of ids. */
static void make_id(char out[MUSTER_WORKER_ID_MAX + 1])
{
    char host[40] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        snprintf(host, sizeof host, "host");
    for (char *c = host; *c; c++) {
        const char one[2] = {*c, '\0'};
        if (muster_worker_id_check(one) && *c != '.')
            *c = '-';
    }
    if (host[0] == '.')
        host[0] = '-';
    snprintf(out, MUSTER_WORKER_ID_MAX + 1, "%s-%ld-%08x", host, (long)getpid(), arc4random());
}

static int hands_of(const struct muster_worker_options *o)
{
    return o->hands ? o->hands : o->threads ? o->threads : 1;
}

/* Both or neither, two different ones, and neither of them broken or attached to a loop. */
static bool are_connections_wrong(const struct muster_worker_options *o)
{
    if (!o->data && !o->subscription)
        return false;
    return !o->data || !o->subscription || o->data == o->subscription || !link_can_take(o->data) ||
           !link_can_take(o->subscription);
}

bool options_are_wrong(const struct muster_worker_options *o)
{
    if ((o->prefix && muster_prefix_check(o->prefix)) || (o->id && muster_worker_id_check(o->id)))
        return true;
    if (are_connections_wrong(o))
        return true;
    if (o->ttl_ms != 0 && (o->ttl_ms < MUSTER_TTL_MIN_MS || o->ttl_ms > TTL_MAX_MS))
        return true;
    if (o->hands < 0 || o->prefetch < 0 || o->drain_ms < 0 || o->threads < 0)
        return true;
    if (o->threads > 0 && o->hands > o->threads)
        return true;
    if (o->limit_ms < 0 || o->limit_ms > LIMIT_MAX_MS || o->on_limit >= MUSTER_LATER)
        return true;
    if (o->on_doubt > MUSTER_DOUBT_RUN || (o->permanent && o->on_doubt == MUSTER_DOUBT_RUN))
        return true;
    return hands_of(o) > MUSTER_HANDS_MAX || o->prefetch > MUSTER_HANDS_MAX - hands_of(o);
}

void options_set(struct muster_worker *w, const struct muster_worker_options *o, int db)
{
    snprintf(w->prefix, sizeof w->prefix, "%s", o->prefix ? o->prefix : "muster");
    script_root_init(&w->root, w->prefix, db);
    if (o->id)
        snprintf(w->id, sizeof w->id, "%s", o->id);
    else
        make_id(w->id);
    w->ttl_ms = o->ttl_ms ? o->ttl_ms : MUSTER_TTL_DEFAULT_MS;
    w->hands = hands_of(o);
    w->prefetch = o->prefetch;
    w->n_threads = o->threads;
    w->drain_ms = o->drain_ms ? o->drain_ms : MUSTER_DRAIN_DEFAULT_MS;
    w->max_tasks = o->max_tasks;
    w->limit_ms = o->limit_ms;
    w->on_limit = o->on_limit == MUSTER_FINISH ? MUSTER_FAIL : o->on_limit;
    w->on_doubt = o->on_doubt;
    w->permanent = o->permanent != 0;
    w->resume = o->resume != 0;
    w->burst = o->burst != 0;
    w->in_turn = o->in_turn != 0;
    w->on_event = o->on_event;
    w->arg = o->arg;
}
