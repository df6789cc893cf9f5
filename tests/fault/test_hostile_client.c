/* SPDX-License-Identifier: MIT
 *
 * No answer hurts the library: every call of the blocking client, thousands of times, against servers that answer
 * nonsense. A process of its own makes the calls and reads every byte that it is given; under sanitizers it would not
 * live to its end otherwise. What the command makes of such answers is in test_hostile.c.
 *
 * MUSTER_FAULT_SECONDS: how long each case goes on. MUSTER_TEST_SEED: where it begins; a failure names the seed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile_rounds.h"

struct caller {
    struct hostile_caller base; /* first: what a callback gets is both */
    struct muster_client *client;
};

/* ---- whatever is given is read ---- */

/* Now and then a caller wants no more. */
static int has_enough(struct caller *c)
{
    return random_chance(&c->base.random, 3);
}

static int on_task(const struct muster_task *t, void *arg)
{
    hostile_read(arg, t->data, t->len);
    return has_enough(arg);
}

static int on_delayed(const struct muster_delayed_task *t, void *arg)
{
    hostile_read(arg, t->data, t->len);
    return has_enough(arg);
}

static int on_queue(const struct muster_queue_info *q, void *arg)
{
    hostile_read_text(arg, q->name);
    return has_enough(arg);
}

static int on_worker(const struct muster_worker_info *w, void *arg)
{
    hostile_read_text(arg, w->id);
    hostile_read_text(arg, w->host);
    hostile_read_text(arg, w->version);
    for (size_t i = 0; i < w->n_queues; i++)
        hostile_read_text(arg, w->queues[i]);
    return has_enough(arg);
}

static int on_job(const struct muster_job *j, void *arg)
{
    const char *const texts[] = {j->id, j->queue, j->worker, j->process, j->group};
    for (size_t i = 0; i < N_OF(texts); i++)
        hostile_read_text(arg, texts[i]);
    hostile_read(arg, j->data.data, j->data.len);
    hostile_read(arg, j->message.data, j->message.len);
    hostile_read(arg, j->result.data, j->result.len);
    for (size_t i = 0; i < j->n_tags; i++)
        hostile_read_text(arg, j->tags[i]);
    for (size_t i = 0; i < j->n_after; i++)
        hostile_read_text(arg, j->after[i]);
    for (size_t i = 0; i < j->n_before; i++)
        hostile_read_text(arg, j->before[i]);
    for (size_t i = 0; i < j->n_after_end; i++)
        hostile_read_text(arg, j->after_end[i]);
    for (size_t i = 0; i < j->n_after_failure; i++)
        hostile_read_text(arg, j->after_failure[i]);
    for (size_t i = 0; i < j->n_parents; i++)
        hostile_read_text(arg, j->parents[i]);
    for (size_t i = 0; i < j->n_blocked_by; i++)
        hostile_read_text(arg, j->blocked_by[i]);
    for (size_t i = 0; i < j->n_history; i++) {
        hostile_read_text(arg, j->history[i].what);
        hostile_read_text(arg, j->history[i].text);
    }
    return has_enough(arg);
}

static int on_process(const struct muster_process_info *p, void *arg)
{
    hostile_read_text(arg, p->id);
    hostile_read_text(arg, p->worker);
    hostile_read_text(arg, p->queue);
    hostile_read_text(arg, p->job);
    hostile_read_text(arg, p->progress);
    hostile_read(arg, p->task, p->len);
    if (p->record)
        on_job(p->record, arg);
    return has_enough(arg);
}

static int on_failure(const struct muster_failure *f, void *arg)
{
    hostile_read_text(arg, f->entry);
    hostile_read_text(arg, f->process);
    hostile_read_text(arg, f->group);
    hostile_read_text(arg, f->job);
    hostile_read(arg, f->message.data, f->message.len);
    hostile_read(arg, f->task, f->len);
    return has_enough(arg);
}

static int on_group(const struct muster_failed_group *g, void *arg)
{
    hostile_read_text(arg, g->queue);
    hostile_read_text(arg, g->group);
    return has_enough(arg);
}

static int on_tag(const struct muster_tag *t, void *arg)
{
    hostile_read_text(arg, t->name);
    return has_enough(arg);
}

static int on_setting(const struct muster_setting *s, void *arg)
{
    hostile_read_text(arg, s->name);
    return has_enough(arg);
}

static int on_damage(const struct muster_damage *d, void *arg)
{
    hostile_read_text(arg, d->key);
    hostile_read_text(arg, d->what);
    return has_enough(arg);
}

static int on_queue_event(const struct muster_queue_event *e, void *arg)
{
    hostile_read_text(arg, e->process);
    hostile_read(arg, e->task, e->len);
    return has_enough(arg);
}

static int on_job_event(const struct muster_job_event *e, void *arg)
{
    hostile_read_text(arg, e->what);
    hostile_read_text(arg, e->text);
    return has_enough(arg);
}

/* ---- the calls ---- */

static int do_enqueue(struct caller *c)
{
    return muster_task_enqueue(c->client, hostile_queue(&c->base), "task", 4, &(uint64_t){0});
}

static int do_enqueue_many(struct caller *c)
{
    static const struct muster_bytes tasks[1200] = {{"a", 1}, {"b", 1}};
    const struct muster_enqueue_options o = {.size = sizeof o,
                                             .at_front = (int)random_below(&c->base.random, 2),
                                             .request_id = random_chance(&c->base.random, 50) ? "request" : NULL};
    return muster_task_enqueue_many(c->client, hostile_queue(&c->base), tasks, 1 + random_below(&c->base.random, 1200),
                                    &o, &(uint64_t){0});
}

static int do_look(struct caller *c)
{
    uint64_t n;
    int err = muster_queue_length(c->client, "q", &n);
    if (!err)
        err = muster_task_peek_delayed(c->client, "q", random_below(&c->base.random, 3), 40, on_delayed, c);
    return err ? err : muster_task_peek(c->client, "q", random_below(&c->base.random, 3), 40, on_task, c);
}

static int do_list_queues(struct caller *c)
{
    return muster_queue_list(c->client, on_queue, c);
}

static int do_list_workers(struct caller *c)
{
    return muster_worker_list(c->client, on_worker, c);
}

static int do_list_processes(struct caller *c)
{
    return muster_process_list(c->client, NULL, on_process, c);
}

static int do_pause(struct caller *c)
{
    int err = muster_queue_pause(c->client, "q");
    return err ? err : muster_queue_resume(c->client, "q");
}

static int do_delete(struct caller *c)
{
    return muster_queue_delete(c->client, hostile_queue(&c->base), NULL, NULL);
}

static int do_sweep(struct caller *c)
{
    return muster_client_sweep(c->client, NULL);
}

static int do_fail_worker(struct caller *c)
{
    return muster_worker_fail(c->client, "w", NULL);
}

static int do_cancel(struct caller *c)
{
    int err = muster_task_cancel(c->client, "q", "t1", 2, NULL, NULL);
    return err ? err : muster_process_cancel(c->client, hostile_process(&c->base));
}

static int do_take(struct caller *c)
{
    return muster_lease_take(c->client, "q", 1 + random_below(&c->base.random, 20), 1000,
                             random_chance(&c->base.random, 10) ? 20 : 0, on_process, c);
}

static int do_end(struct caller *c)
{
    const char *process = hostile_process(&c->base);
    switch (random_below(&c->base.random, 5)) {
    case 0:
        return muster_lease_give_back(c->client, process);
    case 1:
        return muster_lease_retry(c->client, process, 5);
    case 2:
        return muster_lease_fail(c->client, process, "g", "m");
    case 3:
        return muster_lease_extend(
            c->client, process,
            &(struct muster_extend_options){.size = sizeof(struct muster_extend_options), .lease_ms = 1000});
    }
    const struct muster_finish_options o = {.size = sizeof o, .next = random_chance(&c->base.random, 50) ? "o" : NULL};
    return muster_lease_finish(c->client, process, &o);
}

static int do_many(struct caller *c)
{
    const char *process = hostile_process(&c->base);
    int errs[3];
    const struct muster_extend_options extension = {.size = sizeof extension, .lease_ms = 1000};
    const struct muster_lease_end ends[] = {
        {.size = sizeof *ends, .process = process, .outcome = MUSTER_FINISH},
        {.size = sizeof *ends, .process = ".lease:00000000001:q", .outcome = MUSTER_FAIL, .group = "g"},
        {.size = sizeof *ends, .process = ".lease:00000000002:o", .outcome = MUSTER_GIVE_BACK},
    };
    const char *const processes[] = {process, ".lease:00000000001:q", ".lease:00000000002:o"};
    int err = random_chance(&c->base.random, 50) ? muster_lease_end_many(c->client, ends, 3, errs)
                                                 : muster_lease_extend_many(c->client, processes, 3, &extension, errs);
    for (int i = 0; i < 3; i++)
        assert_true(errs[i] <= MUSTER_OK && errs[i] >= MUSTER_E_INTERRUPTED);
    return err;
}

static int do_list_failures(struct caller *c)
{
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    int err = muster_failed_groups(c->client, random_chance(&c->base.random, 50) ? "q" : NULL, on_group, c);
    return err ? err : muster_failed_list(c->client, &f, on_failure, c);
}

static int do_move_failures(struct caller *c)
{
    const struct muster_failed_filter f = {
        .size = sizeof f, .queue = "q", .group = random_chance(&c->base.random, 50) ? "g" : NULL};
    return random_chance(&c->base.random, 50) ? muster_failed_replay(c->client, &f, NULL)
                                              : muster_failed_drop(c->client, &f, NULL);
}

static int do_listen(struct caller *c)
{
    return random_chance(&c->base.random, 50) ? muster_queue_listen(c->client, "q", 30, NULL, on_queue_event, c)
                                              : muster_job_listen(c->client, NULL, 30, NULL, on_job_event, c);
}

static int do_check(struct caller *c)
{
    return muster_client_check(c->client, (int)random_below(&c->base.random, 2), on_damage, c);
}

static int do_put(struct caller *c)
{
    const struct muster_job_spec spec = {.size = sizeof spec,
                                         .id = random_chance(&c->base.random, 50) ? "waiting" : NULL,
                                         .replace = (int)random_below(&c->base.random, 2)};
    char id[MUSTER_JOB_ID_MAX + 1];
    return random_chance(&c->base.random, 70) ? muster_job_put(c->client, "q", &spec, id)
                                              : muster_task_enqueue_unique(c->client, "q", "u", 1, id);
}

static int on_parent(const struct muster_job_parent *parent, void *arg)
{
    hostile_read_text(arg, parent->id);
    return parent->job ? on_job(parent->job, arg) : has_enough(arg);
}

static int do_get(struct caller *c)
{
    static const char *const ids[] = {"waiting", "held", "complete", "failed", "depends", "nobody"};
    if (random_chance(&c->base.random, 30))
        return muster_job_parents(c->client, ids[random_below(&c->base.random, N_OF(ids))], on_parent, c);
    return muster_job_get(c->client, ids, 1 + random_below(&c->base.random, N_OF(ids)), on_job, c);
}

static int on_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg)
{
    uint64_t sum = strlen(queue);
    (void)arg;
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++)
        sum += counts[i];
    return sum == 0;
}

static int do_list_jobs(struct caller *c)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    struct muster_job_filter f = {.size = sizeof f,
                                  .queue = "q",
                                  .state = (enum muster_job_state)random_below(&c->base.random, MUSTER_JOB_STATE_COUNT),
                                  .order = (enum muster_jobs_order)random_below(&c->base.random, 3)};
    if (random_chance(&c->base.random, 20))
        f = (struct muster_job_filter){.size = sizeof f, .tag = "blue"};
    int err = muster_job_counts(c->client, "q", counts);
    if (err == MUSTER_OK)
        err = muster_job_counts_list(c->client, on_counts, c);
    if (err == MUSTER_OK)
        err = muster_tag_list(c->client, 0, 150, on_tag, c);
    if (err == MUSTER_OK)
        err = muster_job_list(c->client, &f, on_job, c);
    f.order = MUSTER_JOBS_AS_THEY_ARE;
    const struct muster_job_bulk bulk = {
        .size = sizeof bulk, .action = random_chance(&c->base.random, 50) ? MUSTER_JOBS_CANCEL : MUSTER_JOBS_REPLAY};
    return err ? err : muster_job_bulk(c->client, &f, &bulk, NULL);
}

static int do_change(struct caller *c)
{
    static const char *const ids[] = {"scheduled", "held"};
    const struct muster_job_change change = {.size = sizeof change, .queue = "o"};
    int err = muster_job_change(c->client, "waiting", &change);
    return err ? err : muster_job_cancel(c->client, ids, N_OF(ids), (int)random_below(&c->base.random, 2), NULL, NULL);
}

static int do_figures(struct caller *c)
{
    struct muster_stats stats = {.size = sizeof stats};
    int err = muster_stats_get(c->client, "q", -1, &stats);
    return err ? err
               : muster_config_get(c->client, random_chance(&c->base.random, 50) ? "q" : NULL, NULL, on_setting, c);
}

static int do_configure(struct caller *c)
{
    return muster_config_set(c->client, "q", "max_running", &(int64_t){3});
}

static int (*const calls[])(struct caller *c) = {
    do_enqueue,   do_enqueue_many, do_look,  do_list_queues,   do_list_workers,  do_list_processes,
    do_pause,     do_delete,       do_sweep, do_fail_worker,   do_cancel,        do_take,
    do_many,      do_end,          do_end,   do_list_failures, do_move_failures, do_listen,
    do_check,     do_put,          do_get,   do_list_jobs,     do_change,        do_figures,
    do_configure,
};

/* ---- rounds ---- */

static void ignore_line(enum muster_log_level level, const char *line, void *arg)
{
    (void)level, (void)line, (void)arg;
}

static void call_all(struct hostile_caller *base)
{
    struct caller caller = {.base = *base}, *c = &caller;
    const struct muster_client_options o = {
        .size = sizeof o, .url = c->base.url, .prefix = c->base.prefix, .timeout_ms = HOSTILE_TIMEOUT_MS};
    muster_log_set(ignore_line, NULL);
    if (muster_client_new(&c->client, &o) != MUSTER_OK)
        _exit(1);
    for (int i = 0; i < HOSTILE_CALLS; i++) {
        size_t which = random_below(&c->base.random, N_OF(calls));
        int err = calls[which](c);
        bool has_words = err == MUSTER_OK || *muster_client_error(c->client);
        if (has_words && strcmp(muster_err_name(err), "E_UNKNOWN") != 0)
            continue;
        fprintf(stderr, "call %zu of the list: error %d%s\n", which, err, has_words ? "" : ", without words");
        _exit(1);
    }
    muster_client_free(c->client);
    _exit(0);
}

static void no_nonsense_hurts_a_client(void **state)
{
    hostile_rounds(*state, NULL, 0, call_all);
}

static void no_changed_answer_hurts_a_client(void **state)
{
    struct scene *s = *state;
    hostile_rounds(s, s->server->socket, 0, call_all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(no_nonsense_hurts_a_client),
                                       live_test(no_changed_answer_hurts_a_client)};
    return scene_run(tests, argc, argv);
}
