/* SPDX-License-Identifier: MIT
 *
 * The turn: what has ended and what can be taken goes to Redis together, in one script call at the end of a turn of the
 * loop, at most TURN_MAX of each per call and TURNS_IN_FLIGHT calls at once.
 *
 * A take is asked for only with a reason: hands that ends have just freed, or hunger (a start, a new queue, a
 * read-back, work that the heartbeat or a foreign producer announced, a due time). It asks for all free hands; when
 * nothing is left waiting, the worker is idle there, in the same script, and is handed what comes.
 *
 * A call that carries ends asks for all hands that are free after them, whatever calls on their way have asked for: one
 * of those may have found nothing and made the worker idle, a hand-over may have come and ended since. Asking for too
 * much does no harm, for the script counts the hands itself.
 *
 * An end that may be over already has all of its call's ends told one by one: those sent before without an answer,
 * those of processes that were lost or whose fate a read-back is just about to tell. For else, of ends said together of
 * which one does not count, none could be claimed.
 *
 * An end without an answer is unknown: it is sent again when the next connection has been read back. What is
 * refused (loading, busy, full) is sent again after a pause; an end whose queue is damaged, after the next heartbeat.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timer.h"
#include "protocol/names.h"
#include "worker/worker.h"

#define TURN_MAX 200
#define TURNS_IN_FLIGHT 4
#define REFUSED_PAUSE_MS 200

struct turn {
    struct muster_worker *worker;
    char epoch[TOKEN_LEN + 1];
    int want;
    struct served **served; /* by place in the call */
    size_t n_served, n_ends;
    struct muster_process *ends[]; /* in the order of the call */
};

void turn_due(struct muster_worker *w)
{
    if (!w->turner_due) {
        w->turner_due = 1;
        event_active(w->turner, EV_TIMEOUT, 1);
    }
}

void turn_hungry(struct muster_worker *w)
{
    w->hungry = 1;
    turn_due(w);
}

static void turn_free(struct turn *t)
{
    free(t->served);
    free(t);
}

/* ---- the answer ---- */

static void send_again(struct turn *t)
{
    for (size_t i = 0; i < t->n_ends; i++) {
        t->ends[i]->sent_before = 1;
        process_move(t->ends[i], PROCESS_ENDED);
    }
}

/* A status that is missing is none that counted. */
static int status_at(const struct redisReply *statuses, size_t i)
{
    const struct redisReply *status = reply_at(statuses, i);
    return reply_kind(status) == REPLY_INTEGER ? (int)reply_integer(status) : MUSTER_E_LOST;
}

static void settle_ends(struct turn *t, const struct redisReply *statuses)
{
    for (size_t i = 0; i < t->n_ends; i++) {
        struct muster_process *p = t->ends[i];
        int status = statuses ? status_at(statuses, i) : MUSTER_OK;
        if (status != MUSTER_E_REDIS)
            heartbeat_count_ended(t->worker, p->token);
        trace_line(TRACE_STATE, "process %s of %s: end %s", p->token_text, p->served->name,
                   status == MUSTER_OK ? "counted" : muster_err_text(status));
        if (status == MUSTER_OK)
            process_free(p);
        else if (status == MUSTER_E_REDIS)
            process_move(p, PROCESS_REFUSED);
        else
            process_uncounted(p, status);
    }
}

/* `task` NULL: the job that was taken. */
static void taken(struct muster_worker *w, struct served *s, uint64_t token, const struct redisReply *task,
                  const struct script_take *job)
{
    if (process_find(w, token) || s->serving != SERVING)
        return; /* known; or goes back with all that the worker holds of a queue that it leaves */
    struct muster_process *p = process_add(w, s, token);
    if (!p)
        return; /* the next heartbeat's count brings it back */
    p->is_job = task == NULL;
    if (w->state != WORKER_WORKING || p->mark)
        process_give_back(p); /* it was asked for before the stop, or is cancelled already */
    else if ((task ? process_set_task(p, reply_bytes(task)) : process_set_job(p, job->job, job->record)) == MUSTER_OK)
        process_move(p, PROCESS_READY);
    else
        process_free(p);
}

static size_t take_up_tasks(struct muster_worker *w, struct served *s, const struct script_take *take)
{
    for (size_t k = 0; k < reply_len(take->tasks); k++)
        if (reply_kind(reply_at(take->tasks, k)) == REPLY_TEXT)
            taken(w, s, take->first_token + k, reply_at(take->tasks, k), NULL);
    return reply_len(take->tasks);
}

static size_t take_up(struct turn *t, const struct redisReply *reply, const struct script_turned *turned)
{
    size_t n = 0;
    for (size_t i = 0; i < turned->n_takes; i++) {
        struct script_take take;
        if (script_turned_take(reply, i, &take) != MUSTER_OK || take.place >= t->n_served)
            continue;
        struct served *s = t->served[take.place];
        trace_line(TRACE_WAKE, "took %zu of %s", take.job ? 1 : reply_len(take.tasks), s->name);
        if (take.job)
            taken(t->worker, s, take.first_token, NULL, &take);
        n += take.job ? 1 : take_up_tasks(t->worker, s, &take);
    }
    return n;
}

static void turned(struct turn *t, const struct redisReply *reply, const struct script_turned *turned)
{
    struct muster_worker *w = t->worker;
    worker_accepted(w, SAID_TURN);
    settle_ends(t, turned->ends);
    size_t n = take_up(t, reply, turned);
    if (t->want > 0 && n == (size_t)t->want)
        w->hungry = 1; /* there may be more, if hands are left */
    if (turned->damaged)
        worker_damaged(w, turned->damaged);
    process_dispatch(w);
    if (t->want > 0 && n == 0)
        stop_check_burst(w);
}

static void on_turned(const struct redisReply *reply, void *arg)
{
    struct turn *t = arg;
    struct muster_worker *w = t->worker;
    struct script_turned answer;
    w->turns--;
    w->asked -= t->want;
    if (memcmp(t->epoch, w->who.epoch, sizeof t->epoch) != 0) {
        turn_free(t); /* of a former life: its processes are gone */
        return;
    }
    int err = script_turned(reply, &answer);
    if (err == MUSTER_OK) {
        turned(t, reply, &answer);
    } else if (err == MUSTER_E_GONE) {
        heartbeat_gone(w); /* forgets the ends too */
    } else {
        send_again(t);
        w->hungry = 1;
        if (err == MUSTER_E_STATE) {
            worker_out_of_step(w);
        } else if (reply) {
            worker_refused(w, SAID_TURN, err, reply_text(reply));
            timer_after_ms(w->retry_timer, REFUSED_PAUSE_MS);
        }
    }
    turn_free(t);
    turn_due(w);
    stop_check_drained(w);
}

/* ---- the call ---- */

/* Ends that have nothing to say but their token go together. A job's finish is never said with those of tasks, which
 * Redis looks for in bulk. */
static int is_grouped(const struct muster_process *p)
{
    return p->outcome == MUSTER_GIVE_BACK || (p->outcome == MUSTER_FINISH && !p->result && !p->is_job);
}

/* How many of the turn's ends from `from` on go into one group with the first of them; brings them together. */
static size_t group_ends(struct turn *t, size_t from)
{
    struct muster_process *first = t->ends[from];
    size_t to = from + 1;
    if (!is_grouped(first))
        return 1;
    for (size_t i = to; i < t->n_ends; i++)
        if (is_grouped(t->ends[i]) && t->ends[i]->outcome == first->outcome && t->ends[i]->served == first->served) {
            struct muster_process *p = t->ends[i];
            t->ends[i] = t->ends[to];
            t->ends[to++] = p;
        }
    return to - from;
}

static void say_finish(struct command *c, const struct muster_process *p)
{
    const struct muster_bytes result = {p->result, p->result_len};
    if (p->next)
        script_end_next(c, p->served->name, p->token_text,
                        &(struct script_next){.result = p->result ? &result : NULL,
                                              .queue = p->next,
                                              .delay_ms = p->next_delay_ms,
                                              .after = p->next_after});
    else if (p->result)
        script_end_result(c, p->served->name, p->token_text, result);
    else
        script_end_done(c, p->served->name, p->token_text);
}

static void say_ends(struct turn *t, struct command *c)
{
    for (size_t from = 0; from < t->n_ends;) {
        struct muster_process *p = t->ends[from];
        size_t n = group_ends(t, from);
        if (p->outcome == MUSTER_RETRY)
            script_end_retry(c, p->served->name, p->token_text, p->retry_delay_ms, p->group, p->message);
        else if (p->outcome == MUSTER_FAIL)
            script_end_fail(c, p->served->name, p->token_text, p->group ? p->group : FAILURE_GROUP_DEFAULT,
                            p->message ? p->message : "");
        else if (!is_grouped(p))
            say_finish(c, p);
        else
            script_end_group(c, p->outcome == MUSTER_FINISH ? "finish" : "back", p->served->name, n);
        for (size_t i = from; i < from + n && is_grouped(p); i++)
            command_bytes(c, t->ends[i]->token_text, TOKEN_LEN);
        from += n;
    }
}

/* Free hands as Redis will count them once these ends, and those on their way, are in. */
static int free_hands(const struct muster_worker *w, size_t ends)
{
    return worker_capacity(w) - (int)(w->n_known - ends - w->counts[PROCESS_SENT]);
}

/* A turn with the ends to say now. While draining all at once: what a stopping worker gives back must go to the front
 * in its order, in one script. */
static struct turn *new_turn(struct muster_worker *w, int *one_by_one)
{
    size_t n = w->counts[PROCESS_ENDED];
    if (n > TURN_MAX && w->state != WORKER_DRAINING)
        n = TURN_MAX;
    struct turn *t = calloc(1, sizeof *t + n * sizeof *t->ends);
    struct muster_process *p = TAILQ_FIRST(&w->lists[PROCESS_ENDED]);
    *one_by_one = w->reading;
    for (; t && t->n_ends < n; p = TAILQ_NEXT(p, in_list)) {
        t->ends[t->n_ends++] = p;
        *one_by_one |= p->sent_before || atomic_load(&p->stop_reason) == MUSTER_STOP_LOST;
    }
    return t;
}

/* How many to take with this turn. What stays free, or is free but for what calls on their way have asked for, keeps
 * the worker hungry: it looks again when they are answered. */
static int want_of(struct muster_worker *w, size_t n_ends)
{
    int all = w->fenced || (!w->hungry && n_ends == 0) ? 0 : free_hands(w, n_ends);
    int want = n_ends > 0 ? all : all - w->asked;
    want = want < 0 ? 0 : want > TURN_MAX ? TURN_MAX : want;
    w->hungry = all > want;
    return want;
}

/* One call, if there is a reason for one. */
static int send_turn(struct muster_worker *w)
{
    int one_by_one;
    struct turn *t = new_turn(w, &one_by_one);
    if (!t)
        return 0;
    t->want = want_of(w, t->n_ends);
    if (t->n_ends == 0 && t->want == 0 && !w->state_hands_due) {
        turn_free(t);
        return 0;
    }
    struct command c = COMMAND_EMPTY;
    struct script_queue *queues = serve_queues(w, w->turn_from, &t->served, &t->n_served);
    int err = MUSTER_E_NOMEM;
    if (queues) {
        memcpy(t->epoch, w->who.epoch, sizeof t->epoch);
        t->worker = w;
        w->who.hands = worker_capacity(w);
        script_turn(&c, &w->root, &w->who, t->want, one_by_one, queues, t->n_served);
        say_ends(t, &c);
        err = link_script(w->data, &c, on_turned, t);
    }
    command_clear(&c);
    free(queues);
    if (err != MUSTER_OK) {
        turn_free(t);
        w->hungry = 1;
        timer_after_ms(w->retry_timer, REFUSED_PAUSE_MS);
        return 0;
    }
    for (size_t i = 0; i < t->n_ends; i++)
        process_move(t->ends[i], PROCESS_SENT);
    if (w->in_turn && t->want > 0)
        w->turn_from++;
    w->asked += t->want;
    w->turns++;
    w->state_hands_due = 0;
    return 1;
}

static int can_send(const struct muster_worker *w)
{
    return worker_can_call(w) && w->turns < TURNS_IN_FLIGHT && !evtimer_pending(w->retry_timer, NULL);
}

void turn_if_full(struct muster_worker *w)
{
    if (w->counts[PROCESS_ENDED] >= TURN_MAX && can_send(w) && send_turn(w))
        link_flush(w->data);
}

static void on_turner(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    w->turner_due = 0;
    while (can_send(w) && send_turn(w))
        ;
    leave_go_on(w);
    stop_check_drained(w);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    turn_hungry(arg);
}

void turn_forget(struct muster_worker *w)
{
    event_del(w->retry_timer);
}

int turn_new_events(struct muster_worker *w)
{
    w->turner = event_new(w->base, -1, 0, on_turner, w);
    w->retry_timer = evtimer_new(w->base, on_retry, w);
    return w->turner && w->retry_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}
