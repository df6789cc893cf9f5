/* SPDX-License-Identifier: MIT
 *
 * Enqueueing without blocking: a handler's follow-up work needs no client.
 *
 * What is enqueued within a turn of the loop goes at the end of that turn, when the link writes anyway: so nothing is
 * delayed. Neighbours for one queue go in one call, and each has its own answer. The order of the calls is kept over
 * all queues, and they go before what is said of processes afterwards: a process that has handed its work on does not
 * end before that work is there.
 *
 * It goes over the worker's data link. But if replicas or disks must confirm it, Redis executes nothing more of that
 * connection until they have, and a heartbeat behind the question would come too late. So such tasks have a connection
 * of their own, made when it is first needed. One question is under way at a time; what is enqueued meanwhile waits for
 * its answer, and then goes out together, with one question behind it.
 */
#include "worker/produce.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/enqueue_run.h"
#include "protocol/keys.h"
#include "worker/worker.h"

/* How long an answer is waited for beyond the time that replicas have. */
#define ANSWER_MS 5000
#define DELAY_MAX_MS 1000

struct posting {
    struct call call; /* until the loop has it */
    struct posting *next;
    struct muster_worker *worker;
    muster_done_fn *fn;
    void *arg;
    struct outbox_item *answer; /* for muster_worker_next(); NULL: for `fn`, or for nobody */
    size_t n_run;               /* of the first one of a call: how many it carries */
    int err;
    uint64_t waiting;
    char queue[MUSTER_QUEUE_MAX + 1];
    size_t len;
    char bytes[];
};

static struct posting *new_posting(struct muster_worker *w, const char *queue, const struct muster_bytes *task)
{
    struct posting *posting = malloc(sizeof *posting + task->len);
    if (!posting)
        return NULL;
    posting->next = NULL;
    posting->answer = NULL;
    posting->worker = w;
    posting->err = MUSTER_OK;
    posting->waiting = 0;
    snprintf(posting->queue, sizeof posting->queue, "%s", queue);
    posting->len = task->len;
    if (task->len > 0)
        memcpy(posting->bytes, task->data, task->len);
    return posting;
}

/* Nobody is told. */
static void discard(struct posting *posting)
{
    if (posting->answer)
        outbox_no_answer(posting->worker, posting->answer);
    free(posting);
}

static void answer(struct posting *posting, uint64_t waiting)
{
    posting->answer->item.err = posting->err;
    posting->answer->item.waiting = waiting;
    outbox_answer(posting->worker, posting->answer);
    posting->answer = NULL;
}

static void finish(struct posting *posting)
{
    struct muster_worker *w = posting->worker;
    const bool is_there = posting->err == MUSTER_OK || posting->err == MUSTER_E_UNCONFIRMED;
    figures_add(&w->figures.enqueued, is_there);
    if (posting->fn && !w->is_free_due) {
        tell_enter(w);
        posting->fn(w, posting->err, is_there ? posting->waiting : 0, posting->arg);
        tell_leave(w);
    } else if (posting->answer && !w->is_free_due) {
        answer(posting, is_there ? posting->waiting : 0);
    }
    discard(posting);
}

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

/* `err` is of those that are enqueued. */
static void finish_all(struct posting *all, int err)
{
    while (all) {
        struct posting *next = all->next;
        if (all->err == MUSTER_OK)
            all->err = err;
        finish(all);
        all = next;
    }
}

/* ---- calls ---- */

/* The answer of a call is of all its tasks. */
static void note_answer(struct posting *first, const struct redisReply *reply)
{
    int err = reply ? reply_status(reply) : MUSTER_E_CONN;
    uint64_t waiting = err == MUSTER_OK ? reply_count(reply) : 0, behind = first->n_run;
    for (struct posting *one = first; behind > 0; one = one->next) {
        one->err = err;
        one->waiting = enqueue_run_waiting(waiting, --behind);
    }
}

/* Sends a run: `all` and those of its neighbours that go with it. Returns the last one of the run. If that fails, they
 * have the error. */
static struct posting *send_run(struct posting *all, struct link *link, link_reply_fn *fn)
{
    struct enqueue_run run;
    struct command c = COMMAND_EMPTY;
    struct posting *last = all;
    run.n = run.bytes = 0;
    for (struct posting *one = all; one; one = one->next) {
        if (!enqueue_run_add(&run, one->queue, (struct muster_bytes){one->bytes, one->len}))
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
    note_answer(first, reply);
    finish_all(first, MUSTER_OK);
}

void produce_say(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    if (confirm_is_wanted(&p->confirm))
        return;
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

static void on_confirmed(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    char why[256];
    int err = confirm_hear(&p->confirm, reply, NULL, why, sizeof why);
    p->is_asking = false;
    if (err != MUSTER_OK && !w->is_free_due)
        tell_error(w, "%s", why);
    finish_all(take_all(&p->sent, &p->sent_end), err);
    send_waiting(w);
}

/* It is finished with the others, when the question about them is answered. */
static void on_added(const struct redisReply *reply, void *arg)
{
    note_answer(arg, reply);
}

static void send_waiting(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    struct command c = COMMAND_EMPTY;
    if (w->is_free_due || p->is_asking || !p->waiting || !link_is_up(p->link))
        return;
    for (struct posting *rest, *one = take_all(&p->waiting, &p->waiting_end); one; one = rest) {
        struct posting *last = send_run(one, p->link, on_added);
        rest = last->next;
        last->next = NULL;
        *p->sent_end = one;
        p->sent_end = &last->next;
    }
    p->is_asking = true;
    confirm_say(&p->confirm, &c);
    if (link_call(p->link, &c, on_confirmed, w) != MUSTER_OK)
        link_break(p->link, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
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
                                                        .callbacks = {.up = on_up, .down = on_down},
                                                        .arg = w});
    if (err == MUSTER_OK)
        link_connect(p->link);
    return err;
}

/* The end of a turn of the loop. */
static void on_turn_end(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    (void)fd, (void)what;
    produce_say(w);
    finish_all(take_all(&p->refused, &p->refused_end), MUSTER_OK);
    send_waiting(w);
}

/* ---- its life ---- */

int produce_new(struct muster_worker *w, const struct url *url)
{
    struct produce *p = &w->produce;
    p->waiting_end = &p->waiting;
    p->sent_end = &p->sent;
    p->refused_end = &p->refused;
    p->turn_end = event_new(w->base, -1, 0, on_turn_end, w);
    if (!p->turn_end)
        return MUSTER_E_NOMEM;
    p->confirm = confirm_of_url(url, ANSWER_MS);
    return confirm_is_wanted(&p->confirm) ? url_copy(&p->url, url) : MUSTER_OK;
}

void produce_close(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    if (p->link)
        link_close(p->link);
    finish_all(take_all(&p->waiting, &p->waiting_end), MUSTER_E_CONN);
}

void produce_free(struct muster_worker *w)
{
    struct produce *p = &w->produce;
    if (p->link)
        link_free(p->link);
    finish_all(take_all(&p->waiting, &p->waiting_end), MUSTER_E_CONN);
    finish_all(take_all(&p->refused, &p->refused_end), MUSTER_E_CONN);
    if (p->turn_end)
        event_free(p->turn_end);
    url_clear(&p->url);
}

/* ---- what the program calls ---- */

/* The loop has it: it is to be sent, or cannot be. */
static int take_over(struct muster_worker *w, struct posting *posting)
{
    if (!registration_is_there(w))
        return MUSTER_E_NOT_STARTED;
    bool is_confirmed = confirm_is_wanted(&w->produce.confirm);
    if (!is_confirmed && !link_is_up(w->connection.data))
        return MUSTER_E_CONN;
    int err = is_confirmed ? open_link(w) : MUSTER_OK;
    if (err != MUSTER_OK)
        return err;
    if (!w->produce.waiting)
        event_active(w->produce.turn_end, EV_TIMEOUT, 1);
    add(&w->produce.waiting_end, posting);
    return MUSTER_OK;
}

/* Of another thread, which can be told only by an answer. */
static void accept_call(struct call *c, struct muster_worker *w)
{
    struct posting *posting = (struct posting *)c;
    posting->err = take_over(w, posting);
    if (posting->err != MUSTER_OK)
        finish(posting);
}

static int expect_answer(struct posting *posting, const char *queue)
{
    struct muster_worker *w = posting->worker;
    if (posting->fn || !posting->arg || !w->outbox.is_there)
        return MUSTER_OK;
    int err = outbox_expect_answer(w);
    if (err != MUSTER_OK)
        return err;
    posting->answer = outbox_item_of_answer(queue, NULL, posting->arg);
    if (!posting->answer)
        outbox_no_answer(w, NULL);
    return posting->answer ? MUSTER_OK : MUSTER_E_NOMEM;
}

static int leave(struct posting *posting)
{
    posting->call.run = accept_call;
    return calls_leave(posting->worker, &posting->call) ? MUSTER_OK : MUSTER_E_STATE;
}

int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len, muster_done_fn *fn,
                          void *arg)
{
    const struct muster_bytes one = {task, len};
    if (muster_queue_check(queue) || (!task && len > 0))
        return MUSTER_E_INVALID;
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return MUSTER_E_TOO_BIG;
    struct posting *posting = new_posting(w, queue, &one);
    if (!posting)
        return MUSTER_E_NOMEM;
    posting->fn = fn;
    posting->arg = arg;
    int err = expect_answer(posting, queue);
    if (err == MUSTER_OK)
        err = round_is_in_loop(w) ? take_over(w, posting) : leave(posting);
    if (err != MUSTER_OK)
        discard(posting);
    return err;
}
