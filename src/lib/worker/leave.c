/* SPDX-License-Identifier: MIT
 *
 * Leaving a queue: one script gives back all of the worker's own processes of it, started or not, in order. It answers
 * the last token N: if the queue is served again, its hand-overs up to N are void.
 *
 * After the call nothing of the queue starts. Handlers that still run are told, and their processes belong to somebody
 * else. But a child process must be gone first: its task must not start elsewhere while it still runs here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

static void begin_leaving(struct muster_worker *w, struct served *s)
{
    s->serving = LEAVING;
    s->handlers_told = s->leave_in_flight = false;
    w->n_leaving++;
    round_due(w);
}

void leave_again(struct muster_worker *w, struct served *s)
{
    trace_line(TRACE_STATE, "worker %s leaves %s again", w->id, s->name);
    s->is_announced = true;
    begin_leaving(w, s);
}

static int leave(struct muster_worker *w, const void *arg)
{
    const char *queue = arg;
    struct served *s = queue ? serve_find(w, queue, strlen(queue)) : NULL;
    if (!s || s->serving == LEFT)
        return tell_error_as(w, MUSTER_E_NOT_FOUND, "the worker does not serve the queue '%s'", queue ? queue : "");
    if (w->state > WORKER_WORKING)
        return tell_error_as(w, MUSTER_E_STATE, "the worker stops, or has stopped");
    if (s->serving == SERVING) {
        dispatch_call_off(w);
        begin_leaving(w, s);
    }
    return MUSTER_OK;
}

int muster_worker_leave(struct muster_worker *w, const char *queue)
{
    return calls_carry_out(w, leave, queue);
}

static void end_leaving(struct muster_worker *w, struct served *s, uint64_t last_token)
{
    s->serving = LEFT;
    s->is_announced = false;
    end_went_back(w, s);
    s->dropped_upto = last_token;
    w->n_leaving--;
    turn_want_take(w); /* its hands are free for other queues */
    trace_line(TRACE_STATE, "worker %s has left %s", w->id, s->name);
    tell_queue_event(w, MUSTER_EVENT_LEFT, s->name, (struct muster_bytes){NULL, 0});
}

struct leaving {
    struct muster_worker *worker;
    struct served *served;
    struct life life;
};

static void on_left(const struct redisReply *reply, void *arg)
{
    struct leaving *l = arg;
    struct muster_worker *w = l->worker;
    struct served *s = l->served;
    uint64_t last_token;
    const char *damaged;
    bool is_old = !registration_is_life(w, &l->life);
    free(l);
    if (is_old)
        return;
    s->leave_in_flight = false;
    if (!reply)
        return; /* it is sent again after the read-back of the next connection */
    int err = script_left(reply, &last_token, &damaged);
    if (err == MUSTER_OK) {
        tell_accepted(w, REQUEST_LEAVE);
        end_leaving(w, s, last_token);
    } else if (err == MUSTER_E_GONE) {
        registration_gone(w);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (err == MUSTER_E_REDIS && damaged) {
        tell_refused_for_key(w, REQUEST_LEAVE, damaged); /* the next heartbeat tries again */
    } else {
        tell_refused(w, REQUEST_LEAVE, err, reply_text(reply));
    }
}

static void send_leave(struct muster_worker *w, struct served *s)
{
    struct leaving *l = malloc(sizeof *l);
    struct command c = COMMAND_EMPTY;
    if (!l)
        return;
    *l = (struct leaving){.worker = w, .served = s};
    l->life = registration_life(w);
    w->caller.hands = worker_capacity(w); /* handlers that still run keep their hands */
    script_leave(&c, &w->root, &w->caller, s->name);
    s->leave_in_flight = link_script(w->connection.data, &c, on_left, l) == MUSTER_OK;
    command_clear(&c);
    if (!s->leave_in_flight)
        free(l);
}

static bool is_of_queue(const struct muster_process *p, const void *served)
{
    return p->served == served && (!p->is_disowned || p->is_ended);
}

/* The script gives them back with all the rest, in their place. */
static void forget_unstarted(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p, *next;
    for (p = process_first(w, IS_UNTOUCHED); p; p = next) {
        next = process_next(p, IS_UNTOUCHED);
        if (p->served == s)
            process_free(p);
    }
}

/* A suspect that may be said to begin, ends, and child processes come first; and every call about the queue that is under
 * way: one that is said once more, because Redis did not know the script, would come too late. */
static bool must_wait(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p;
    if (s->announcing || s->share.in_flight || s->n_looks > 0 || suspect_must_step_back(w, s))
        return true;
    PROCESS_EACH(p, w, IS_HELD | IS_DUE | IS_SENT)
        if (p->served == s)
            return true;
    PROCESS_EACH(p, w, IS_RUNNING)
        if (p->served == s && p->child)
            return true;
    return false;
}

static void disown_running(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p;
    PROCESS_EACH(p, w, IS_RUNNING)
        if (p->served == s && !p->is_disowned)
            process_disown(p);
}

static void go_on(struct muster_worker *w, struct served *s)
{
    if (!s->handlers_told) {
        s->handlers_told = true;
        process_tell_running(w, MUSTER_STOP_DRAIN, is_of_queue, s);
    }
    if (s->leave_in_flight || must_wait(w, s))
        return;
    if (!s->is_announced) {
        end_leaving(w, s, 0); /* Redis does not know that it was served */
        return;
    }
    if (!connection_can_call(w))
        return;
    forget_unstarted(w, s);
    disown_running(w, s);
    send_leave(w, s);
}

void leave_go_on(struct muster_worker *w)
{
    for (size_t i = 0; w->n_leaving > 0 && i < w->n_served && w->state <= WORKER_WORKING; i++)
        if (w->served[i]->serving == LEAVING)
            go_on(w, w->served[i]);
}

void leave_forget(struct muster_worker *w)
{
    for (size_t i = 0; i < w->n_served; i++) {
        struct served *s = w->served[i];
        s->is_announced = s->announcing = s->leave_in_flight = false;
        s->dropped_upto = 0;
    }
    if (w->n_leaving > 0)
        round_due(w);
}
