/* SPDX-License-Identifier: MIT
 *
 * What a former life of the id held comes first, with the option resume; without it that of queues that share evenly. When
 * all queues of the worker are announced, script_take_up() moves it into the worker's sets, some of it in each call; a
 * read-back then names it. Until that is answered the worker takes nothing else, and has no hands for others to fill. All of
 * that is done again over each new connection, for a Redis that came back older: there it lies where nobody else looks.
 *
 * What belongs to queues that the worker does not serve goes back to the front with the last call, and the program is
 * told.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

bool resume_is_under_way(const struct muster_worker *w)
{
    return w->resuming.stage != RESUME_DONE;
}

void resume_begin(struct muster_worker *w, uint64_t n_left)
{
    w->resuming.stage = w->resume || n_left > 0 ? RESUME_TAKES_UP : RESUME_DONE;
    w->resuming.in_flight = w->resuming.is_refused = false;
    w->resuming.has_left = n_left > 0;
}

void resume_begin_again(struct muster_worker *w)
{
    if (!w->resuming.has_left)
        return;
    w->resuming.stage = RESUME_TAKES_UP;
    w->resuming.is_refused = false;
}

void resume_forget(struct muster_worker *w)
{
    w->resuming.stage = RESUME_DONE;
}

static void tell_given_back(struct muster_worker *w, const struct redisReply *reply, size_t n)
{
    char line[MUSTER_QUEUE_MAX + 200];
    for (size_t i = 0; i < n; i++) {
        uint64_t count;
        const char *queue = script_taken_up_given_back(reply, i, &count);
        if (!queue)
            continue;
        snprintf(line, sizeof line,
                 "a former life held %llu of the queue '%s', which is not served: they went back to the front",
                 (unsigned long long)count, queue);
        tell_event(w, MUSTER_EVENT_NOT_RESUMED, MUSTER_OK, line, NULL);
    }
}

static void apply(struct muster_worker *w, const struct redisReply *reply, const struct script_taken_up *t)
{
    tell_accepted(w, REQUEST_TAKE_UP);
    trace_line(TRACE_WAKE, "worker %s: took up %llu processes of a former life", w->id, (unsigned long long)t->moved);
    if (!t->is_more) {
        w->resuming.stage = RESUME_READS_BACK;
        readback_ask(w);
        tell_given_back(w, reply, t->n_given_back);
    }
    round_due(w);
}

struct asked {
    struct muster_worker *worker;
    struct life life;
};

static void on_taken_up(const struct redisReply *reply, void *arg)
{
    struct asked *a = arg;
    struct muster_worker *w = a->worker;
    struct script_taken_up taken;
    const char *damaged = NULL;
    bool is_old = !registration_is_life(w, &a->life);
    free(a);
    if (is_old)
        return; /* of another life */
    w->resuming.in_flight = false;
    if (!reply || !registration_is_there(w) || w->state > WORKER_DRAINING || w->resuming.stage != RESUME_TAKES_UP)
        return; /* without an answer it is sent again after the read-back of the next connection */
    int err = script_taken_up(reply, &taken, &damaged);
    if (err == MUSTER_OK) {
        apply(w, reply, &taken);
    } else if (err == MUSTER_E_GONE) {
        registration_gone(w);
    } else if (err == MUSTER_E_STATE) {
        connection_out_of_step(w);
    } else {
        w->resuming.is_refused = true;
        if (damaged)
            tell_refused_for_key(w, REQUEST_TAKE_UP, damaged);
        else
            tell_refused(w, REQUEST_TAKE_UP, err, reply_text(reply));
        if (damaged)
            burst_end_at_damage(w);
    }
}

void resume_go_on(struct muster_worker *w)
{
    struct resuming *r = &w->resuming;
    struct command c = COMMAND_EMPTY;
    struct served **served;
    size_t n;
    if (r->stage != RESUME_TAKES_UP || r->in_flight || r->is_refused || w->state != WORKER_WORKING ||
        !connection_can_call(w) || !serve_all_announced(w))
        return;
    struct script_queue *queues = serve_list(w, 0, SIZE_MAX, &served, &n);
    struct asked *a = malloc(sizeof *a);
    if (queues && a) {
        *a = (struct asked){.worker = w};
        a->life = registration_life(w);
        script_take_up(&c, &w->root, &w->caller, queues, n);
        r->in_flight = link_script(w->connection.data, &c, on_taken_up, a) == MUSTER_OK;
    }
    if (!r->in_flight)
        free(a);
    r->is_refused = !r->in_flight;
    command_clear(&c);
    free(queues);
    free(served);
}

void resume_try_again(struct muster_worker *w)
{
    if (!resume_is_under_way(w))
        return;
    w->resuming.is_refused = false;
    if (w->resuming.stage == RESUME_READS_BACK && !w->readback.in_flight)
        readback_ask(w); /* the count does not ask for it where nothing was taken up */
    round_due(w);
}

void resume_apply_readback(struct muster_worker *w)
{
    if (w->resuming.stage != RESUME_READS_BACK)
        return;
    w->resuming.stage = RESUME_DONE;
    w->turns.must_state_hands = true;
}
