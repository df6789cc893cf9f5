/* SPDX-License-Identifier: MIT
 *
 * Making items: one piece of memory each, which has the copies behind it; which process they are about; and how many
 * answers may be outstanding.
 */
#include "worker/outbox_item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

/* Longer than any words of an end. */
#define END_TEXT_SIZE 256

/* What is copied of an item: its members that point to something. */
struct copied {
    const char *id, *queue, *job, *text;
    struct muster_bytes task;
};

static size_t len_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy(char **to, const void *from, size_t len)
{
    char *at = *to;
    if (!from)
        return NULL;
    memcpy(at, from, len);
    *to += len;
    return at;
}

static struct outbox_item *make(int type, const struct copied *c)
{
    size_t task_len = c->task.data ? c->task.len : 0;
    size_t len = len_of(c->id) + len_of(c->queue) + len_of(c->job) + len_of(c->text) + task_len + 1;
    struct outbox_item *made = malloc(sizeof *made + len);
    if (!made)
        return NULL;
    char *to = made->copies;
    *made = (struct outbox_item){.bytes = sizeof *made + len, .item = {.type = type, .len = task_len}};
    made->item.id = copy(&to, c->id, len_of(c->id));
    made->item.queue = copy(&to, c->queue, len_of(c->queue));
    made->item.job = copy(&to, c->job, len_of(c->job));
    made->item.text = copy(&to, c->text, len_of(c->text));
    made->item.task = copy(&to, c->task.data, task_len);
    *to = '\0'; /* as behind every task */
    return made;
}

static struct outbox_item *make_about(struct muster_process *p, const char *text, struct muster_bytes room)
{
    const struct muster_job *job = muster_process_job(p);
    return make(MUSTER_ITEM_EVENT, &(struct copied){.id = muster_process_id(p),
                                                    .queue = p->served->name,
                                                    .job = job ? job->id : NULL,
                                                    .text = text,
                                                    .task = room});
}

/* The words take the place of a task. */
int outbox_item_keep(struct muster_process *p)
{
    static const char room[END_TEXT_SIZE];
    const struct muster_worker *w = p->worker;
    if (w->on_event || !outbox_is_heard(w) || p->end)
        return MUSTER_OK;
    if (!*muster_process_id(p) || !(p->end = make_about(p, NULL, (struct muster_bytes){room, sizeof room})))
        return MUSTER_E_NOMEM;
    p->end->item.text = p->end->item.task;
    p->end->item.task = NULL;
    p->end->item.len = 0;
    return MUSTER_OK;
}

static struct outbox_item *of_end(const struct muster_event *e, struct muster_process *p)
{
    struct outbox_item *kept = p->end;
    p->end = NULL;
    snprintf(kept->copies + (kept->item.text - kept->copies), END_TEXT_SIZE, "%s", e->text);
    return kept;
}

static struct outbox_item *of_process_event(const struct muster_event *e, struct muster_process *p)
{
    const bool is_end = e->type == MUSTER_EVENT_ENDED || e->type == MUSTER_EVENT_UNCOUNTED;
    struct outbox_item *made = is_end && p->end ? of_end(e, p) : make_about(p, e->text, (struct muster_bytes){NULL, 0});
    if (!made)
        return NULL;
    made->process = p;
    made->item.user = muster_process_user(p);
    made->item.token = p->token;
    return made;
}

struct outbox_item *outbox_item_for_stopped(void)
{
    struct outbox_item *made = malloc(sizeof *made + TELL_ERROR_SIZE);
    if (made)
        *made = (struct outbox_item){.bytes = sizeof *made + TELL_ERROR_SIZE, .item = {.type = MUSTER_ITEM_EVENT}};
    return made;
}

/* The program waits for it, so it must not depend on memory that is there just then. */
static struct outbox_item *of_stopped(const struct muster_event *e, struct outbox_item **stopped)
{
    struct outbox_item *made = *stopped;
    *stopped = NULL;
    snprintf(made->copies, TELL_ERROR_SIZE, "%s", e->text);
    made->item.text = made->copies;
    return made;
}

static struct outbox_item *of_other_event(const struct muster_event *e)
{
    return make(MUSTER_ITEM_EVENT, &(struct copied){.queue = e->queue, .text = e->text, .task = {e->task, e->len}});
}

struct outbox_item *outbox_item_of_event(const struct muster_event *e, struct outbox_item **stopped)
{
    struct outbox_item *made = e->type == MUSTER_EVENT_STOPPED ? of_stopped(e, stopped)
                               : e->process                    ? of_process_event(e, e->process)
                                                               : of_other_event(e);
    if (made) {
        made->item.event = (int)e->type;
        made->item.err = e->err;
    }
    return made;
}

struct outbox_item *outbox_item_of_answer(const char *queue, const char *job, void *arg)
{
    struct outbox_item *made = make(MUSTER_ITEM_ANSWER, &(struct copied){.queue = queue, .job = job});
    if (made)
        made->item.user = arg;
    return made;
}

void outbox_item_free_all(struct outbox_item *first)
{
    while (first) {
        struct outbox_item *next = first->next;
        free(first);
        first = next;
    }
}

/* ---- while it waits ---- */

void outbox_item_tie(struct outbox_item *item)
{
    struct muster_process *p = item->process;
    if (!p)
        return;
    item->before = p->items;
    p->items = item;
}

void outbox_item_untie(struct outbox_item *item)
{
    struct muster_process *p = item->process;
    if (!p)
        return;
    struct outbox_item **at = &p->items;
    while (*at != item)
        at = &(*at)->before;
    *at = item->before;
    item->item.user = muster_process_user(p);
    item->process = NULL;
}

/* ---- answers that are to come ---- */

int outbox_expect_answer(struct muster_worker *w)
{
    if (atomic_fetch_add(&w->outbox.n_answers, 1) < MUSTER_ANSWERS_MAX)
        return MUSTER_OK;
    atomic_fetch_sub(&w->outbox.n_answers, 1);
    return MUSTER_E_BUSY;
}

void outbox_no_answer(struct muster_worker *w, struct outbox_item *answer)
{
    atomic_fetch_sub(&w->outbox.n_answers, 1);
    free(answer);
}
