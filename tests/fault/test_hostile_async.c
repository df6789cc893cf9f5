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
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "hostile_server.h"
#include "random.h"
#include "script_world.h"

#define SPAN_MS 5000
/* One server, one process, one seed. */
#define CALLS 150
#define TIMEOUT_MS 100
/* Calls that are answered one after the other, each as late as it may be. */
#define ANSWERED_MS 30000
#define MARGIN_MS 60000
/* A retry waits for 20 ms at least, and 64 calls may be under way; a listener of five channels makes new connections. */
#define FASTEST 20000

struct caller {
    struct muster_async *async;
    struct muster_listener *listener;
    struct random random;
    char leased[80], held[80];
    size_t n_made, n_answered;
    unsigned long sum;
};

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

/* ---- whatever is given is read ---- */

static void read_bytes(struct caller *c, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        c->sum += ((const unsigned char *)data)[i];
}

static void read_name(struct caller *c, const char *text)
{
    if (text)
        read_bytes(c, text, strlen(text) + 1);
}

static void read_job(struct caller *c, const struct muster_job *j)
{
    const char *const texts[] = {j->id, j->queue, j->worker, j->process, j->group, j->batch, j->key, j->cron, j->zone};
    for (size_t i = 0; i < N_OF(texts); i++)
        read_name(c, texts[i]);
    read_bytes(c, j->data.data, j->data.len);
    read_bytes(c, j->message.data, j->message.len);
    read_bytes(c, j->result.data, j->result.len);
    for (size_t i = 0; i < j->n_tags; i++)
        read_name(c, j->tags[i]);
    for (size_t i = 0; i < j->n_parents; i++)
        read_name(c, j->parents[i]);
    for (size_t i = 0; i < j->n_ticks; i++)
        c->sum += (unsigned long)j->ticks[i];
}

static void on_answer(const struct muster_answer *a, void *arg)
{
    struct caller *c = arg;
    c->n_answered++;
    if (strcmp(muster_err_name(a->err), "E_UNKNOWN") == 0 || (a->err == MUSTER_OK) != (*a->text == '\0'))
        give_up("an answer has an error that is none, or no words");
    read_name(c, a->text);
    read_name(c, a->id);
    for (size_t i = 0; i < a->n; i++) {
        const struct muster_process_info *p = &a->processes[i];
        read_name(c, p->id);
        read_name(c, p->queue);
        read_name(c, p->job);
        read_bytes(c, p->task, p->len);
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
            read_name(c, heard[i].queue);
            read_name(c, heard[i].text);
            read_name(c, heard[i].process);
            read_bytes(c, heard[i].task, heard[i].len);
            if (heard[i].result)
                read_bytes(c, heard[i].result->data, heard[i].result->len);
            if (heard[i].job)
                read_name(c, heard[i].job->text);
        }
}

/* ---- calls ---- */

static int make_call(struct caller *c)
{
    static const char *const ids[] = {"waiting", "held", "complete", "failed", "depends", "nobody"};
    const struct muster_job_spec spec = {
        .size = sizeof spec, .id = random_chance(&c->random, 50) ? "waiting" : NULL, .replace = 1};
    const struct muster_extend_options extend = {.size = sizeof extend, .lease_ms = 1000};
    const struct muster_finish_options next = {.size = sizeof next, .next = "o"};
    const char *process = random_chance(&c->random, 50) ? c->leased : c->held;
    switch (random_below(&c->random, 10)) {
    case 0:
        return muster_async_put(c->async, "q", &spec, on_answer, c);
    case 1:
        return muster_async_take(c->async, "q", 1 + random_below(&c->random, 20), 1000,
                                 random_chance(&c->random, 50) ? 0 : 50, on_answer, c);
    case 2:
        return muster_async_finish(c->async, process, random_chance(&c->random, 50) ? NULL : &next, on_answer, c);
    case 3:
        return muster_async_give_back(c->async, process, on_answer, c);
    case 4:
        return muster_async_retry(c->async, process, 10, on_answer, c);
    case 5:
        return muster_async_fail(c->async, process, "g", "m", on_answer, c);
    case 6:
        return muster_async_extend(c->async, process, &extend, on_answer, c);
    case 7:
        return muster_async_job(c->async, ids[random_below(&c->random, N_OF(ids))], on_answer, c);
    case 8:
        return muster_async_length(c->async, "q", on_answer, c);
    default:
        return muster_async_enqueue(c->async, random_chance(&c->random, 80) ? "q" : "o", "task", 4, on_answer, c);
    }
}

static void change_listening(struct caller *c)
{
    const char *queue = random_chance(&c->random, 50) ? "q" : "o";
    int err = random_chance(&c->random, 30)
                  ? muster_listener_remove(c->listener, queue)
                  : muster_listener_add(c->listener, queue, 1 + (int)random_below(&c->random, MUSTER_LISTEN_ALL));
    if (err != MUSTER_OK)
        give_up("a listener refuses what is allowed");
}

static void open_both(struct caller *c, const char *url, const char *prefix)
{
    const struct muster_client_options client = {
        .size = sizeof client, .url = url, .prefix = prefix, .timeout_ms = TIMEOUT_MS};
    const struct muster_async_options ao = {.size = sizeof ao, .client = &client};
    const struct muster_listener_options lo = {.size = sizeof lo, .client = &client, .max_heard = 20};
    if (muster_async_new(&c->async, &ao) != MUSTER_OK || muster_listener_new(&c->listener, &lo) != MUSTER_OK)
        give_up("a handle could not be made");
}

static void call_all(const char *url, const char *prefix, struct caller *c)
{
    muster_log_set(muster_log_silent, NULL);
    open_both(c, url, prefix);
    for (int i = 0; i < CALLS; i++) {
        if (make_call(c) != MUSTER_OK)
            give_up("a call is refused that is allowed");
        c->n_made++;
        if (random_chance(&c->random, 20))
            muster_async_dispatch(c->async, random_below(&c->random, 10));
        if (random_chance(&c->random, 5))
            (void)!muster_async_wait(c->async, 50);
        if (random_chance(&c->random, 20))
            change_listening(c);
        if (random_chance(&c->random, 10))
            hear(c);
    }
    if (random_chance(&c->random, 80)) { /* or it is freed with calls in flight */
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

/* ---- rounds ---- */

struct end {
    pid_t pid;
    int status;
};

static bool has_ended(void *arg)
{
    struct end *end = arg;
    return waitpid(end->pid, &end->status, WNOHANG) == end->pid;
}

static void run_round(struct scene *s, struct script_world *world, struct hostile_server *server,
                      const struct hostile_spec *spec)
{
    struct caller c = {.random = random_from(spec->seed)};
    snprintf(c.leased, sizeof c.leased, ".lease:%s:q", world->leased);
    snprintf(c.held, sizeof c.held, "w:%s:q", world->held);
    script_world_restore(world);
    hostile_server_start(server, s->server->dir, spec);
    struct end end = {.pid = child_fork()};
    if (end.pid == 0)
        call_all(server->url, s->prefix, &c);
    bool ended = wait_for(NULL, has_ended, &end, MARGIN_MS);
    if (!ended)
        child_kill(&end.pid);
    uint64_t fastest = hostile_server_fastest(server);
    hostile_server_stop(server);
    if (!ended || end.status != 0 || fastest > FASTEST)
        fail_msg("MUSTER_TEST_SEED=%llu: %s, wait status %x, %llu commands in a second", (unsigned long long)spec->seed,
                 ended ? "it ended" : "it did not end", (unsigned)end.status, (unsigned long long)fastest);
}

static void run_rounds(struct scene *s, const char *relay_to)
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int64_t until = now_ms() + (seconds ? atoi(seconds) * 1000 : SPAN_MS);
    struct hostile_server server = {.pid = 0};
    struct script_world world;
    unsigned n = 0;
    script_world_make(&world, s);
    script_world_keep(&world);
    for (uint64_t seed = random_seed(1); now_ms() < until; seed++, n++) {
        struct random random = random_from(seed);
        run_round(s, &world, &server,
                  &(struct hostile_spec){
                      .relay_to = relay_to, .seed = seed, .percent = 5 + (unsigned)random_below(&random, 50)});
    }
    print_message("%u rounds of %d calls: %llu answers, %llu of them nonsense\n", n, CALLS,
                  (unsigned long long)server.counts->replies, (unsigned long long)server.counts->nonsense);
    script_world_end(&world);
}

static void no_nonsense_hurts_them(void **state)
{
    run_rounds(*state, NULL);
}

static void no_changed_answer_hurts_them(void **state)
{
    struct scene *s = *state;
    run_rounds(s, s->server->socket);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(no_nonsense_hurts_them), live_test(no_changed_answer_hurts_them)};
    return scene_run(tests, argc, argv);
}
