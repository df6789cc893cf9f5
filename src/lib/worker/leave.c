/* SPDX-License-Identifier: MIT
 *
 * Leaving a queue: one script gives back all of the worker's own processes of it, started or not, in order. It answers
 * the last token N: hand-overs of the queue up to N are void, should it be served again.
 *
 * From the call on nothing of the queue starts. Handlers that run on are told, and their processes are somebody else's;
 * but a child process must be gone first, for its task must not start elsewhere while it still runs here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "worker/worker.h"

int muster_worker_leave(struct muster_worker *w, const char *queue)
{
    struct served *s = queue ? serve_find(w, queue, strlen(queue)) : NULL;
    if (!s || s->serving == LEFT)
        return MUSTER_E_NOT_FOUND;
    if (w->state > WORKER_WORKING)
        return MUSTER_E_STATE;
    if (s->serving == SERVING) {
        s->serving = LEAVING;
        s->told = s->leave_sent = 0;
        w->n_leaving++;
        turn_due(w);
    }
    return MUSTER_OK;
}

static void left(struct muster_worker *w, struct served *s, uint64_t last_token)
{
    s->serving = LEFT;
    s->announced = 0;
    s->dropped_upto = last_token;
    w->n_leaving--;
    turn_hungry(w); /* hands that it had are free for other queues */
    trace_line(TRACE_STATE, "worker %s has left %s", w->id, s->name);
    worker_tell_of(w, MUSTER_EVENT_LEFT, s->name, (struct muster_bytes){NULL, 0});
}

struct leaving {
    struct muster_worker *worker;
    struct served *served;
    char epoch[TOKEN_LEN + 1];
};

static void on_left(const struct redisReply *reply, void *arg)
{
    struct leaving *l = arg;
    struct muster_worker *w = l->worker;
    struct served *s = l->served;
    uint64_t last_token;
    const char *damaged;
    int is_old = memcmp(l->epoch, w->who.epoch, sizeof l->epoch) != 0;
    free(l);
    if (is_old)
        return;
    s->leave_sent = 0;
    if (!reply)
        return; /* said again after the read-back of the next connection */
    int err = script_left(reply, &last_token, &damaged);
    if (err == MUSTER_OK) {
        worker_accepted(w, SAID_LEAVE);
        left(w, s, last_token);
    } else if (err == MUSTER_E_GONE) {
        heartbeat_gone(w);
    } else if (err == MUSTER_E_STATE) {
        worker_out_of_step(w);
    } else {
        worker_refused(w, SAID_LEAVE, err, damaged ? damaged : reply_text(reply)); /* the next heartbeat tries again */
    }
}

static void send_leave(struct muster_worker *w, struct served *s)
{
    struct leaving *l = malloc(sizeof *l);
    struct command c = COMMAND_EMPTY;
    if (!l)
        return;
    *l = (struct leaving){.worker = w, .served = s};
    memcpy(l->epoch, w->who.epoch, sizeof l->epoch);
    w->who.hands = worker_capacity(w); /* handlers that run on keep theirs */
    script_leave(&c, &w->root, &w->who, s->name);
    s->leave_sent = link_script(w->data, &c, on_left, l) == MUSTER_OK;
    command_clear(&c);
    if (!s->leave_sent)
        free(l);
}

/* The program may end any of them while it is told: so always the first one, which is put at the end before. */
static void tell_running(struct muster_worker *w, struct served *s)
{
    for (size_t n = w->counts[PROCESS_RUNNING]; n > 0 && !TAILQ_EMPTY(&w->lists[PROCESS_RUNNING]); n--) {
        struct muster_process *p = TAILQ_FIRST(&w->lists[PROCESS_RUNNING]);
        process_move(p, PROCESS_RUNNING);
        if (p->served == s && !p->is_foreign)
            process_tell_stop(p, MUSTER_STOP_DRAIN);
    }
}

/* They go back with all the rest, in their place. */
static void forget_unstarted(struct muster_worker *w, const struct served *s)
{
    for (int state = PROCESS_FETCHING; state <= PROCESS_READY; state++) {
        struct muster_process *p, *next;
        for (p = TAILQ_FIRST(&w->lists[state]); p; p = next) {
            next = TAILQ_NEXT(p, in_list);
            if (p->served == s)
                process_free(p);
        }
    }
}

/* Its ends that are not on their way yet, and its children, come first. */
static int must_wait(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p;
    TAILQ_FOREACH(p, &w->lists[PROCESS_ENDED], in_list)
        if (p->served == s)
            return 1;
    TAILQ_FOREACH(p, &w->lists[PROCESS_RUNNING], in_list)
        if (p->served == s && p->child)
            return 1;
    return 0;
}

static void disown_running(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p;
    TAILQ_FOREACH(p, &w->lists[PROCESS_RUNNING], in_list)
        if (p->served == s && !p->is_foreign)
            process_disown(p);
}

static void go_on(struct muster_worker *w, struct served *s)
{
    if (!s->told) {
        s->told = 1;
        tell_running(w, s);
    }
    if (s->leave_sent || s->announcing || must_wait(w, s))
        return;
    if (!s->announced) {
        left(w, s, 0); /* Redis does not know that it was served */
        return;
    }
    if (!worker_can_call(w))
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

void leave_gone(struct muster_worker *w)
{
    for (size_t i = 0; i < w->n_served; i++) {
        w->served[i]->announced = w->served[i]->announcing = w->served[i]->leave_sent = 0;
        w->served[i]->dropped_upto = 0;
    }
    if (w->n_leaving > 0)
        turn_due(w);
}
