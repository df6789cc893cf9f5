/* SPDX-License-Identifier: MIT
 *
 * Registration: beginning a life of the id, showing that it goes on, noticing that it may not, sweeping those that
 * ended, and leaving.
 *
 * Design notes
 *
 * The fence. Peers may sweep this worker when its ttl has passed since Redis got its last heartbeat. The worker counts
 * the same ttl from when it sent the last heartbeat that was confirmed, which is earlier; so it knows first. From then
 * on (a doubt) nothing starts, and handlers were told MUSTER_STOP_LOST. A doubt ends with the next confirmed heartbeat
 * and a read-back after it; E_GONE instead means that peers have swept it, and it registers anew.
 *
 * The echo. Each heartbeat makes Redis publish its last token N on the worker's own channel. Messages of one channel
 * keep their order, so when the echo is here, all hand-overs up to N are here too, if none was lost. Then the worker
 * counts what it knows up to N. Fewer than Redis said it holds: a hand-over was lost. More: somebody else has ended
 * one. Either way a read-back, which also puts Redis' count right, should that be what is wrong. The answer
 * and the echo come on two connections, in any order; what was confirmed as ended in between counts as known. No echo
 * until the next heartbeat, and nothing else on the subscription either: it is open but dead, and is made anew.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

/* After a refusal (loading, busy, full) the next try comes after so long, or an interval if that is shorter. */
#define REFUSED_PAUSE_MS 500
/* One heartbeat of so many looks after queue names that may be over. */
#define TIDY_EVERY 10

static void beat_after(struct muster_worker *w, int64_t ms)
{
    timer_after_ms(w->beat_timer, ms > 0 ? ms : 0);
}

static void beat_after_refusal(struct muster_worker *w)
{
    beat_after(w, w->interval_ms > 0 && w->interval_ms < REFUSED_PAUSE_MS ? w->interval_ms : REFUSED_PAUSE_MS);
}

/* ---- the fence ---- */

static int64_t fence_left_ms(const struct muster_worker *w)
{
    return w->confirmed_at_ms + w->ttl_ms - clock_ms();
}

static void enter_doubt(struct muster_worker *w)
{
    w->fenced = 1;
    trace_line(TRACE_STATE, "worker %s: no confirmed heartbeat for %d ms, in doubt", w->id, w->ttl_ms);
    worker_tell(w, MUSTER_EVENT_DOUBT, MUSTER_OK, NULL, NULL);
    process_tell_all_stop(w, MUSTER_STOP_LOST);
}

int heartbeat_is_fenced(struct muster_worker *w)
{
    if (!w->fenced && !w->permanent && worker_is_registered(w) && fence_left_ms(w) <= 0)
        enter_doubt(w);
    return w->fenced;
}

static void on_fence_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    /* The loop's clock is another one and coarser: a timer may come a little early. */
    if (worker_is_registered(w) && !heartbeat_is_fenced(w))
        timer_after_ms(w->fence_timer, fence_left_ms(w));
}

void heartbeat_unfence(struct muster_worker *w)
{
    if (!w->fenced)
        return;
    w->fenced = 0;
    trace_line(TRACE_STATE, "worker %s: still registered, goes on", w->id);
    process_dispatch(w);
    turn_hungry(w);
}

static void confirmed(struct muster_worker *w, int64_t sent_ms)
{
    w->confirmed_at_ms = sent_ms;
    int64_t left_ms = fence_left_ms(w);
    if (!w->permanent) /* whom its peers never sweep */
        timer_after_ms(w->fence_timer, left_ms > 0 ? left_ms : 0);
}

/* ---- registering ---- */

static void on_started(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_started started;
    w->starting = 0;
    if (w->state != WORKER_REGISTERING)
        return;
    if (!reply) { /* asked again, under the same nonce, when the connection is back */
        if (stop_is_wished(w))
            worker_stopped(w, w->result); /* if it was registered after all, that ends with its ttl: it holds nothing */
        return;
    }
    int err = script_started(reply, &started);
    if (!w->was_started && (err == MUSTER_E_EXISTS || err == MUSTER_E_FORMAT || err == MUSTER_E_DENIED)) {
        snprintf(w->error, sizeof w->error, "worker %s: %s", w->id,
                 err == MUSTER_E_EXISTS ? "a live worker has this id" : muster_err_text(err));
        worker_stopped(w, err);
    } else if (err != MUSTER_OK) {
        const char *key = reply_text(reply_at(reply, 1));
        worker_refused(w, SAID_START, err, reply_text(reply) ? reply_text(reply) : key);
        beat_after_refusal(w);
    } else {
        w->nonce[0] = '\0';
        worker_accepted(w, SAID_START);
        memcpy(w->who.epoch, started.epoch, sizeof w->who.epoch);
        w->who.conn = 0;
        w->synced = 1;
        w->interval_ms = started.interval_ms;
        confirmed(w, w->beat_sent_ms);
        trace_line(TRACE_STATE, "worker %s: registered, epoch %s", w->id, w->who.epoch);
        worker_enter(w, WORKER_WORKING);
        heartbeat_now(w);
    }
}

void heartbeat_register(struct muster_worker *w)
{
    char host[64] = "";
    struct command c = COMMAND_EMPTY;
    if (w->starting || !link_is_up(w->data) || !w->subscribed)
        return;
    if (!w->nonce[0])
        snprintf(w->nonce, sizeof w->nonce, "%08x%08x", arc4random(), arc4random());
    gethostname(host, sizeof host - 1);
    w->beat_sent_ms = clock_ms();
    script_start(&c, &w->root,
                 &(struct script_start){.worker = w->id,
                                        .nonce = w->nonce,
                                        .host = host,
                                        .ttl_ms = w->ttl_ms,
                                        .hands = w->hands + w->prefetch,
                                        .permanent = w->permanent,
                                        .resume = w->resume,
                                        .pid = getpid()});
    w->starting = link_script(w->data, &c, on_started, w) == MUSTER_OK;
    command_clear(&c);
}

void heartbeat_gone(struct muster_worker *w)
{
    if (!worker_is_registered(w))
        return;
    trace_line(TRACE_STATE, "worker %s: epoch %s is over", w->id, w->who.epoch);
    memset(w->who.epoch, 0, sizeof w->who.epoch);
    w->fenced = w->heard.waits = w->reading = w->read_again = w->unfence_after = 0;
    w->echo_token = 0;
    event_del(w->fence_timer);
    timer_keeper_stop(w);
    leave_gone(w);
    marks_forget(w, UINT64_MAX);
    worker_tell(w, MUSTER_EVENT_LOST, MUSTER_E_GONE, "the registration is gone: its peers took its tasks back", NULL);
    process_lose_all(w);
    if (w->state == WORKER_WORKING)
        worker_enter(w, WORKER_REGISTERING);
    else
        worker_stopped(w, w->result); /* it was leaving: there is nothing left to give back */
}

/* ---- sweeping ---- */

struct sweep {
    struct muster_worker *worker;
    char victim[MUSTER_WORKER_ID_MAX + 1];
};

static void on_swept(const struct redisReply *reply, void *arg)
{
    struct sweep *s = arg;
    struct muster_worker *w = s->worker;
    uint64_t n;
    const char *damaged;
    int err = reply ? script_given_back(reply, &n, &damaged) : MUSTER_E_CONN;
    if (err == MUSTER_OK) {
        char line[160];
        worker_accepted(w, SAID_SWEEP);
        snprintf(line, sizeof line, "worker %s failed: gave %llu of its tasks back", s->victim, (unsigned long long)n);
        trace_line(TRACE_STATE, "%s", line);
        worker_tell(w, MUSTER_EVENT_SWEPT, MUSTER_OK, line, NULL);
    } else if (reply && err != MUSTER_E_STATE && err != MUSTER_E_NOT_FOUND) {
        w->registry_from++; /* it stays where it is: look behind it next time */
        if (damaged)
            worker_damaged(w, damaged);
        else
            worker_refused(w, SAID_SWEEP, err, reply_text(reply));
    }
    free(s);
}

static void sweep(struct muster_worker *w, const char *victim)
{
    struct sweep *s = malloc(sizeof *s);
    struct command c = COMMAND_EMPTY;
    if (!s)
        return;
    s->worker = w;
    snprintf(s->victim, sizeof s->victim, "%s", victim);
    script_sweep(&c, &w->root, s->victim, 0);
    if (link_script(w->data, &c, on_swept, s) != MUSTER_OK)
        free(s);
    command_clear(&c);
}

static void sweep_all(struct muster_worker *w, const struct redisReply *reply, const struct script_heard *heard)
{
    /* Ten at a time from where the last look ended; those that are swept now no longer take up places. */
    uint64_t stay = HEARTBEAT_BATCH - (heard->n_dead < HEARTBEAT_BATCH ? heard->n_dead : HEARTBEAT_BATCH);
    w->registry_from = heard->looked_at == HEARTBEAT_BATCH ? w->registry_from + stay : 0;
    for (size_t i = 0; i < heard->n_dead; i++) {
        const char *victim = script_heard_dead(reply, i);
        if (victim && !muster_worker_id_check(victim))
            sweep(w, victim);
    }
}

/* ---- heartbeat ---- */

/* Both the answer and the echo are here: does the worker know all that it holds? */
static void compare(struct muster_worker *w)
{
    w->heard.waits = 0;
    uint64_t known = process_known_upto(w, w->heard.token) + w->heard.ended_since;
    if (known == w->heard.held)
        return;
    trace_line(TRACE_WAKE, "worker %s holds %llu, knows %llu: reads back", w->id, (unsigned long long)w->heard.held,
               (unsigned long long)known);
    wake_read_back(w);
}

void heartbeat_echo(struct muster_worker *w, uint64_t token)
{
    if (token > w->echo_token)
        w->echo_token = token;
    if (w->heard.waits && w->echo_token >= w->heard.token)
        compare(w);
}

void heartbeat_count_ended(struct muster_worker *w, uint64_t token)
{
    if (w->heard.waits && token <= w->heard.token)
        w->heard.ended_since++;
}

/* A heartbeat of either kind is confirmed; its echo is on the way. */
static void lives(struct muster_worker *w, uint64_t token, uint64_t held)
{
    worker_accepted(w, SAID_HEARTBEAT);
    confirmed(w, w->beat_sent_ms);
    w->heard.waits = 1;
    w->heard.token = token;
    w->heard.held = held;
    w->heard.ended_since = 0;
}

static void beat_on(struct muster_worker *w)
{
    if (w->fenced) {
        w->unfence_after = 1;
        wake_read_back(w);
    }
    beat_after(w, w->beat_sent_ms + w->interval_ms - clock_ms());
}

static void heard(struct muster_worker *w, const struct redisReply *reply, const struct script_heard *h)
{
    w->interval_ms = h->interval_ms;
    lives(w, h->last_token, h->held);
    if (w->echo_token >= h->last_token)
        compare(w);
    if (w->tidies)
        w->name_at = h->next_name;
    marks_forget(
        w, h->last_token); /* takes up to it were answered on this connection, hand-overs came before their marks */
    marks_list(w, h->marks);
    worker_damaged(w, h->damaged);
    sweep_all(w, reply, h);
    serve_announce(w);
    while (!TAILQ_EMPTY(&w->lists[PROCESS_REFUSED])) {
        process_move(TAILQ_FIRST(&w->lists[PROCESS_REFUSED]), PROCESS_ENDED);
        turn_due(w);
    }
    timer_keeper_heard(w, h->next_due_ms);
    if (h->work)
        turn_hungry(w);
    if (w->n_leaving > 0)
        turn_due(w);
    beat_on(w);
}

static void on_heard(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_heard h;
    w->beating = 0;
    if (!reply || !worker_is_registered(w) || w->state > WORKER_DRAINING)
        return;
    int err = script_heard(reply, &h);
    if (err == MUSTER_OK) {
        heard(w, reply, &h);
    } else if (err == MUSTER_E_GONE) {
        heartbeat_gone(w);
    } else if (err == MUSTER_E_STATE) {
        worker_out_of_step(w);
    } else {
        worker_refused(w, SAID_HEARTBEAT, err, reply_text(reply));
        beat_after_refusal(w);
    }
}

/* The last echo never came, and nothing else did. */
static int is_subscription_silent(const struct muster_worker *w)
{
    return w->subscribed && w->heard.waits && w->last_message_ms < w->beat_sent_ms;
}

static void beat_by_script(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    struct served **served;
    size_t n;
    struct script_queue *queues = serve_queues(w, 0, &served, &n);
    if (queues) {
        w->who.hands = worker_capacity(w);
        w->beat_sent_ms = clock_ms();
        w->look.renews = 0;
        script_heartbeat(&c, &w->root, &w->who, w->registry_from, w->tidies ? w->name_at : -1, queues, n);
        w->beating = link_script(w->data, &c, on_heard, w) == MUSTER_OK;
    }
    command_clear(&c);
    free(queues);
    free(served);
    if (!w->beating)
        beat_after_refusal(w);
}

void heartbeat_looked(struct muster_worker *w, int is_answered, int does)
{
    w->beating = 0;
    if (!is_answered || !worker_can_call(w))
        return;
    if (!does) {
        beat_by_script(w);
        return;
    }
    lives(w, 0, 0); /* whatever was handed over since is seen by its message, or by the next heartbeat */
    beat_on(w);
}

void heartbeat_now(struct muster_worker *w)
{
    if (w->beating || !worker_can_call(w))
        return;
    if (is_subscription_silent(w))
        link_break(w->subscription, MUSTER_E_TIMEOUT, "open, but silent");
    w->tidies = ++w->beats % TIDY_EVERY == 0;
    if (w->tidies)
        w->look.misses = 0;
    w->beat_sent_ms = clock_ms();
    w->beating = !w->tidies && look_may_do(w) && look_begin(w);
    if (!w->beating)
        beat_by_script(w);
}

/* Time for a heartbeat, or to try again what was refused. */
static void on_beat_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (w->state == WORKER_REGISTERING)
        heartbeat_register(w);
    else if (worker_is_registered(w) && !w->synced)
        wake_read_back(w);
    else if (w->state == WORKER_LEAVING)
        heartbeat_leave(w);
    else
        heartbeat_now(w);
}

void heartbeat_retry(struct muster_worker *w)
{
    beat_after_refusal(w);
}

void heartbeat_stop(struct muster_worker *w)
{
    event_del(w->beat_timer);
    event_del(w->fence_timer);
    timer_keeper_stop(w);
}

/* ---- leaving ---- */

static void on_left(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    uint64_t n;
    const char *damaged;
    w->leave_sent = 0;
    if (!reply || w->state != WORKER_LEAVING)
        return; /* no answer: said again after the read-back of the next connection */
    int err = script_given_back(reply, &n, &damaged);
    if (err == MUSTER_E_STATE) {
        worker_out_of_step(w);
    } else if (err == MUSTER_OK || err == MUSTER_E_GONE) {
        memset(w->who.epoch, 0, sizeof w->who.epoch);
        worker_stopped(w, w->result);
    } else {
        worker_refused(w, SAID_STOP, err, damaged ? damaged : reply_text(reply));
        beat_after_refusal(w);
    }
}

void heartbeat_leave(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (w->leave_sent || w->state != WORKER_LEAVING)
        return;
    if (!worker_is_registered(w)) {
        worker_stopped(w, w->result);
        return;
    }
    if (!w->synced || !link_is_up(w->data))
        return;
    script_stop(&c, &w->root, &w->who);
    w->leave_sent = link_script(w->data, &c, on_left, w) == MUSTER_OK;
    command_clear(&c);
}

int heartbeat_new_events(struct muster_worker *w)
{
    w->beat_timer = evtimer_new(w->base, on_beat_timer, w);
    w->fence_timer = evtimer_new(w->base, on_fence_timer, w);
    return w->beat_timer && w->fence_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}
