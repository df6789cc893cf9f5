/* SPDX-License-Identifier: MIT
 *
 * The probe: most heartbeats of an idle worker. Plain commands in one round trip renew its life and read everything
 * that a heartbeat is for. If everything is as expected, nothing is left to do. If not, the heartbeat goes by script at
 * once (heartbeat.c). A probe costs Redis less than the script (doc/decisions/hot-scripts.md).
 *
 * Design notes
 *
 *   1. A probe decides nothing that a script decides. A probe that meets anything unexpected, an error included, is not
 *      enough.
 *   2. Its answers need not belong to one moment. Each says that one thing is well. A change that comes a moment later
 *      is found by the next heartbeat, as if it had come after a script.
 *   3. A probe cannot first check who calls before it writes. So it can only prolong a life that is there: GT, and XX.
 *      A probe that is late, or whose worker's epoch is over while its id has a new life, prolongs that life by at most
 *      one ttl. The record is read after the liveness key was renewed and tells whose life it was: an epoch never comes
 *      back.
 *   4. The registry needs Redis' time, which only the probe before has told. The local clock carries that time on from
 *      when the answer came, so the result lies in the past rather than in the future. The first probe of a row renews
 *      nothing there, because the script before it did, for a whole ttl. If a server's clock was set back, that shows:
 *      nothing gets longer.
 *   5. P:beat is never written: one script must measure and note a silence. A probe is enough only while scripts of
 *      others keep P:beat so fresh that a script would not write it either. In a small crew they do not: after two
 *      probes in vain the worker tries no more until its next tidying.
 *   6. The echo carries no count, because the worker holds nothing. It shows that the subscription is alive, and how
 *      many heard it that it is at this server.
 */
#include "worker/probe.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* After this many probes in vain the worker tries no more until its next tidying. */
#define FAILURES_MAX 2

/* ---- the answers ---- */

static bool is_own_record(const struct muster_worker *w, const struct redisReply *r)
{
    return reply_is(reply_at(r, 0), w->caller.epoch) && reply_number(reply_at(r, 1), -1) == (long long)w->caller.conn &&
           reply_number(reply_at(r, 2), -1) == worker_capacity(w) && reply_number(reply_at(r, 3), -1) == 0 &&
           reply_kind(reply_at(r, 4)) == REPLY_NIL;
}

static bool note_time(struct muster_worker *w, const struct redisReply *r)
{
    w->probe.now_ms = reply_time_ms(r);
    w->probe.ahead_ms = w->probe.now_ms - clock_ms();
    return w->probe.now_ms >= 0;
}

static bool is_beat_fresh(const struct muster_worker *w, const struct redisReply *r)
{
    int64_t beat_ms = reply_number(reply_at(r, 0), -1), age_ms = w->probe.now_ms - beat_ms;
    return beat_ms >= 0 && age_ms >= 0 && age_ms <= 3 * w->heartbeat.interval_ms / PROBE_BEAT_AGE_PART;
}

/* Whether the queue shares evenly is the last of them; what a queue that does is asked besides follows. */
#define PLAIN_FIELDS 5
#define SHARING_FIELDS 10

static struct script_share_figures figures_of(const struct muster_worker *w, const struct redisReply *r)
{
    int notes = (reply_kind(reply_at(r, 7)) != REPLY_NIL ? SHARE_LACK : 0) |
                (reply_number(reply_at(r, 8), 0) > w->probe.now_ms ? SHARE_OVER : 0) |
                (reply_number(reply_at(r, 9), INT64_MAX) <= w->probe.now_ms ? SHARE_LAPSED : 0);
    return (struct script_share_figures){(uint64_t)reply_number(reply_at(r, 5), 0),
                                         (uint64_t)reply_number(reply_at(r, 6), 0), notes};
}

static bool is_nothing_due(struct muster_worker *w, const struct redisReply *r)
{
    w->probe.queue_is_paused = reply_kind(reply_at(r, 0)) != REPLY_NIL;
    struct served *s = w->probe.queues[w->probe.queue++];
    bool is_even = reply_number(reply_at(r, 4), 0) == 0 || w->probe.queue_is_paused ||
                   (reply_len(r) == SHARING_FIELDS && share_is_even(w, s, figures_of(w, r)));
    if (!is_even)
        return false;
    bool jobs_wait = reply_kind(reply_at(r, 2)) != REPLY_NIL && !w->probe.queue_is_paused;
    bool is_back = reply_kind(reply_at(r, 3)) != REPLY_NIL && !w->probe.queue_is_paused;
    return reply_len(r) >= PLAIN_FIELDS && reply_number(reply_at(r, 1), INT64_MAX) > w->probe.now_ms && !jobs_wait &&
           !is_back;
}

static bool is_well(struct muster_worker *w, enum probe_step step, const struct redisReply *r)
{
    switch (step) {
    case PROBE_RENEW:
    case PROBE_REGISTRY:
        return reply_integer(r) == 1;
    case PROBE_RECORD:
        return is_own_record(w, r);
    case PROBE_TIME:
        return note_time(w, r);
    case PROBE_BEAT:
        return is_beat_fresh(w, r);
    case PROBE_PACE:
        return reply_number(reply_at(r, 1), -1) / 3 == w->heartbeat.interval_ms;
    case PROBE_DEAD: /* "inf": only permanent ones, and then this worker's own entry is missing */
        return reply_number(reply_at(r, 1), 0) > w->probe.now_ms;
    case PROBE_SETTINGS:
        return is_nothing_due(w, r);
    case PROBE_WAITING:
        return reply_kind(r) == REPLY_INTEGER && (reply_integer(r) == 0 || w->probe.queue_is_paused);
    case PROBE_IDLE:
        return reply_kind(r) == REPLY_TEXT;
    case PROBE_ECHO:
        w->probe.n_ears = reply_count(r);
        return reply_kind(r) == REPLY_INTEGER;
    }
    return false;
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    size_t at = w->probe.n_answered++;
    if (w->probe.is_enough && !is_well(w, w->probe.steps[at], reply)) {
        w->probe.is_enough = false;
        if (reply)
            trace_line(TRACE_STATE, "worker %s: its probe is not enough, from step %zu on", w->id, at);
    }
    if (w->probe.n_answered < w->probe.n)
        return;
    w->probe.failed_in_a_row = w->probe.is_enough ? 0 : w->probe.failed_in_a_row + 1;
    w->probe.knows_time = w->probe.is_enough;
    heartbeat_apply_probe(w, !reply ? PROBE_CUT_OFF : w->probe.is_enough ? PROBE_ENOUGH : PROBE_NOT_ENOUGH);
}

/* ---- the commands ---- */

static void ask(struct muster_worker *w, struct command *c, enum probe_step step)
{
    if (link_call(w->connection.data, c, on_answer, w) == MUSTER_OK)
        w->probe.steps[w->probe.n++] = step;
    else
        w->probe.is_enough = false;
    command_clear(c);
}

static void begin(struct muster_worker *w, struct command *c, const char *verb, enum key key, const char *name)
{
    size_t len = key_of(w->probe.key, w->prefix, key, name);
    command_text(c, verb);
    command_bytes(c, w->probe.key, len);
}

/* The words follow the key; up to NULL. */
static void ask_of(struct muster_worker *w, enum probe_step step, const char *verb, enum key key, const char *name,
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
    ask(w, &c, PROBE_RENEW);
}

static void renew_registry(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    begin(w, &c, "ZADD", KEY_REGISTRY, "");
    command_words(&c, WORDS("XX", "GT", "CH"));
    command_number(&c, clock_in_ms(w->probe.ahead_ms + w->ttl_ms));
    command_text(&c, w->id);
    ask(w, &c, PROBE_REGISTRY);
}

static void ask_time(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "TIME");
    ask(w, &c, PROBE_TIME);
}

static void say_echo(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    char echo[1 + 2 * TOKEN_LEN + 1] = "E", none[TOKEN_LEN + 1];
    token_format(none, 0);
    memcpy(echo + 1, w->caller.epoch, TOKEN_LEN);
    memcpy(echo + 1 + TOKEN_LEN, none, TOKEN_LEN);
    char channel[CHANNEL_MAX];
    size_t len = key_wake(channel, w->root.channels, w->id);
    command_text(&c, "SPUBLISH");
    command_bytes(&c, channel, len);
    command_bytes(&c, echo, sizeof echo - 1);
    ask(w, &c, PROBE_ECHO);
}

/* A worker whose ttl is longer than the shortest goes by script: the shortest may be that of a silent permanent worker,
 * which must be dropped. So does the keeper of the timer, which only the script renews. */
bool probe_may_do(const struct muster_worker *w)
{
    return w->probe.failed_in_a_row < FAILURES_MAX && w->heartbeat.interval_ms == w->ttl_ms / 3 &&
           w->state == WORKER_WORKING && !w->permanent && !w->burst.is_wanted && !w->fence.in_doubt &&
           w->processes.n_known == 0 && w->marks.n == 0 && w->turns.in_flight == 0 && !w->readback.in_flight &&
           !w->tell.damage_told && w->sweeps.from == 0 && worker_capacity(w) > 0 && w->n_served <= PROBE_QUEUES_MAX &&
           !w->keeper.keeps && serve_all_announced(w);
}

bool probe_begin(struct muster_worker *w)
{
    w->probe.n = w->probe.n_answered = w->probe.n_queues = w->probe.queue = 0;
    w->probe.is_enough = true;
    renew(w);
    ask_of(w, PROBE_RECORD, "HMGET", KEY_WORKER, w->id, WORDS("epoch", "conn", "hands", "held", "flag"));
    ask_time(w);
    ask_of(w, PROBE_BEAT, "HMGET", KEY_BEAT, "", WORDS("at"));
    ask_of(w, PROBE_PACE, "ZRANGEBYSCORE", KEY_TTLS, "", WORDS("100", "86400000", "WITHSCORES", "LIMIT", "0", "1"));
    if (w->probe.knows_time)
        renew_registry(w);
    ask_of(w, PROBE_DEAD, "ZRANGE", KEY_REGISTRY, "", WORDS("0", "0", "WITHSCORES"));
    for (size_t i = 0; i < w->n_served; i++) {
        struct served *s = w->served[i];
        if (s->serving != SERVING)
            continue;
        ask_of(w, PROBE_SETTINGS, "HMGET", KEY_QUEUE, s->name,
               s->share.is_on
                   ? WORDS("paused", "due", "jobs", "returned", "share", "running", "hands", "lack", "over", "moves")
                   : WORDS("paused", "due", "jobs", "returned", "share"));
        w->probe.queues[w->probe.n_queues++] = s;
        ask_of(w, PROBE_WAITING, "LLEN", KEY_QUEUES, s->name, (const char *const[]){NULL});
        ask_of(w, PROBE_IDLE, "ZSCORE", KEY_IDLE, s->name, WORDS(w->id));
    }
    say_echo(w);
    return w->probe.n > 0;
}
