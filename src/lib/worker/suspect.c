/* SPDX-License-Identifier: MIT
 *
 * Suspects run alone. When a worker dies, what it held may have killed it, so all of it comes back suspected; the next
 * death is to say which one it was. So a suspect starts only when nothing else runs here, and nothing else starts until
 * its end is confirmed.
 *
 * Design notes
 *
 *   1. Before it starts, Redis notes that it begins alone (script_begin_alone()). Only from then on does a death count
 *      against it, and against nothing else. The call names the queues of what still runs. Redis refuses if a death of
 *      those counts, too; then the worker waits for one of them to end, and asks again. So handlers of queues without
 *      max_crashes, which may run for ever, hold no suspect up.
 *   2. Ends that are not confirmed must be confirmed first, but for those that a damaged key refuses: that key would
 *      hold up all queues. Their handlers have ended, so they cannot be to blame.
 *   3. While the worker has suspects it takes nothing more: it could not start it, and others may have a free hand
 *      (worker_capacity()).
 *   4. A suspect that has run alone for five minutes is acquitted, and the worker goes on as usual.
 *   5. If Redis refuses a call, it is tried again after the next heartbeat. If a damaged key is the reason, others
 *      start meanwhile.
 */
#include "worker/suspect.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

#define TELL_AFTER_MS 30000
#define ACQUIT_AFTER_MS 300000

/* ---- how many there are, and which one is the first ---- */

/* The worker's hands are its own again. */
static void count_down(struct muster_worker *w)
{
    if (--w->suspects.n > 0)
        return;
    w->turns.must_state_hands = true;
    turn_want_take(w);
}

static bool has_not_ended(const struct muster_process *p)
{
    return p->is_suspect && p->state <= PROCESS_RUNNING;
}

void suspect_note(struct muster_process *p)
{
    if (p->is_suspect)
        return;
    p->is_suspect = true;
    if (has_not_ended(p)) {
        p->worker->suspects.n++;
        p->worker->turns.must_state_hands = true;
    }
}

/* The loop's clock is coarser: it may come a little early. */
static void set_timer(struct suspects *s)
{
    int64_t tell_ms = s->was_told ? INT64_MAX : s->tell_after_ms;
    int64_t acquit_ms = s->stage == SUSPECT_RUNS ? s->acquit_after_ms : INT64_MAX;
    int64_t next_ms = tell_ms < acquit_ms ? tell_ms : acquit_ms;
    if (next_ms != INT64_MAX)
        timer_after_ms(s->timer, s->since_ms + next_ms - clock_ms() + 1);
}

static void set_stage(struct suspects *s, enum suspect_stage stage)
{
    s->stage = stage;
    s->since_ms = clock_ms();
    s->was_told = false;
    set_timer(s);
}

static void unset_first(struct muster_worker *w)
{
    w->suspects.first = NULL;
    event_del(w->suspects.timer);
    round_due(w);
}

void suspect_step_back(struct muster_worker *w)
{
    unset_first(w);
}

void suspect_moves_on(struct muster_process *p, enum process_state state)
{
    struct suspects *s = &p->worker->suspects;
    if (has_not_ended(p))
        count_down(p->worker);
    if (s->first == p && (s->stage != SUSPECT_RUNS || state == PROCESS_REFUSED))
        unset_first(p->worker);
}

void suspect_let_go(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    if (has_not_ended(p))
        count_down(w);
    p->is_suspect = false;
    if (w->suspects.first == p)
        unset_first(w);
}

/* ---- telling the program ---- */

/* The program may end the process inside its callback. */
static void tell(struct muster_worker *w)
{
    struct suspects *s = &w->suspects;
    char line[300];
    if (s->stage == SUSPECT_RUNS)
        snprintf(line, sizeof line,
                 "a former holder died, so it runs alone until it ends, or for %lld s; nothing else starts here. For "
                 "tasks that never end set max_crashes=0 of their queue",
                 (long long)(s->acquit_after_ms / 1000));
    else
        snprintf(
            line, sizeof line,
            "a former holder died, so it runs alone, but %zu others still run; nothing else starts here until they "
            "end. For tasks that never end set max_crashes=0 of their queue",
            w->processes.count[PROCESS_RUNNING]);
    tell_event(w, MUSTER_EVENT_ALONE, MUSTER_OK, line, s->first);
}

static bool is_worth_telling(const struct muster_worker *w)
{
    return w->suspects.stage != SUSPECT_RUNS || w->hands > 1 || w->processes.count[PROCESS_READY] > 0;
}

/* ---- the call ---- */

struct asked {
    struct muster_worker *worker;
    uint64_t token;
    size_t n_beside;
    uint64_t n_begun; /* handlers started, ever: none may since */
    enum script_alone what;
};

/* Others start meanwhile; the next heartbeat tries again. */
static void put_off(struct muster_process *p, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    p->is_put_off = true;
    unset_first(w);
    tell_damaged(w, reply_text(reply_at(reply, 1)));
}

static void apply_begin(struct muster_process *p, const struct asked *a, int err, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    struct suspects *s = &w->suspects;
    if (err == MUSTER_OK) {
        s->stage = a->n_begun == w->processes.n_begun ? SUSPECT_MAY_RUN : SUSPECT_WAITS;
    } else if (err == MUSTER_E_STATE && a->n_beside > 0) {
        s->beside_most = a->n_beside - 1;
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_E_LOST) {
        process_free(p);
    } else if (err == MUSTER_E_REDIS && reply_kind(reply) == REPLY_LIST) {
        put_off(p, reply);
    } else {
        s->is_refused = true;
        tell_refused(w, REQUEST_ALONE, err, reply_text(reply));
    }
    round_due(w);
}

static void apply_acquittal(struct muster_process *p, int err, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    if (err == MUSTER_OK) {
        trace_line(TRACE_STATE, "process %s of %s: is suspected no more", p->token_text, p->served->name);
        suspect_let_go(p);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_E_LOST) {
        readback_ask(w);
    } else if (err == MUSTER_E_REDIS && reply_kind(reply) == REPLY_LIST) {
        suspect_let_go(p); /* nothing else shall wait for that key */
        tell_damaged(w, reply_text(reply_at(reply, 1)));
    } else {
        tell_refused(w, REQUEST_ALONE, err, reply_text(reply));
    }
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct asked a = *(struct asked *)arg;
    struct muster_worker *w = a.worker;
    struct muster_process *p = process_find(w, a.token);
    free(arg);
    w->suspects.in_flight = false;
    if (!reply || !registration_is_there(w))
        return; /* asked again after the read-back of the next connection */
    int err = reply_status(reply);
    if (err == MUSTER_OK)
        tell_accepted(w, REQUEST_ALONE);
    if (err == MUSTER_E_GONE)
        registration_gone(w);
    else if (p && p == w->suspects.first && a.what == ALONE_ACQUIT)
        apply_acquittal(p, err, reply);
    else if (p && p == w->suspects.first && w->suspects.stage == SUSPECT_WAITS)
        apply_begin(p, &a, err, reply);
}

/* Names of the queues whose handlers run; the caller frees. NULL: out of memory. */
static const char **list_running(const struct muster_worker *w, size_t *n)
{
    const char **names = calloc(w->n_served + 1, sizeof *names);
    *n = 0;
    for (size_t i = 0; names && i < w->n_served; i++)
        if (w->served[i]->running > 0)
            names[(*n)++] = w->served[i]->name;
    return names;
}

/* The next heartbeat tries again if it cannot be sent. */
static void ask(struct muster_process *p, enum script_alone what)
{
    struct muster_worker *w = p->worker;
    struct asked *a = malloc(sizeof *a);
    struct command c = COMMAND_EMPTY;
    size_t n;
    const char **names = list_running(w, &n);
    w->suspects.is_refused = true;
    if (a && names) {
        *a = (struct asked){w, p->token, w->processes.count[PROCESS_RUNNING], w->processes.n_begun, what};
        script_begin_alone(&c, &w->root, &w->caller,
                           &(struct script_begin_alone){.queue = p->served->name,
                                                        .token = p->token_text,
                                                        .what = what,
                                                        .running = names,
                                                        .n_running = what == ALONE_BEGIN ? n : 0});
        w->suspects.in_flight = link_script(w->connection.data, &c, on_answer, a) == MUSTER_OK;
        w->suspects.is_refused = !w->suspects.in_flight;
    }
    if (!w->suspects.in_flight)
        free(a);
    free(names);
    command_clear(&c);
}

/* ---- the next to start ---- */

static bool may_ask(const struct muster_worker *w)
{
    const struct suspects *s = &w->suspects;
    const size_t *count = w->processes.count;
    return s->stage == SUSPECT_WAITS && !s->in_flight && !s->is_refused && connection_can_call(w) &&
           count[PROCESS_ENDED] == 0 && count[PROCESS_SENT] == 0 && count[PROCESS_RUNNING] <= s->beside_most;
}

static void make_first(struct muster_process *p)
{
    struct suspects *s = &p->worker->suspects;
    s->first = p;
    s->beside_most = SIZE_MAX;
    s->is_refused = false;
    set_stage(s, SUSPECT_WAITS);
}

bool suspect_may_start(struct muster_process *p)
{
    struct suspects *s = &p->worker->suspects;
    if (!s->first && !p->is_suspect)
        return true;
    if (!s->first)
        make_first(p);
    if (s->first != p)
        return false;
    if (may_ask(p->worker))
        ask(p, ALONE_BEGIN);
    return s->stage == SUSPECT_MAY_RUN;
}

void suspect_starts(struct muster_process *p)
{
    trace_line(TRACE_STATE, "process %s of %s: a suspect, runs alone", p->token_text, p->served->name);
    set_stage(&p->worker->suspects, SUSPECT_RUNS);
}

/* ---- time passes ---- */

static bool must_be_acquitted(const struct suspects *s)
{
    return s->first && s->stage == SUSPECT_RUNS && s->first->state == PROCESS_RUNNING &&
           clock_ms() >= s->since_ms + s->acquit_after_ms;
}

static void acquit(struct muster_worker *w)
{
    if (must_be_acquitted(&w->suspects) && !w->suspects.in_flight && connection_can_call(w))
        ask(w->suspects.first, ALONE_ACQUIT);
}

void suspect_try_again(struct muster_worker *w)
{
    struct muster_process *p;
    struct suspects *s = &w->suspects;
    if (s->n == 0)
        return;
    TAILQ_FOREACH(p, &w->processes.list[PROCESS_READY], in_list)
        p->is_put_off = false;
    s->is_refused = false;
    s->beside_most = SIZE_MAX; /* a queue's max_crashes may have been changed */
    acquit(w);
    round_due(w);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct suspects *s = &w->suspects;
    (void)fd, (void)what;
    if (!s->first)
        return;
    bool is_time_to_tell = !s->was_told && clock_ms() >= s->since_ms + s->tell_after_ms;
    s->was_told |= is_time_to_tell;
    if (must_be_acquitted(s))
        acquit(w); /* if that fails, heartbeats go on with it */
    else
        set_timer(s);
    if (is_time_to_tell && is_worth_telling(w))
        tell(w);
}

/* ---- life ---- */

void suspect_stop(struct muster_worker *w)
{
    event_del(w->suspects.timer);
}

int suspect_new(struct muster_worker *w)
{
    w->suspects.tell_after_ms = TELL_AFTER_MS;
    w->suspects.acquit_after_ms = ACQUIT_AFTER_MS;
    w->suspects.timer = evtimer_new(w->base, on_timer, w);
    return w->suspects.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void suspect_free(struct muster_worker *w)
{
    if (w->suspects.timer)
        event_free(w->suspects.timer);
}
