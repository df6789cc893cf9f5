/* SPDX-License-Identifier: MIT
 *
 * Ends and takes go to Redis together, in one script call (a turn) in a round: at most TURN_MAX of each per call, and
 * TURNS_IN_FLIGHT calls at once.
 *
 * The worker asks for tasks only with a reason: hands that ends have just freed, or wants_take (a start, a new queue, a
 * read-back, work that the heartbeat or a foreign producer announced, and the like). It asks for all free hands. If
 * nothing is left waiting, the same script makes the worker idle there, and later work is handed to it.
 *
 * A call that carries ends asks for all hands that are free after them, whatever calls in flight have asked for: one of
 * those may have found nothing and made the worker idle, and a hand-over may have come and ended since. Asking for too
 * much does no harm, because the script counts the hands itself.
 *
 * A call names at most QUEUES_MAX queues, not to hold up Redis. If they do not fill the hands, the next call goes on behind
 * them, until all were looked at: only then the worker is idle on all of them. When a call has brought all that it asked
 * for, the next one begins anew. A reason to take that comes meanwhile does not, or the last queues might never be looked
 * at: another look follows this one.
 *
 * If an end may have been counted already, the script takes every end of that call by itself (ENDS_ONE_BY_ONE): ends that
 * were sent before without an answer, those of lost processes, and all while a read-back is in flight. Otherwise: if one
 * finish of a batch is no longer the worker's, none can be confirmed.
 *
 * An end without an answer is unknown: it is sent again after the next connection was read back. An end that is refused
 * (loading, busy, full) is sent again after a pause; an end whose queue is damaged, after the next heartbeat.
 */
#include "worker/turn.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/timer.h"
#include "protocol/names.h"
#include "protocol/script_task.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

#define TURN_MAX 200
#define TURNS_IN_FLIGHT 4
#define QUEUES_MAX 64
#define REFUSED_PAUSE_MS 200
/* The tasks that one call brings back, and the results that it brings, have at most so many bytes together; or it is
 * one that is larger. */
#define TURN_BYTES_MAX ((size_t)4 * 1024 * 1024)

struct turn {
    struct muster_worker *worker;
    struct life life;
    int want;
    struct served **served; /* by place in the call */
    size_t n_served;
    size_t look, looked_at; /* as they were when it was sent */
    bool is_mended;         /* it was refused, and will not be for the same reason */
    size_t n_ends;
    struct muster_process *ends[]; /* in the order of the call */
};

void turn_want_take(struct muster_worker *w)
{
    w->turns.wants_take = true;
    w->turns.looks_again = true;
    w->turns.found_nothing = false;
    round_due(w);
}

/* The queues that it may take of must not be left before its answer: leave.c. */
static void count_looks(struct turn *t, int by)
{
    for (size_t i = 0; i < t->n_served; i++)
        t->served[i]->n_looks += by;
}

static void free_turn(struct turn *t)
{
    free(t->served);
    free(t);
}

/* ---- the answer ---- */

/* After these answers it is certain that nothing was changed. */
static bool has_changed_nothing(int err)
{
    return err == MUSTER_E_STATE || err == MUSTER_E_FULL || err == MUSTER_E_BUSY || err == MUSTER_E_DENIED ||
           err == MUSTER_E_TOO_BIG;
}

static void send_again(struct turn *t, int err)
{
    t->is_mended = too_large_end(t->ends, t->n_ends, err);
    for (size_t i = 0; i < t->n_ends; i++) {
        t->ends[i]->sent_before = true;
        t->ends[i]->may_have_counted |= !has_changed_nothing(err);
        process_move(t->ends[i], PROCESS_ENDED);
    }
    t->worker->turns.wants_take = true;
}

/* Without a status it did not count. */
static int status_at(const struct redisReply *statuses, size_t i)
{
    const struct redisReply *status = reply_at(statuses, i);
    return reply_kind(status) == REPLY_INTEGER ? reply_status(status) : MUSTER_E_LOST;
}

static void settle_end(struct muster_process *p, int status)
{
    trace_line(TRACE_STATE, "process %s of %s: end %s", p->token_text, p->served->name,
               status == MUSTER_OK ? "counted" : muster_err_text(status));
    if (status != MUSTER_E_REDIS)
        heartbeat_count_ended(p->worker, p->token);
    if (status == MUSTER_OK && turn_ends_is_move(p))
        share_moved(p);
    if (status == MUSTER_OK)
        end_counted(p);
    else if (status == MUSTER_E_REDIS)
        process_move(p, PROCESS_REFUSED);
    else if (status == MUSTER_E_EXISTS || (status == MUSTER_E_LOST && p->is_ended))
        ended_settle(p);
    else
        end_uncounted(p, status);
}

/* Returns how many were taken. */
static size_t accept_taken(struct turn *t, const struct redisReply *reply, const struct script_turned *turned)
{
    size_t n = 0;
    for (size_t i = 0; i < turned->n_takes; i++) {
        struct script_take take;
        if (script_turned_take(reply, i, &take) != MUSTER_OK || take.place >= t->n_served)
            continue;
        struct served *s = t->served[take.place];
        trace_line(TRACE_WAKE, "took %zu of %s", take.job ? 1 : reply_len(take.tasks), s->name);
        accept_take(t->worker, s, &take);
        n += take.job ? 1 : reply_len(take.tasks);
    }
    return n;
}

/* There may be more, if hands are left. */
static void begin_to_look(struct muster_worker *w)
{
    w->turns.looked_at = 0;
    w->turns.wants_take = true;
}

/* By Redis' count all hands are full, so it has not looked at every queue. Whatever frees one is a reason to take. */
static void stop_looking(struct muster_worker *w, size_t n_taken)
{
    w->turns.looked_at = 0;
    w->turns.wants_rest = false;
    w->turns.found_nothing |= n_taken == 0;
}

/* The call has found its queues empty. It goes on only from where the last one has come to. */
static void look_on(struct turn *t, size_t n_taken)
{
    struct turns *turns = &t->worker->turns;
    if (t->look != turns->look || t->looked_at != turns->looked_at)
        return;
    turns->looked_at += t->n_served;
    if (turns->looked_at < serve_count(t->worker)) {
        turns->wants_take = true;
        return;
    }
    turns->looked_at = 0;
    turns->wants_take |= turns->looks_again;
    turns->wants_rest = false; /* Redis hands over what comes */
    turns->found_nothing |= n_taken == 0;
}

static void apply(struct turn *t, const struct redisReply *reply, const struct script_turned *turned)
{
    struct muster_worker *w = t->worker;
    tell_accepted(w, REQUEST_TURN);
    for (size_t i = 0; i < t->n_ends; i++)
        settle_end(t->ends[i], turned->ends ? status_at(turned->ends, i) : MUSTER_OK);
    size_t n = accept_taken(t, reply, turned);
    if (t->want > 0 && (n == (size_t)t->want || turned->is_more))
        begin_to_look(w);
    else if (t->want > 0 && turned->is_full)
        stop_looking(w, n);
    else if (t->want > 0)
        look_on(t, n);
    if (turned->damaged)
        tell_damaged(w, turned->damaged);
}

static void on_turned(const struct redisReply *reply, void *arg)
{
    struct turn *t = arg;
    struct muster_worker *w = t->worker;
    struct script_turned answer;
    w->turns.in_flight--;
    w->turns.takes_in_flight -= t->want;
    count_looks(t, -1);
    if (!registration_is_life(w, &t->life)) {
        free_turn(t); /* of a former life: its processes are gone */
        round_due(w);
        return;
    }
    int err = script_turned(reply, &answer);
    if (err == MUSTER_OK)
        apply(t, reply, &answer);
    else if (err == MUSTER_E_GONE)
        registration_gone(w); /* forgets the ends too */
    else
        send_again(t, err);
    if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else if (reply && err != MUSTER_OK && err != MUSTER_E_GONE && !t->is_mended) {
        tell_refused(w, REQUEST_TURN, err, reply_text(reply));
        timer_after_ms(w->turns.retry_timer, REFUSED_PAUSE_MS);
    }
    free_turn(t);
    round_due(w);
}

/* ---- the call ---- */

/* Free hands as Redis will count them after these ends, and those in flight. */
static int free_hands(const struct muster_worker *w, size_t n_ends)
{
    return worker_capacity(w) - (int)(w->processes.n_known - n_ends - process_count(w, IS_SENT));
}

/* A turn with the ends to say now. */
static struct turn *new_turn(struct muster_worker *w, enum script_ends *how)
{
    bool one_by_one = w->readback.in_flight;
    size_t most = link_room(w->connection.data) == 1 ? COMMAND_LARGE : TURN_BYTES_MAX;
    size_t n = process_count(w, IS_DUE), n_bytes = 0;
    if (n > TURN_MAX)
        n = TURN_MAX;
    struct turn *t = calloc(1, sizeof *t + n * sizeof *t->ends);
    struct muster_process *p = process_first(w, IS_DUE);
    for (; t && t->n_ends < n; p = process_next(p, IS_DUE)) {
        n_bytes += turn_ends_bytes(p);
        if (t->n_ends > 0 && n_bytes > most)
            break;
        t->ends[t->n_ends++] = p;
        one_by_one |= p->sent_before || atomic_load(&p->stop_reason) == MUSTER_STOP_LOST;
    }
    *how = one_by_one ? ENDS_ONE_BY_ONE : ENDS_TOGETHER;
    return t;
}

static bool may_take(const struct muster_worker *w, size_t n_ends)
{
    return !w->fence.in_doubt && !resume_is_under_way(w) && (w->turns.wants_take || w->turns.wants_rest || n_ends > 0);
}

/* How many to take with this turn. `older`: how many tasks the calls of former rounds have asked for. If hands stay
 * free for which only an older call has asked, the worker still wants to take: it looks again when those calls are
 * answered. If they stay free because one call may not ask for more, others ask for the rest, as long as that comes. */
static int draw_want(struct muster_worker *w, size_t n_ends, int most, int older)
{
    int all = may_take(w, n_ends) ? free_hands(w, n_ends) : 0;
    int want = n_ends > 0 ? all : all - w->turns.takes_in_flight;
    want = want < 0 ? 0 : want > most ? most : want;
    bool is_rest = all > w->turns.takes_in_flight - older + want;
    w->turns.wants_take = is_rest && want < most;
    w->turns.wants_rest = is_rest && want == most;
    return want;
}

static int send_turn(struct muster_worker *w, struct turn *t, enum script_ends how)
{
    struct command c = COMMAND_EMPTY;
    struct turns *turns = &w->turns;
    size_t left = t->want > 0 ? serve_count(w) - turns->looked_at : 0;
    struct script_queue *queues = serve_list(w, turns->look_from + turns->looked_at,
                                             left < QUEUES_MAX ? left : QUEUES_MAX, &t->served, &t->n_served);
    if (!queues)
        return MUSTER_E_NOMEM;
    t->look = turns->look;
    t->looked_at = turns->looked_at;
    t->life = registration_life(w);
    t->worker = w;
    w->caller.hands = worker_capacity(w);
    script_turn(&c, &w->root, &w->caller,
                &(struct script_turn){.want = t->want, .how = how, .queues = queues, .n_queues = t->n_served});
    turn_ends_say(&c, t->ends, t->n_ends);
    c.is_heavy = t->want > 0;
    c.weight = (size_t)t->want;
    int err = link_script(w->connection.data, &c, on_turned, t);
    command_clear(&c);
    free(queues);
    return err;
}

static void note_sent(struct muster_worker *w, struct turn *t)
{
    count_looks(t, 1);
    for (size_t i = 0; i < t->n_ends; i++) {
        if (!turn_ends_is_move(t->ends[i]))
            share_let_go(t->ends[i]); /* the call that says so follows this one, so both counts are soon right */
        process_move(t->ends[i], PROCESS_SENT);
    }
    if (t->want > 0 || t->n_ends > 0)
        w->turns.found_nothing = false;
    w->turns.takes_in_flight += t->want;
    w->turns.in_flight++;
    figures_add(&w->figures.turns, 1);
    w->turns.must_state_hands = false;
}

/* Queues may have been left since the last call. */
static void prepare_look(struct muster_worker *w)
{
    struct turns *turns = &w->turns;
    if (turns->looked_at > 0 && turns->looked_at < serve_count(w))
        return;
    turns->looked_at = 0;
    turns->look++;
    turns->look_from = turns->first_queue;
    turns->looks_again = false;
    turns->first_queue = w->in_turn ? turns->first_queue + 1 : 0;
}

/* One call, if there is a reason for one. */
static bool say_one_turn(struct muster_worker *w, int older)
{
    enum script_ends how;
    struct turn *t = new_turn(w, &how);
    if (!t) {
        timer_after_ms(w->turns.retry_timer, REFUSED_PAUSE_MS);
        return false;
    }
    t->want = draw_want(w, t->n_ends, too_large_take_most(w, t->ends, t->n_ends, TURN_MAX), older);
    if (t->n_ends == 0 && t->want == 0 && !w->turns.must_state_hands) {
        free_turn(t);
        return false;
    }
    if (t->want > 0)
        prepare_look(w);
    if (send_turn(w, t, how) != MUSTER_OK) {
        free_turn(t);
        w->turns.wants_take = true;
        timer_after_ms(w->turns.retry_timer, REFUSED_PAUSE_MS);
        return false;
    }
    note_sent(w, t);
    return true;
}

static bool can_say(const struct muster_worker *w)
{
    return connection_can_call(w) && w->turns.in_flight < TURNS_IN_FLIGHT &&
           !evtimer_pending(w->turns.retry_timer, NULL);
}

void turn_say(struct muster_worker *w)
{
    int older = w->turns.takes_in_flight;
    while (can_say(w) && say_one_turn(w, older))
        ;
}

void turn_say_if_full(struct muster_worker *w)
{
    if (process_count(w, IS_DUE) >= TURN_MAX && can_say(w) && say_one_turn(w, w->turns.takes_in_flight))
        link_flush(w->connection.data);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    turn_want_take(arg);
}

/* ---- life ---- */

void turn_stop(struct muster_worker *w)
{
    event_del(w->turns.retry_timer);
}

int turn_new(struct muster_worker *w)
{
    w->turns.retry_timer = evtimer_new(w->base, on_retry, w);
    return w->turns.retry_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void turn_free(struct muster_worker *w)
{
    if (w->turns.retry_timer)
        event_free(w->turns.retry_timer);
}
