/* SPDX-License-Identifier: MIT
 *
 * A life of the id in Redis: it begins with `start`, under a nonce, and ends with `stop`, or when a call is answered
 * E_GONE because peers have swept the worker or the keys are gone.
 *
 * An unanswered `start` is sent again under the same nonce and gets the same epoch. An unanswered `stop` is sent again
 * after the read-back of the next connection; if that says that the registration is gone, it was done.
 */
#include "worker/registration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "base/words.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* Something may remove each registration as soon as it is there, such as a Redis that is full and evicts. */
#define LIFE_LEAST_MS 1000

bool registration_is_there(const struct muster_worker *w)
{
    return w->caller.epoch[0] != '\0';
}

struct life registration_life(const struct muster_worker *w)
{
    struct life life;
    memcpy(life.epoch, w->caller.epoch, sizeof life.epoch);
    return life;
}

bool registration_is_life(const struct muster_worker *w, const struct life *life)
{
    return memcmp(life->epoch, w->caller.epoch, sizeof life->epoch) == 0;
}

/* ---- beginning ---- */

static void registered(struct muster_worker *w, const struct script_started *started)
{
    w->registration.nonce[0] = '\0';
    w->registration.not_before_ms = clock_in_ms(LIFE_LEAST_MS);
    tell_accepted(w, REQUEST_START);
    memcpy(w->caller.epoch, started->epoch, sizeof w->caller.epoch);
    figures_set(&w->figures.registered, 1);
    w->caller.conn = 0;
    w->connection.is_read_back = true;
    connection_accepted(w);
    heartbeat_set_interval(w, started->interval_ms);
    resume_begin(w, started->to_take_up);
    fence_confirm(w, w->heartbeat.sent_ms);
    trace_line(TRACE_STATE, "worker %s: registered, epoch %s, %llu of a former life to take up", w->id, w->caller.epoch,
               (unsigned long long)started->to_take_up);
    worker_enter(w, WORKER_WORKING);
    heartbeat_now(w);
    risk_look(w);
}

/* A refusal that ends the worker. */
static void say_refusal(struct muster_worker *w, int err, const struct redisReply *reply)
{
    char why[400];
    const char *format = reply_text(reply_at(reply, 1));
    if (err == MUSTER_E_FORMAT && format)
        format_refusal(why, sizeof why, w->prefix, format);
    else
        snprintf(why, sizeof why, "%s", err == MUSTER_E_EXISTS ? "a live worker has this id" : muster_err_text(err));
    tell_why(w, err, "worker %s: %s", w->id, why);
}

/* One that may pass. A worker that is to stop needs no registration any more. */
static void refused(struct muster_worker *w, int err, const struct redisReply *reply)
{
    const char *key = err == MUSTER_E_REDIS ? reply_text(reply_at(reply, 1)) : NULL;
    if (key)
        tell_refused_for_key(w, REQUEST_START, key);
    else
        tell_refused(w, REQUEST_START, err, reply_text(reply));
    if (key || reply_is_refusal(reply, "WRONGTYPE"))
        burst_end_at_damage(w);
    if (stop_is_wished(w))
        stop_at_once(w);
    else
        heartbeat_retry(w);
}

static void on_started(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_started started;
    w->registration.starting = false;
    if (w->state != WORKER_REGISTERING)
        return;
    if (!reply) { /* asked again when the connection is back */
        if (stop_is_wished(w))
            stop_at_once(w); /* if it was registered after all, that ends with its ttl: it holds nothing */
        return;
    }
    int err = script_started(reply, &started);
    if (err == MUSTER_OK) {
        registered(w, &started);
    } else if (!w->was_started && (err == MUSTER_E_EXISTS || err == MUSTER_E_FORMAT || err == MUSTER_E_DENIED)) {
        say_refusal(w, err, reply);
        stop_at_once(w);
    } else {
        refused(w, err, reply);
    }
}

void registration_begin(struct muster_worker *w)
{
    char host[64] = "";
    struct command c = COMMAND_EMPTY;
    struct registration *r = &w->registration;
    if (r->starting || w->stop.is_at_once || !link_is_up(w->connection.data) || !w->connection.is_subscribed)
        return;
    if (clock_ms() < r->not_before_ms) {
        heartbeat_retry(w);
        return;
    }
    if (!r->nonce[0])
        snprintf(r->nonce, sizeof r->nonce, "%08x%08x", arc4random(), arc4random());
    gethostname(host, sizeof host - 1);
    w->heartbeat.sent_ms = clock_ms();
    script_start(&c, &w->root,
                 &(struct script_start){.worker = w->id,
                                        .nonce = r->nonce,
                                        .host = host,
                                        .ttl_ms = w->ttl_ms,
                                        .hands = w->hands + w->prefetch,
                                        .permanent = w->permanent,
                                        .resume = w->resume,
                                        .pid = getpid()});
    r->starting = link_script(w->connection.data, &c, on_started, w) == MUSTER_OK;
    command_clear(&c);
    if (!r->starting)
        heartbeat_retry(w);
}

/* ---- ending ---- */

static void forget(struct muster_worker *w)
{
    memset(w->caller.epoch, 0, sizeof w->caller.epoch);
    figures_set(&w->figures.registered, 0);
    heartbeat_forget(w);
    readback_forget(w);
    fence_forget(w);
    timer_keeper_stop(w);
    leave_forget(w);
    for (size_t i = 0; i < w->n_served; i++)
        share_forget(w->served[i]);
    resume_forget(w);
    marks_forget(w, UINT64_MAX);
    w->ages.before_ms = 0;
}

/* What it held is in other hands, which nobody has asked for. */
static void lose_while_stopping(struct muster_worker *w)
{
    if (w->state == WORKER_DRAINING && w->processes.n_known > 0)
        tell_why(w, MUSTER_E_GONE, "the registration was lost before what ran had ended; its tasks are in other hands");
}

static void deregistered(struct muster_worker *w, bool gave_back)
{
    memset(w->caller.epoch, 0, sizeof w->caller.epoch);
    figures_set(&w->figures.registered, 0);
    if (gave_back)
        end_went_back(w, NULL);
    stop_at_once(w);
}

void registration_gone(struct muster_worker *w)
{
    bool is_stopping = w->state != WORKER_WORKING;
    if (!registration_is_there(w))
        return;
    if (w->registration.may_have_stopped) {
        deregistered(w, true);
        return;
    }
    trace_line(TRACE_STATE, "worker %s: epoch %s is over", w->id, w->caller.epoch);
    forget(w);
    figures_add(&w->figures.lost, 1);
    tell_event(w, MUSTER_EVENT_LOST, MUSTER_E_GONE, is_stopping ? TELL_LOST TELL_LOST_AND_STOPS : TELL_LOST, NULL);
    if (is_stopping)
        lose_while_stopping(w);
    end_lose_all(w);
    if (!is_stopping)
        worker_enter(w, WORKER_REGISTERING);
    else
        stop_at_once(w); /* nothing is left to give back */
}

/* Waiting does not mend a key, and its peers cannot give the tasks back before that either. */
static void stop_at_damage(struct muster_worker *w, const char *key)
{
    tell_why(w, MUSTER_E_REDIS,
             "could not deregister: " TELL_WRONG_TYPE "; its peers give back what it held when that is done", key);
    stop_at_once(w);
}

static void on_stopped(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    uint64_t n;
    const char *damaged;
    w->registration.stopping = false;
    w->registration.may_have_stopped |= !reply;
    if (!reply || w->state != WORKER_LEAVING)
        return; /* no answer: it is sent again after the read-back of the next connection */
    int err = script_given_back(reply, &n, &damaged);
    if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_OK || err == MUSTER_E_GONE) {
        deregistered(w, err == MUSTER_OK);
    } else if (err == MUSTER_E_REDIS && damaged) {
        stop_at_damage(w, damaged);
    } else {
        tell_refused(w, REQUEST_STOP, err, reply_text(reply));
        heartbeat_retry(w);
    }
}

void registration_end(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (w->registration.stopping || w->state != WORKER_LEAVING)
        return;
    if (!registration_is_there(w)) {
        stop_at_once(w);
        return;
    }
    if (!w->connection.is_read_back || !link_is_up(w->connection.data))
        return;
    script_stop(&c, &w->root, &w->caller);
    w->registration.stopping = link_script(w->connection.data, &c, on_stopped, w) == MUSTER_OK;
    command_clear(&c);
    if (!w->registration.stopping)
        heartbeat_retry(w);
}
