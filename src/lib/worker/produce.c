/* SPDX-License-Identifier: MIT
 *
 * Enqueueing without blocking: a handler's follow-up work needs no client.
 *
 * It goes over the worker's data link. But if replicas or disks must confirm it, Redis executes nothing more of that
 * connection until they have, and a heartbeat behind the question would come too late. So such tasks have a connection
 * of their own, made when it is first needed. One question is under way at a time; what is enqueued meanwhile waits for
 * its answer, and then goes out together, with one question behind it.
 */
#include "worker/produce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/keys.h"
#include "protocol/script_task.h"
#include "worker/worker.h"

/* How long an answer is waited for beyond the time that replicas have. */
#define ANSWER_MS 5000
#define DELAY_MAX_MS 1000

/* The queue and the bytes are there only if the task waits. */
struct posting {
    struct posting *next;
    struct muster_worker *worker;
    muster_done_fn *fn;
    void *arg;
    int err;
    uint64_t waiting;
    char queue[MUSTER_QUEUE_MAX + 1];
    size_t len;
    char bytes[];
};

static void finish(struct posting *posting)
{
    const struct posting p = *posting;
    struct muster_worker *w = p.worker;
    free(posting);
    figures_add(&w->figures.enqueued, p.err == MUSTER_OK || p.err == MUSTER_E_UNCONFIRMED);
    if (!p.fn || w->is_free_due)
        return;
    tell_enter(w);
    p.fn(w, p.err, p.err == MUSTER_OK || p.err == MUSTER_E_UNCONFIRMED ? p.waiting : 0, p.arg);
    tell_leave(w);
}

static void note_answer(struct posting *posting, const struct redisReply *reply)
{
    posting->err = reply ? reply_status(reply) : MUSTER_E_CONN;
    posting->waiting = posting->err == MUSTER_OK ? reply_count(reply) : 0;
}

static int send_posting(struct posting *posting, const char *queue, const struct muster_bytes *task, struct link *link,
                        link_reply_fn *fn)
{
    struct command c = COMMAND_EMPTY;
    script_enqueue(&c, &posting->worker->root,
                   &(struct script_enqueue){.queue = queue, .chunk = 1, .of = 1, .tasks = task, .n = 1});
    int err = link == posting->worker->produce.link ? link_script_in_order(link, &c, fn, posting)
                                                    : link_script(link, &c, fn, posting);
    command_clear(&c);
    return err;
}

/* ---- over the data link ---- */

static void on_enqueued(const struct redisReply *reply, void *arg)
{
    note_answer(arg, reply);
    finish(arg);
}

/* ---- over a connection of its own ---- */

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

static void send_waiting(struct muster_worker *w);

static void on_confirmed(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct produce *p = &w->produce;
    char why[256];
    int err = confirm_hear(&p->confirm, reply, NULL, why, sizeof why);
    p->is_asking = false;
    if (err != MUSTER_OK && !w->is_free_due)
        snprintf(w->error, sizeof w->error, "%s", why);
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
    for (struct posting *next, *one = take_all(&p->waiting, &p->waiting_end); one; one = next) {
        const struct muster_bytes task = {one->bytes, one->len};
        next = one->next;
        one->err = send_posting(one, one->queue, &task, p->link, on_added);
        add(&p->sent_end, one);
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
        snprintf(w->error, sizeof w->error, "%s", text);
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

static int post(struct posting *posting, const char *queue, const struct muster_bytes *task)
{
    struct muster_worker *w = posting->worker;
    int err = open_link(w);
    if (err != MUSTER_OK)
        return err;
    snprintf(posting->queue, sizeof posting->queue, "%s", queue);
    if (task->len > 0)
        memcpy(posting->bytes, task->data, task->len);
    posting->len = task->len;
    add(&w->produce.waiting_end, posting);
    send_waiting(w);
    return MUSTER_OK;
}

/* ---- its life ---- */

int produce_new(struct muster_worker *w, const struct url *url)
{
    struct produce *p = &w->produce;
    p->waiting_end = &p->waiting;
    p->sent_end = &p->sent;
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
    for (struct posting *next; p->waiting; p->waiting = next) {
        next = p->waiting->next;
        free(p->waiting);
    }
    url_clear(&p->url);
}

int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len, muster_done_fn *fn,
                          void *arg)
{
    const struct muster_bytes one = {task, len};
    if (muster_queue_check(queue) || (!task && len > 0))
        return MUSTER_E_INVALID;
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return MUSTER_E_TOO_BIG;
    if (!registration_is_there(w))
        return MUSTER_E_NOT_STARTED;
    bool is_confirmed = confirm_is_wanted(&w->produce.confirm);
    struct posting *posting = calloc(1, sizeof *posting + (is_confirmed ? len : 0));
    if (!posting)
        return MUSTER_E_NOMEM;
    posting->worker = w;
    posting->fn = fn;
    posting->arg = arg;
    int err =
        is_confirmed ? post(posting, queue, &one) : send_posting(posting, queue, &one, w->connection.data, on_enqueued);
    if (err != MUSTER_OK)
        free(posting);
    return err;
}
