/* SPDX-License-Identifier: MIT
 *
 * Processes that were taken.
 */
#include "taken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int taken_add(const struct muster_process_info *p, void *arg)
{
    struct taken *all = arg;
    assert_true(p->whole_len >= p->len);
    if (p->record)
        assert_string_equal(p->record->holder, p->holder ? p->holder : "");
    if (all->n < TAKEN_MAX) {
        struct taken_row *row = &all->rows[all->n];
        memset(row, 0, sizeof *row);
        snprintf(row->id, sizeof row->id, "%s", p->id);
        snprintf(row->worker, sizeof row->worker, "%s", p->worker);
        snprintf(row->progress, sizeof row->progress, "%s", p->progress);
        if (p->len > 0)
            memcpy(row->task, p->task, p->len < sizeof row->task ? p->len : sizeof row->task - 1);
        row->len = p->len;
        row->token = p->token;
        row->started_at_ms = p->started_at_ms;
        row->ends_at_ms = p->ends_at_ms;
        row->cancelled = p->cancelled;
    }
    all->n++;
    return 0;
}

int take_n(struct scene *s, const char *queue, size_t n, int64_t lease_ms, struct taken *out)
{
    *out = (struct taken){0};
    return muster_lease_take(s->client, queue, n, lease_ms, 0, taken_add, out);
}

const char *take_one(struct scene *s, const char *queue, const char *task)
{
    static char ids[8][PROCESS_ID_MAX];
    static size_t next;
    struct taken one;
    assert_ok(take_n(s, queue, 1, 3600000, &one));
    assert_int_equal(one.n, 1);
    assert_string_equal(one.rows[0].task, task);
    char *id = ids[next++ % 8];
    snprintf(id, PROCESS_ID_MAX, "%s", one.rows[0].id);
    return id;
}

static int append_task(const struct muster_task *task, void *arg)
{
    fprintf(arg, "%.*s ", (int)task->len, (const char *)task->data);
    return 0;
}

void assert_queue_holds(struct scene *s, const char *queue, const char *tasks)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int err = muster_task_peek(s->client, queue, 0, 1000000, append_task, out);
    fclose(out);
    bool same = !err && !strcmp(text, tasks);
    if (!same)
        print_error("in %s waits: %.300s\n", queue, text);
    free(text);
    assert_ok(err);
    assert_true(same);
}

struct wanted_queue {
    const char *name;
    struct muster_queue_info row;
};

static int keep_if_wanted(const struct muster_queue_info *queue, void *arg)
{
    struct wanted_queue *wanted = arg;
    if (strcmp(queue->name, wanted->name) != 0)
        return 0;
    wanted->row = *queue;
    wanted->row.name = NULL;
    return 1;
}

struct muster_queue_info queue_row_of(struct scene *s, const char *queue)
{
    struct wanted_queue wanted = {.name = queue};
    assert_ok(muster_queue_list(s->client, keep_if_wanted, &wanted));
    return wanted.row;
}

int64_t server_now_ms(struct scene *s)
{
    struct redisReply *time = raw(s->server->redis, "TIME");
    int64_t ms = atoll(time->element[0]->str) * 1000 + atoll(time->element[1]->str) / 1000;
    freeReplyObject(time);
    return ms;
}

struct server_time {
    struct scene *scene;
    int64_t at_ms;
};

static bool server_has_reached(void *arg)
{
    struct server_time *t = arg;
    return server_now_ms(t->scene) > t->at_ms;
}

void await_server_ms(struct scene *s, int64_t at_ms)
{
    struct server_time t = {s, at_ms};
    wait_until(server_has_reached, &t, SOON_MS);
}
