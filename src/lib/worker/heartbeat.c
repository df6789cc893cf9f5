/* SPDX-License-Identifier: MIT
 *
 * The heartbeat: it shows that the worker lives, and tells it what it missed: work, deaths, marks, hand-overs that were
 * lost. It goes by script, or as a probe (probe.c).
 *
 * Design notes
 *
 * The count. Each heartbeat makes Redis publish its last token N on the worker's own channel. Messages of one channel
 * keep their order. So when the echo is here, all hand-overs up to N are here too, unless one was lost. Then the worker
 * counts what it knows up to N. Fewer than Redis said it holds: a hand-over was lost. More: somebody else has ended
 * one. Either way it reads back, which also puts Redis' count right if that is what is wrong. The answer and the echo
 * come on two connections, in any order; what was confirmed as ended in between counts as known.
 *
 * If no echo comes until the next heartbeat, half an interval later at least, and nothing else on the subscription either,
 * the subscription is open but dead: it is made again.
 */
#include "worker/heartbeat.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "protocol/keys.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* After a refusal (loading, busy, full) the next attempt waits this long, or an interval if that is shorter. */
#define REFUSED_PAUSE_MS 500
/* Every tenth heartbeat is by script, and that of the timer's keeper begins to tidy. */
#define THOROUGH_EVERY 10

static void set_timer(struct muster_worker *w, int64_t ms)
{
    w->heartbeat.due_us = clock_us() + (ms > 0 ? ms * 1000 : 0);
    timer_after_ms(w->heartbeat.timer, ms);
}

void heartbeat_retry(struct muster_worker *w)
{
    int64_t interval_ms = w->heartbeat.interval_ms;
    set_timer(w, interval_ms > 0 && interval_ms < REFUSED_PAUSE_MS ? interval_ms : REFUSED_PAUSE_MS);
}

/* ---- the count ---- */

/* Both the answer and the echo are here: does the worker know all that it holds? */
static void check_held_count(struct muster_worker *w)
{
    struct echo_wait *echo = &w->heartbeat.echo;
    echo->waits = false;
    uint64_t known = process_known_upto(w, echo->token) + echo->ended_since;
    if (known == echo->held)
        return;
    trace_line(TRACE_WAKE, "worker %s holds %llu, knows %llu: reads back", w->id, (unsigned long long)echo->held,
               (unsigned long long)known);
    readback_ask(w);
}

void heartbeat_apply_echo(struct muster_worker *w, uint64_t token)
{
    struct heartbeat *h = &w->heartbeat;
    if (token > h->echo_token)
        h->echo_token = token;
    if (h->echo.waits && h->echo_token >= h->echo.token)
        check_held_count(w);
}

void heartbeat_settle_echo(struct muster_worker *w, uint64_t last_token)
{
    if (w->heartbeat.echo.token <= last_token)
        w->heartbeat.echo.waits = false; /* it may have been published before the subscription */
}

void heartbeat_count_ended(struct muster_worker *w, uint64_t token)
{
    struct echo_wait *echo = &w->heartbeat.echo;
    if (echo->waits && token <= echo->token)
        echo->ended_since++;
}

/* ---- the answer ---- */

/* A heartbeat of either kind is confirmed; its echo is on the way. */
static void note_confirmed(struct muster_worker *w, uint64_t token, uint64_t held, uint64_t n_ears)
{
    tell_accepted(w, REQUEST_HEARTBEAT);
    fence_confirm(w, w->heartbeat.sent_ms);
    risk_look(w);
    struct echo_wait *echo = &w->heartbeat.echo;
    *echo = (struct echo_wait){
        .waits = true, .token = token, .held = held, .since_ms = echo->waits ? echo->since_ms : clock_ms()};
    w->heartbeat.must_ask_again =
        !connection_counted(w, w->heartbeat.subscription, n_ears) && pair_should_ask(&w->connection.pair);
    echo->waits = !w->heartbeat.must_ask_again; /* it may have been published before the subscription */
}

void heartbeat_set_interval(struct muster_worker *w, int64_t interval_ms)
{
    int64_t own_ms = w->ttl_ms / 3;
    w->heartbeat.interval_ms = interval_ms < own_ms ? interval_ms : own_ms;
}

static void set_next(struct muster_worker *w)
{
    if (w->fence.in_doubt)
        readback_ask_in_doubt(w);
    set_timer(w, w->heartbeat.must_ask_again ? 0 : w->heartbeat.sent_ms + w->heartbeat.interval_ms - clock_ms());
}

static void retry_refused_ends(struct muster_worker *w)
{
    struct muster_process *p, *next;
    for (p = process_first(w, IS_REFUSED); p; p = next) {
        next = process_next(p, IS_REFUSED);
        if (p->served->leave_in_flight)
            continue; /* it goes back with the rest */
        process_move(p, PROCESS_ENDED);
        round_due(w);
    }
}

static void apply_heartbeat(struct muster_worker *w, const struct redisReply *reply, const struct script_heard *h)
{
    heartbeat_set_interval(w, h->interval_ms);
    note_confirmed(w, h->last_token, h->held, h->n_ears);
    if (w->heartbeat.echo_token >= h->last_token)
        check_held_count(w);
    /* Takes up to this token were answered on this connection, and hand-overs came before their marks. */
    marks_forget(w, h->last_token);
    marks_note_list(w, h->marks);
    tell_damaged(w, h->damaged);
    sweep_dead(w, reply, h);
    serve_announce(w);
    retry_refused_ends(w);
    extend_try_again(w);
    suspect_try_again(w);
    accept_after_heartbeat(w);
    resume_try_again(w);
    timer_keeper_apply_heartbeat(w, h->next_due_ms);
    share_apply_heartbeat(w, h->shares);
    if (w->keeper.keeps) {
        ages_after_heartbeat(w);
        tidy_after_heartbeat(w, w->heartbeat.is_tenth);
    }
    figures_add(&w->figures.wakes_heartbeat, h->work);
    if (h->work)
        turn_want_take(w);
    if (w->n_leaving > 0)
        round_due(w);
    burst_apply_heartbeat(w);
    set_next(w);
}

/* Of a record without a valid ttl the script names the key. */
static void tell_refused_heartbeat(struct muster_worker *w, int err, const struct redisReply *reply)
{
    char line[KEY_MAX + 80];
    const char *key = err == MUSTER_E_REDIS ? reply_text(reply_at(reply, 1)) : NULL;
    if (key)
        snprintf(line, sizeof line, "the record '%s' is damaged; `muster check` says what to do", key);
    tell_refused(w, REQUEST_HEARTBEAT, err, key ? line : reply_text(reply));
    if (key || reply_is_refusal(reply, "WRONGTYPE"))
        burst_end_at_damage(w);
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_heard h;
    bool is_old = !registration_is_life(w, &w->heartbeat.life);
    w->heartbeat.in_flight = false;
    lifeline_end(w);
    if (!reply)
        burst_look_again(w);
    if (!reply || !registration_is_there(w) || w->state > WORKER_DRAINING)
        return;
    if (is_old) {
        heartbeat_now(w); /* said once more, and answered in another life */
        return;
    }
    int err = script_heard(reply, &h);
    if (err == MUSTER_OK) {
        apply_heartbeat(w, reply, &h);
    } else if (err == MUSTER_E_GONE) {
        registration_gone(w);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else {
        tell_refused_heartbeat(w, err, reply);
        heartbeat_retry(w);
    }
}

/* ---- the call ---- */

static void beat_by_script(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    struct heartbeat *h = &w->heartbeat;
    struct served **served;
    size_t n;
    struct script_queue *queues = serve_list(w, 0, SIZE_MAX, &served, &n);
    if (queues) {
        for (size_t i = 0; i < n; i++)
            served[i]->share.place = i;
        w->caller.hands = worker_capacity(w);
        h->sent_ms = clock_ms();
        w->probe.knows_time = false;
        script_heartbeat(&c, &w->root, &w->caller, w->sweeps.from, h->is_tenth, queues, n);
        h->life = registration_life(w);
        h->in_flight = link_script(w->connection.data, &c, on_answer, w) == MUSTER_OK;
        figures_add(&w->figures.heartbeats, h->in_flight);
    }
    if (h->in_flight)
        lifeline_watch(w);
    command_clear(&c);
    free(queues);
    free(served);
    if (!h->in_flight)
        heartbeat_retry(w);
}

void heartbeat_apply_probe(struct muster_worker *w, enum probe_result result)
{
    w->heartbeat.in_flight = false;
    lifeline_end(w);
    if (result == PROBE_CUT_OFF || !connection_can_call(w))
        return;
    if (result == PROBE_NOT_ENOUGH) {
        beat_by_script(w);
        return;
    }
    /* A hand-over since then is seen by its message, or by the next heartbeat. */
    note_confirmed(w, 0, 0, w->probe.n_ears);
    set_next(w);
}

/* The last echo never came, and nothing else did. If the answer has just come, because it was late, the echo may still be on
 * its way. */
static bool is_subscription_silent(const struct muster_worker *w)
{
    const struct heartbeat *h = &w->heartbeat;
    return w->connection.is_subscribed && h->echo.waits && w->wake.last_message_ms < h->sent_ms &&
           clock_ms() - h->echo.since_ms >= h->interval_ms / 2;
}

void heartbeat_now(struct muster_worker *w)
{
    struct heartbeat *h = &w->heartbeat;
    if (h->in_flight || !connection_can_call(w))
        return;
    if (is_subscription_silent(w))
        link_break(w->connection.subscription, MUSTER_E_TIMEOUT, "open, but silent");
    h->is_tenth = ++h->count % THOROUGH_EVERY == 0;
    if (h->is_tenth)
        w->probe.failed_in_a_row = 0;
    h->sent_ms = clock_ms();
    h->subscription = w->connection.pair.subscription;
    h->in_flight = !h->is_tenth && probe_may_do(w) && probe_begin(w);
    figures_add(&w->figures.probes, h->in_flight);
    if (h->in_flight)
        lifeline_watch(w);
    else
        beat_by_script(w);
}

/* Time for a heartbeat, or to try again what was refused. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    figures_add_time(&w->figures.lag, clock_us() - w->heartbeat.due_us);
    if (w->state == WORKER_REGISTERING)
        registration_begin(w);
    else if (registration_is_there(w) && !w->connection.is_read_back)
        readback_ask(w);
    else if (w->state == WORKER_LEAVING)
        registration_end(w);
    else
        heartbeat_now(w);
}

/* ---- life ---- */

void heartbeat_stop(struct muster_worker *w)
{
    event_del(w->heartbeat.timer);
    lifeline_end(w);
    fence_stop(w);
    timer_keeper_stop(w);
}

void heartbeat_forget(struct muster_worker *w)
{
    w->heartbeat.echo.waits = false;
    w->heartbeat.echo_token = 0;
}

int heartbeat_new(struct muster_worker *w)
{
    w->heartbeat.timer = evtimer_new(w->base, on_timer, w);
    return w->heartbeat.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void heartbeat_free(struct muster_worker *w)
{
    if (w->heartbeat.timer)
        event_free(w->heartbeat.timer);
}
