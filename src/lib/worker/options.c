/* SPDX-License-Identifier: MIT
 *
 * What the program asked for: checked, and completed with defaults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/words.h"
#include "protocol/names.h"
#include "redis/url_make.h"
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

static const char *check_number(const char *name, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most)
        return NULL;
    return words_say("%s is %lld; it must be %lld to %lld", name, (long long)value, (long long)least, (long long)most);
}

static const char *check_names(const struct muster_worker_options *o)
{
    const char *why = names_check_prefix_option(o->prefix);
    if (why)
        return why;
    why = o->id ? muster_worker_id_check(o->id) : NULL;
    if (why)
        return words_say("id is '%.100s': %s", o->id, why);
    if (!o->id && (o->permanent || o->resume))
        return words_say("%s needs an `id` under which the worker comes back", o->permanent ? "permanent" : "resume");
    return NULL;
}

static const char *check_times(const struct muster_worker_options *o)
{
    const char *why = o->ttl_ms ? check_number("ttl_ms", o->ttl_ms, MUSTER_TTL_MIN_MS, TTL_MAX_MS) : NULL;
    if (!why)
        why = check_number("drain_ms", o->drain_ms, 0, INT32_MAX);
    return why ? why : check_number("limit_ms", o->limit_ms, 0, LIMIT_MAX_MS);
}

static const char *check_hands(const struct muster_worker_options *o)
{
    const char *why = check_number("hands", o->hands, 0, MUSTER_HANDS_MAX);
    if (!why)
        why = check_number("threads", o->threads, 0, MUSTER_HANDS_MAX);
    if (!why)
        why = check_number("prefetch", o->prefetch, 0, MUSTER_HANDS_MAX);
    if (why)
        return why;
    if (o->threads > 0 && o->hands > o->threads)
        return words_say("hands is %d, and threads is %d; each hand needs a thread", o->hands, o->threads);
    if (o->prefetch > MUSTER_HANDS_MAX - hands_of(o))
        return words_say("hands is %d, and prefetch is %d; together they must be at most %d", hands_of(o), o->prefetch,
                         MUSTER_HANDS_MAX);
    return NULL;
}

static const char *check_on_limit(enum muster_outcome on_limit)
{
    if (on_limit < MUSTER_LATER)
        return NULL;
    return words_say("on_limit is %d; it must be MUSTER_FAIL, MUSTER_RETRY or MUSTER_GIVE_BACK, or 0 for the default",
                     (int)on_limit);
}

static const char *check_on_doubt(const struct muster_worker_options *o)
{
    if (o->on_doubt > MUSTER_DOUBT_RUN)
        return words_say("on_doubt is %d; it must be MUSTER_DOUBT_STOP or MUSTER_DOUBT_RUN", (int)o->on_doubt);
    if (o->permanent && o->on_doubt == MUSTER_DOUBT_RUN)
        return "on_doubt is MUSTER_DOUBT_RUN together with permanent; a permanent worker is never in doubt";
    return NULL;
}

/* Both or neither, two different ones, and neither of them broken or attached to a loop. */
static const char *check_connections(const struct muster_worker_options *o)
{
    if (!o->data && !o->subscription)
        return NULL;
    if (!o->data || !o->subscription)
        return words_say("%s is given without %s; give both or none", o->data ? "data" : "subscription",
                         o->data ? "subscription" : "data");
    if (!o->url && (o->replicas || o->fsync))
        return "replicas and fsync need a connection of their own, which those handed in cannot make: give a url";
    if (o->data == o->subscription)
        return "data and subscription are one connection; they must be two";
    const char *why = link_refusal(o->data);
    if (why)
        return words_say("data %s", why);
    why = link_refusal(o->subscription);
    return why ? words_say("subscription %s", why) : NULL;
}

const char *options_check(const struct muster_worker_options *o)
{
    const char *why = check_names(o);
    if (!why && o->own_thread && o->base)
        why = "own_thread is set together with base; a loop of the program's runs where the program runs it";
    if (!why)
        why = check_connections(o);
    if (!why)
        why = check_times(o);
    if (!why)
        why = check_hands(o);
    if (!why)
        why = check_on_limit(o->on_limit);
    return why ? why : check_on_doubt(o);
}

/* A worker on connections that were handed in never uses MUSTER_URL: when one breaks, it must not turn to another
 * Redis. */
bool options_want_url(const struct muster_worker_options *o)
{
    return o->url || !o->data;
}

static struct url_options place_of(const struct muster_worker_options *o)
{
    return (struct url_options)URL_OPTIONS_OF_O;
}

int options_make_url(struct url *out, const struct muster_worker_options *o)
{
    const struct url_options place = place_of(o);
    return options_want_url(o) ? url_make(out, &place) : url_make_handed_in(out, &place);
}

const char *muster_worker_options_check(const struct muster_worker_options *options)
{
    struct muster_worker_options o;
    const char *why = sized_read(SIZED_WORKER_OPTIONS, &o, options);
    if (!why)
        why = options_check(&o);
    if (why)
        return why;
    const struct url_options place = place_of(&o);
    return options_want_url(&o) ? url_make_check(&place) : url_make_check_handed_in(&place);
}

void options_set(struct muster_worker *w, const struct muster_worker_options *o, int db)
{
    snprintf(w->prefix, sizeof w->prefix, "%s", names_prefix(o->prefix));
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
    w->on_limit = o->on_limit;
    w->on_doubt = o->on_doubt;
    w->permanent = o->permanent != 0;
    w->resume = o->resume != 0;
    w->burst.is_wanted = o->burst != 0;
    w->in_turn = o->in_turn != 0;
    w->tell_ended = o->tell_ended != 0;
    w->own_thread.is_wanted = o->own_thread != 0;
    w->on_event = o->on_event;
    w->on_end = o->on_end;
    w->arg = o->arg;
}
