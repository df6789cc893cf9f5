/* SPDX-License-Identifier: MIT
 *
 * Enqueueing and putting without blocking: a handler's follow-up work needs no client.
 *
 * What is enqueued within a turn of the loop goes at the end of that turn, when the link writes anyway: so nothing is
 * delayed. Neighbours for one queue go in one call, and each has its own answer. The order of the calls is kept over
 * all queues, as long as Redis does not forget a script of the connection. A job that is put has a call of its own, in
 * its place among them. Ends wait for the answers: follow.c.
 *
 * It goes over the worker's data link. But if replicas or disks must confirm it, Redis executes nothing more of that
 * connection until they have, and a heartbeat behind the question would come too late. So such tasks have a connection
 * of their own, made when it is first needed. One question is under way at a time; what is enqueued meanwhile waits for
 * its answer, and then goes out together, with one question behind it. A call whose script Redis has forgotten is sent
 * once more, behind the question: then the question is asked again.
 */
#include "worker/produce.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/enqueue_run.h"
#include "protocol/keys.h"
#include "worker/posting.h"
#include "worker/worker.h"

/* How long an answer is waited for beyond the time that replicas have. */
#define ANSWER_MS 5000
#define DELAY_MAX_MS 1000

/* ---- lists ---- */

static void add(struct posting ***end, struct posting *posting)
{
    posting->next = NULL;
    **end = posting;
    *end = &posting->next;
}

static struct posting *take_all(struct posting **list, struct posting ***end)
{
    struct posting *all = *list;
    *list = NULL;
    *end = list;
    return all;
}

/* `err` is of those that are there. */
static void finish_all(struct posting *all, int err)
{
    while (all) {
        struct posting *next = all->next;
        if (err != MUSTER_OK && posting_is_there(all))
            all->err = err;
        posting_finish(all);
        all = next;
    }
}

/* ---- calls ---- */

/* What is sent in a run has not ended the connection by its size. */
static int without_answer(const struct posting *first, const struct link *link)
{
    return first->n_run == 1 && follow_is_too_large(first, link) ? MUSTER_E_TOO_BIG : MUSTER_E_CONN;
}

/* The answer of a call is of all its tasks. */
static void note_answer(struct posting *first, const struct link *link, const struct redisReply *reply)
{
    int err = !reply                  ? without_answer(first, link)
              : posting_is_job(first) ? posting_note_put(first, reply)
                                      : reply_status(reply);
    uint64_t waiting = err == MUSTER_OK && !posting_is_job(first) ? reply_count(reply) : 0, behind = first->n_run;
    for (struct posting *one = first; behind > 0; one = one->next) {
        one->err = err;
        one->waiting = enqueue_run_waiting(waiting, --behind);
    }
}

static struct posting *send_put(struct posting *posting, struct link *link, link_reply_fn *fn)
{
    posting->n_run = 1;
    posting->err = link_script_in_order(link, &posting->put, fn, posting);
    return posting;
}

/* Sends a run: `all` and those of its neighbours that go with it. Returns the last one of the run. If that fails, they
 * have the error. */
static struct posting *send_run(struct posting *all, struct link *link, link_reply_fn *fn)
{
    struct enqueue_run run;
    struct command c = COMMAND_EMPTY;
    struct posting *last = all;
    const bool goes_alone = follow_must_go_alone(all);
    if (goes_alone)
        link_next_goes_alone(link);
    if (posting_is_job(all))
        return send_put(all, link, fn);
    run.n = run.bytes = 0;
    for (struct posting *one = all; one && !posting_is_job(one); one = goes_alone ? NULL : one->next) {
        if ((one != all && follow_must_go_alone(one)) ||
            !enqueue_run_add(&run, one->queue, (struct muster_bytes){one->bytes, one->len}))
            break;
        last = one;
    }
    all->n_run = run.n;
    enqueue_run_say(&c, &all->worker->root, &run);
    int err = link_script_in_order(link, &c, fn, all);
    command_clear(&c);
    for (struct posting *one = all; err != MUSTER_OK && run.n > 0; one = one->next, run.n--)
        one->err = err;
    return last;
}

/* ---- over the data link ---- */

static void on_enqueued(const struct redisReply *reply, void *arg)
{
    struct posting *first = arg;
    note_answer(first, first->worker->connection.data, reply);
    finish_all(first, MUSTER_OK);
}

static void send_plainly(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    for (struct posting *rest, *one = take_all(&p->waiting, &p->waiting_end); one; one = rest) {
        struct posting *last = send_run(one, w->connection.data, on_enqueued);
        rest = last->next;
        last->next = NULL;
        if (one->err != MUSTER_OK) {
            *p->refused_end = one;
            p->refused_end = &last->next;
        }
    }
}

/* ---- over a connection of its own ---- */

static void send_waiting(struct muster_worker *w);
static void ask(struct muster_worker *w);

static void on_confirmed(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    char why[256];
    int err = confirm_hear(&p->confirm, reply, NULL, why, sizeof why);
    p->is_asking = false;
    if (p->n_unanswered > 0) {
        if (reply)
            ask(w);
        return;
    }
    if (err == MUSTER_OK)
        confirm_warn(&p->confirm, link_replicas(p->link));
    if (err != MUSTER_OK && !w->is_free_due)
        tell_error(w, "%s", why);
    finish_all(take_all(&p->sent, &p->sent_end), err);
    send_waiting(w);
}

/* It is finished with the others, when the question about them is answered. */
static void on_added(const struct redisReply *reply, void *arg)
{
    struct posting *first = arg;
    struct produce *p = &first->worker->produce;
    p->n_unanswered--;
    note_answer(first, p->link, reply);
}

static void ask(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    struct command c = COMMAND_EMPTY;
    p->is_asking = true;
    confirm_say(&p->confirm, &c);
    if (link_call(p->link, &c, on_confirmed, w) != MUSTER_OK)
        link_break(p->link, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
}

static void send_waiting(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    if (w->is_free_due || p->is_asking || !p->waiting || !link_is_up(p->link))
        return;
    for (struct posting *rest, *one = take_all(&p->waiting, &p->waiting_end); one; one = rest) {
        struct posting *last = send_run(one, p->link, on_added);
        p->n_unanswered += one->err == MUSTER_OK;
        rest = last->next;
        last->next = NULL;
        *p->sent_end = one;
        p->sent_end = &last->next;
    }
    ask(w);
}

static void on_up(void *arg)
{
    send_waiting(arg);
}

/* What was sent has been answered by now, unless the question could not be asked. */
static void on_down(void *arg, int err, const char *text)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    (void)err;
    if (w->too_large.has_broken && link_is_up(w->connection.data))
        too_large_ask(w);
    if (p->waiting && !w->is_free_due)
        tell_error(w, "%s", text);
    p->is_asking = false;
    finish_all(take_all(&p->sent, &p->sent_end), MUSTER_E_UNCONFIRMED);
    finish_all(take_all(&p->waiting, &p->waiting_end), MUSTER_E_CONN);
}

static int open_link(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    char root[KEY_MAX];
    if (p->link)
        return MUSTER_OK;
    key_root(root, w->prefix);
    int err = link_new(&p->link, &(struct link_options){.base = w->base,
                                                        .url = &p->url,
                                                        .prefix = w->prefix,
                                                        .root_key = root,
                                                        .name = "producer",
                                                        .delay_max_ms = DELAY_MAX_MS,
                                                        .silence_ms = p->confirm.ms + ANSWER_MS,
                                                        .sends_again = true,
                                                        .counts_replicas = p->confirm.replicas > 0,
                                                        .callbacks = {.up = on_up, .down = on_down},
                                                        .arg = w});
    if (err == MUSTER_OK)
        link_connect(p->link);
    return err;
}

/* The end of a turn of the loop. What the program hands in when it is told of what could not be sent, goes with the next. */
static void on_turn_end(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    (void)fd, (void)what;
    if (confirm_is_wanted(&p->confirm)) {
        send_waiting(w);
        return;
    }
    send_plainly(w);
    finish_all(take_all(&p->refused, &p->refused_end), MUSTER_OK);
}

/* ---- its life ---- */

int produce_new(struct muster_worker *w, const struct url *url)
{
    struct produce *p = &w->produce;
    follow_new(w);
    p->waiting_end = &p->waiting;
    p->sent_end = &p->sent;
    p->refused_end = &p->refused;
    p->turn_end = event_new(w->base, -1, 0, on_turn_end, w);
    if (!p->turn_end)
        return MUSTER_E_NOMEM;
    p->confirm = confirm_of_url(url, ANSWER_MS);
    return confirm_is_wanted(&p->confirm) ? url_copy(&p->url, url) : MUSTER_OK;
}

/* Calls without an answer have what was sent as their argument: so they get their NULL first. */
void produce_close(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    link_free(p->link);
    p->link = NULL;
    finish_all(take_all(&p->sent, &p->sent_end), MUSTER_E_UNCONFIRMED);
    finish_all(take_all(&p->waiting, &p->waiting_end), MUSTER_E_CONN);
}

void produce_free(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    produce_close(w);
    finish_all(take_all(&p->refused, &p->refused_end), MUSTER_E_CONN);
    if (p->turn_end)
        event_free(p->turn_end);
    url_clear(&p->url);
}

/* ---- what the program hands in ---- */

int produce_take_over(struct muster_worker *w, struct posting *posting)
{
    if (w->state == WORKER_STOPPED)
        return tell_error_as(w, MUSTER_E_STATE, "the worker has stopped");
    if (!registration_is_there(w))
        return tell_error_as(w, MUSTER_E_NOT_STARTED, "the worker is not registered: wait for MUSTER_EVENT_STARTED");
    bool is_confirmed = confirm_is_wanted(&w->produce.confirm);
    if (!is_confirmed && !link_is_up(w->connection.data))
        return tell_error_as(w, MUSTER_E_CONN, "the worker has no connection to Redis now; nothing was sent");
    int err = is_confirmed ? open_link(w) : MUSTER_OK;
    if (err != MUSTER_OK)
        return err;
    if (!w->produce.waiting)
        event_active(w->produce.turn_end, EV_TIMEOUT, 1);
    add(&w->produce.waiting_end, posting);
    return MUSTER_OK;
}
