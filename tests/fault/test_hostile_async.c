/* SPDX-License-Identifier: MIT
 *
 * No answer hurts the asynchronous client and the listener: their calls, against servers that answer nonsense, in a
 * process of its own that reads every byte that it is given. Each call has one answer in bounded time, and no server
 * makes them ask in a tight loop.
 *
 * MUSTER_FAULT_SECONDS: how long each case goes on. MUSTER_TEST_SEED: where it begins; a failure names the seed.
 */
#include <muster/muster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile_rounds.h"

/* Calls that are answered one after the other, each as late as it may be. */
#define ANSWERED_MS 30000
/* A retry waits for 20 ms at least, and 64 calls may be under way; a listener of five channels makes new connections. */
#define FASTEST 20000

struct caller {
    struct hostile_caller base; /* first: what a callback gets is both */
    struct muster_async *async;
    struct muster_listener *listener;
    size_t n_made, n_answered;
};

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

/* ---- whatever is given is read ---- */

static void read_job(struct caller *c, const struct muster_job *j)
{
    const char *const texts[] = {j->id, j->queue, j->worker, j->process, j->group, j->batch, j->key, j->cron, j->zone};
    for (size_t i = 0; i < N_OF(texts); i++)
        hostile_read_text(&c->base, texts[i]);
    hostile_read(&c->base, j->data.data, j->data.len);
    hostile_read(&c->base, j->message.data, j->message.len);
    hostile_read(&c->base, j->result.data, j->result.len);
    for (size_t i = 0; i < j->n_tags; i++)
        hostile_read_text(&c->base, j->tags[i]);
    for (size_t i = 0; i < j->n_parents; i++)
        hostile_read_text(&c->base, j->parents[i]);
    for (size_t i = 0; i < j->n_ticks; i++)
        c->base.sum += (unsigned long)j->ticks[i];
}

static void on_answer(const struct muster_answer *a, void *arg)
{
    struct caller *c = arg;
    c->n_answered++;
    if (strcmp(muster_err_name(a->err), "E_UNKNOWN") == 0 || (a->err == MUSTER_OK) != (*a->text == '\0'))
        give_up("an answer has an error that is none, or no words");
    hostile_read_text(&c->base, a->text);
    hostile_read_text(&c->base, a->id);
    for (size_t i = 0; i < a->n; i++) {
        const struct muster_process_info *p = &a->processes[i];
        hostile_read_text(&c->base, p->id);
        hostile_read_text(&c->base, p->queue);
        hostile_read_text(&c->base, p->job);
        hostile_read(&c->base, p->task, p->len);
        if (p->record)
            read_job(c, p->record);
    }
    if (a->job)
        read_job(c, a->job);
}

static void hear(struct caller *c)
{
    struct muster_heard heard[8];
    size_t n;
    heard[0].size = sizeof heard[0];
    while ((n = muster_listener_next(c->listener, heard, N_OF(heard))) > 0)
        for (size_t i = 0; i < n; i++) {
            hostile_read_text(&c->base, heard[i].queue);
            hostile_read_text(&c->base, heard[i].text);
            hostile_read_text(&c->base, heard[i].process);
            hostile_read(&c->base, heard[i].task, heard[i].len);
            if (heard[i].result)
                hostile_read(&c->base, heard[i].result->data, heard[i].result->len);
            if (heard[i].job)
                hostile_read_text(&c->base, heard[i].job->text);
        }
}

/* ---- calls ---- */

static int make_call(struct caller *c)
{
    static const char *const ids[] = {"waiting", "held", "complete", "failed", "depends", "nobody"};
    const struct muster_job_spec spec = {
        .size = sizeof spec, .id = random_chance(&c->base.random, 50) ? "waiting" : NULL, .replace = 1};
    const struct muster_extend_options extend = {.size = sizeof extend, .lease_ms = 1000};
    const struct muster_finish_options next = {.size = sizeof next, .next = "o"};
    const char *process = hostile_process(&c->base);
    switch (random_below(&c->base.random, 10)) {
    case 0:
        return muster_async_put(c->async, "q", &spec, on_answer, c);
    case 1:
        return muster_async_take(c->async, "q", 1 + random_below(&c->base.random, 20), 1000,
                                 random_chance(&c->base.random, 50) ? 0 : 50, on_answer, c);
    case 2:
        return muster_async_finish(c->async, process, random_chance(&c->base.random, 50) ? NULL : &next, on_answer, c);
    case 3:
        return muster_async_give_back(c->async, process, on_answer, c);
    case 4:
        return muster_async_retry(c->async, process, 10, on_answer, c);
    case 5:
        return muster_async_fail(c->async, process, "g", "m", on_answer, c);
    case 6:
        return muster_async_extend(c->async, process, &extend, on_answer, c);
    case 7:
        return muster_async_job(c->async, ids[random_below(&c->base.random, N_OF(ids))], on_answer, c);
    case 8:
        return muster_async_length(c->async, "q", on_answer, c);
    default:
        return muster_async_enqueue(c->async, hostile_queue(&c->base), "task", 4, on_answer, c);
    }
}

static void change_listening(struct caller *c)
{
    const char *queue = random_chance(&c->base.random, 50) ? "q" : "o";
    int err = random_chance(&c->base.random, 30)
                  ? muster_listener_remove(c->listener, queue)
                  : muster_listener_add(c->listener, queue, 1 + (int)random_below(&c->base.random, MUSTER_LISTEN_ALL));
    if (err != MUSTER_OK)
        give_up("a listener refuses what is allowed");
}

static void open_both(struct caller *c)
{
    const struct muster_client_options client = {
        .size = sizeof client, .url = c->base.url, .prefix = c->base.prefix, .timeout_ms = HOSTILE_TIMEOUT_MS};
    const struct muster_async_options ao = {.size = sizeof ao, .client = &client};
    const struct muster_listener_options lo = {.size = sizeof lo, .client = &client, .max_heard = 20};
    if (muster_async_new(&c->async, &ao) != MUSTER_OK || muster_listener_new(&c->listener, &lo) != MUSTER_OK)
        give_up("a handle could not be made");
}

static void call_all(struct hostile_caller *base)
{
    struct caller caller = {.base = *base}, *c = &caller;
    muster_log_set(muster_log_silent, NULL);
    open_both(c);
    for (int i = 0; i < HOSTILE_CALLS; i++) {
        if (make_call(c) != MUSTER_OK)
            give_up("a call is refused that is allowed");
        c->n_made++;
        if (random_chance(&c->base.random, 20))
            muster_async_dispatch(c->async, random_below(&c->base.random, 10));
        if (random_chance(&c->base.random, 5))
            (void)!muster_async_wait(c->async, 50);
        if (random_chance(&c->base.random, 20))
            change_listening(c);
        if (random_chance(&c->base.random, 10))
            hear(c);
    }
    if (random_chance(&c->base.random, 80)) { /* or it is freed with calls in flight */
        if (muster_async_wait(c->async, ANSWERED_MS) != MUSTER_OK)
            give_up("a call has no answer in time");
        while (muster_async_dispatch(c->async, 0) > 0)
            ;
        if (c->n_answered != c->n_made)
            give_up("a call has no answer, or two");
    }
    hear(c);
    muster_async_free(c->async);
    muster_listener_free(c->listener);
    _exit(0);
}

static void no_nonsense_hurts_them(void **state)
{
    hostile_rounds(*state, NULL, FASTEST, call_all);
}

static void no_changed_answer_hurts_them(void **state)
{
    struct scene *s = *state;
    hostile_rounds(s, s->server->socket, FASTEST, call_all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(no_nonsense_hurts_them), live_test(no_changed_answer_hurts_them)};
    return scene_run(tests, argc, argv);
}
