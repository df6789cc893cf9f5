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

static struct outbox_item *of_process_event(const struct muster_event *e, struct muster_process *p)
{
    const struct muster_job *job = muster_process_job(p);
    struct outbox_item *made =
        make(MUSTER_ITEM_EVENT,
             &(struct copied){
                 .id = muster_process_id(p), .queue = p->served->name, .job = job ? job->id : NULL, .text = e->text});
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
