/* SPDX-License-Identifier: MIT
 *
 * The look: what most heartbeats of an idle worker are. Plain commands in one round trip renew its life and read all
 * that a heartbeat is for. Is it all as the worker knows it, nothing is left to do; else the heartbeat goes by script at
 * once (heartbeat.c). A look costs Redis less than the script (doc/decisions/hot-scripts.md).
 *
 * Design notes
 *
 *   1. Nothing is decided here that a script decides: a look that meets anything unexpected, an error too, does not do.
 *   2. No two of its answers need belong to one moment. Each says that something is well; what changes a moment later
 *      is found by the next heartbeat, as if it had changed after a script.
 *   3. What it writes cannot ask who calls. So it can only make a life longer that is there: GT, and XX. A late one, or
 *      one of a worker whose epoch is over and whose id has a new life, keeps that life up for one ttl of its own at
 *      most. The record, read after the liveness key was renewed, tells whose life it was: an epoch never comes back.
 *   4. The registry needs Redis' time, which only the look before has told. It is carried on by the local clock, from
 *      when that answer came, so it lies in the past rather than in the future. The first look of a row renews nothing
 *      there: the script before it did, for a whole ttl. A server's clock that was set back shows: nothing gets longer.
 *   5. P:beat is never written: a silence must be measured and noted in one script. A look does only while somebody
 *      else's scripts keep P:beat so fresh that a script would not write it either. In a small crew none does: after
 *      two in vain the worker tries no more until its next tidying.
 *   6. The echo carries no count, for none is held and none is known: it only shows that the subscription is alive.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

#define MISSES_MAX 2
/* Of the shortest ttl: so much older P:beat is written again by a heartbeat (include/silence.lua). */
#define BEAT_AGE_PART 32

/* ---- the answers ---- */

static int is_own_record(const struct muster_worker *w, const struct redisReply *r)
{
    return reply_is(reply_at(r, 0), w->who.epoch) && reply_number(reply_at(r, 1), -1) == (long long)w->who.conn &&
           reply_number(reply_at(r, 2), -1) == worker_capacity(w) && reply_number(reply_at(r, 3), -1) == 0 &&
           reply_kind(reply_at(r, 4)) == REPLY_NIL;
}

static int note_time(struct muster_worker *w, const struct redisReply *r)
{
    long long s = reply_number(reply_at(r, 0), -1), us = reply_number(reply_at(r, 1), -1);
    w->look.now_ms = s * 1000 + us / 1000;
    w->look.ahead_ms = w->look.now_ms - clock_ms();
    return s >= 0 && us >= 0;
}

static int is_beat_fresh(const struct muster_worker *w, const struct redisReply *r)
{
    int64_t age_ms = w->look.now_ms - reply_number(reply_at(r, 0), INT64_MIN / 2);
    return age_ms >= 0 && age_ms <= 3 * w->interval_ms / BEAT_AGE_PART;
}

static int is_nothing_due(struct muster_worker *w, const struct redisReply *r)
{
    w->look.paused = reply_kind(reply_at(r, 0)) != REPLY_NIL;
    int jobs_wait = reply_kind(reply_at(r, 2)) != REPLY_NIL && !w->look.paused;
    return reply_len(r) == 3 && reply_number(reply_at(r, 1), INT64_MAX) > w->look.now_ms && !jobs_wait;
}

static int is_well(struct muster_worker *w, enum look_step step, const struct redisReply *r)
{
    switch (step) {
    case LOOK_RENEW:
    case LOOK_REGISTRY:
        return reply_integer(r) == 1;
    case LOOK_RECORD:
        return is_own_record(w, r);
    case LOOK_TIME:
        return note_time(w, r);
    case LOOK_BEAT:
        return is_beat_fresh(w, r);
    case LOOK_PACE:
        return reply_number(reply_at(r, 1), -1) / 3 == w->interval_ms;
    case LOOK_DEAD: /* "inf": only permanent ones, and then this worker's own entry is missing */
        return reply_number(reply_at(r, 1), 0) > w->look.now_ms;
    case LOOK_SETTINGS:
        return is_nothing_due(w, r);
    case LOOK_WAITING:
        return reply_kind(r) == REPLY_INTEGER && (reply_integer(r) == 0 || w->look.paused);
    case LOOK_IDLE:
        return reply_kind(r) == REPLY_TEXT;
    case LOOK_ECHO:
        return reply_kind(r) == REPLY_INTEGER;
    }
    return 0;
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    size_t at = w->look.n_answered++;
    if (w->look.does && !is_well(w, w->look.steps[at], reply)) {
        w->look.does = 0;
        if (reply)
            trace_line(TRACE_STATE, "worker %s: its look does not do, from step %zu on", w->id, at);
    }
    if (w->look.n_answered < w->look.n)
        return;
    w->look.misses = w->look.does ? 0 : w->look.misses + 1;
    w->look.renews = w->look.does;
    heartbeat_looked(w, reply != NULL, w->look.does);
}

/* ---- the commands ---- */

static void ask(struct muster_worker *w, struct command *c, enum look_step step)
{
    if (link_call(w->data, c, on_answer, w) == MUSTER_OK)
        w->look.steps[w->look.n++] = step;
    else
        w->look.does = 0;
    command_clear(c);
}

static void begin(struct muster_worker *w, struct command *c, const char *verb, enum key key, const char *name)
{
    size_t len = key_of(w->look.key, w->prefix, key, name);
    command_text(c, verb);
    command_bytes(c, w->look.key, len);
}

/* The words follow the key; up to NULL. */
static void ask_of(struct muster_worker *w, enum look_step step, const char *verb, enum key key, const char *name,
                   const char *const *words)
{
    struct command c = COMMAND_EMPTY;
    begin(w, &c, verb, key, name);
    command_words(&c, words);
    ask(w, &c, step);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void renew(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    begin(w, &c, "PEXPIRE", KEY_ALIVE, w->id);
    command_number(&c, w->ttl_ms);
    command_text(&c, "GT");
    ask(w, &c, LOOK_RENEW);
}

static void renew_registry(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    begin(w, &c, "ZADD", KEY_REGISTRY, "");
    command_words(&c, WORDS("XX", "GT", "CH"));
    command_number(&c, clock_ms() + w->look.ahead_ms + w->ttl_ms);
    command_text(&c, w->id);
    ask(w, &c, LOOK_REGISTRY);
}

static void ask_time(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "TIME");
    ask(w, &c, LOOK_TIME);
}

static void say_echo(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    char echo[1 + 2 * TOKEN_LEN + 1] = "E", none[TOKEN_LEN + 1];
    token_format(none, 0);
    memcpy(echo + 1, w->who.epoch, TOKEN_LEN);
    memcpy(echo + 1 + TOKEN_LEN, none, TOKEN_LEN);
    begin(w, &c, "PUBLISH", KEY_WAKE, w->id);
    command_bytes(&c, echo, sizeof echo - 1);
    ask(w, &c, LOOK_ECHO);
}

/* Who has a longer ttl than another one goes by script: that other may be a silent permanent worker, to be dropped. So
 * does the one who keeps the timer, which only the script renews. */
int look_may_do(const struct muster_worker *w)
{
    return w->look.misses < MISSES_MAX && w->interval_ms == w->ttl_ms / 3 && w->state == WORKER_WORKING &&
           !w->permanent && !w->fenced && w->n_known == 0 && w->n_early == 0 && w->turns == 0 && !w->reading &&
           !w->damaged_told && w->registry_from == 0 && worker_capacity(w) > 0 && w->n_served <= LOOK_QUEUES_MAX &&
           !w->keeps_timer && serve_all_announced(w);
}

int look_begin(struct muster_worker *w)
{
    w->look.n = w->look.n_answered = 0;
    w->look.does = 1;
    renew(w);
    ask_of(w, LOOK_RECORD, "HMGET", KEY_WORKER, w->id, WORDS("epoch", "conn", "hands", "held", "flag"));
    ask_time(w);
    ask_of(w, LOOK_BEAT, "HMGET", KEY_BEAT, "", WORDS("at"));
    ask_of(w, LOOK_PACE, "ZRANGE", KEY_TTLS, "", WORDS("0", "0", "WITHSCORES"));
    if (w->look.renews)
        renew_registry(w);
    ask_of(w, LOOK_DEAD, "ZRANGE", KEY_REGISTRY, "", WORDS("0", "0", "WITHSCORES"));
    for (size_t i = 0; i < w->n_served; i++) {
        const struct served *s = w->served[i];
        if (s->serving != SERVING)
            continue;
        ask_of(w, LOOK_SETTINGS, "HMGET", KEY_QUEUE, s->name, WORDS("paused", "due", "jobs"));
        ask_of(w, LOOK_WAITING, "LLEN", KEY_QUEUES, s->name, (const char *const[]){NULL});
        ask_of(w, LOOK_IDLE, "ZSCORE", KEY_IDLE, s->name, WORDS(w->id));
    }
    say_echo(w);
    return w->look.n > 0;
}
