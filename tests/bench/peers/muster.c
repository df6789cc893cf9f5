/* SPDX-License-Identifier: MIT
 *
 * muster's player, on the public headers. Draining, its worker holds 400 tasks, 100 of them hands, as `muster-bench`'s
 * does; listening, it has muster's defaults. Built with WITH_JOBS it puts jobs, not plain tasks.
 */
#include <event2/event.h>
#include <muster/client.h>
#include <muster/job.h>
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>

#include "player.h"

#define HANDS 100
#define PREFETCH 300
#define BULK 1000

static struct {
    char url[512];
    struct muster_client *client;
    struct event_base *base;
    size_t wanted;
    int started, stopped;
} self;

static void must(int err, const char *what)
{
    if (err != MUSTER_OK)
        player_fail("muster: %s: %s", what, muster_err_text(err));
}

static void open_self(const char *address, const char *role)
{
    const struct muster_client_options options = {.size = sizeof options, .url = self.url};
    (void)role;
    snprintf(self.url, sizeof self.url, "unix://%s", address);
    must(muster_client_new(&self.client, &options), "making a client");
    self.base = event_base_new();
    if (!self.base)
        player_fail("muster: no loop");
}

/* ---- produce ---- */

static void put_all(const struct muster_bytes *tasks, size_t n)
{
    struct muster_job_spec specs[BULK];
    const struct muster_job_spec *pointers[BULK];
    for (size_t i = 0, k = 0; i < n; i++) {
        specs[k] = (struct muster_job_spec){.size = sizeof *specs, .data = tasks[i]};
        pointers[k] = &specs[k];
        k = (k + 1) % BULK;
        if (k == 0 || i + 1 == n)
            must(muster_job_put_many(self.client, FILL_QUEUE, pointers, k ? k : BULK, NULL, NULL), "putting many");
    }
}

static void fill(size_t n)
{
    char *bytes = malloc(n * TASK_LEN);
    struct muster_bytes *tasks = malloc(n * sizeof *tasks);
    if (!bytes || !tasks)
        player_fail("muster: no memory for %zu tasks", n);
    for (size_t i = 0; i < n; i++) {
        tasks[i] = (struct muster_bytes){bytes + i * TASK_LEN, TASK_LEN};
        player_task(bytes + i * TASK_LEN, (int64_t)i + 1);
    }
    if (WITH_JOBS)
        put_all(tasks, n);
    else
        must(muster_task_enqueue_many(self.client, FILL_QUEUE, tasks, n, NULL, NULL), "enqueueing many");
    free(tasks);
    free(bytes);
}

static void send_one(const char *task)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .data = {task, TASK_LEN}};
    must(WITH_JOBS ? muster_job_put(self.client, SEND_QUEUE, &spec, NULL)
                   : muster_task_enqueue(self.client, SEND_QUEUE, task, TASK_LEN, NULL),
         "enqueueing");
}

/* ---- drain and listen ---- */

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w, (void)arg;
    must(e->err, e->text);
    self.started |= e->type == MUSTER_EVENT_STARTED;
    self.stopped |= e->type == MUSTER_EVENT_STOPPED;
}

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    size_t len;
    const void *task = muster_process_task(p, &len);
    (void)arg;
    if (player_handle(task, len) == self.wanted)
        must(muster_worker_stop(muster_process_worker(p), -1), "stopping");
    return MUSTER_FINISH;
}

static void run_until(const int *happened)
{
    while (!*happened)
        event_base_loop(self.base, EVLOOP_ONCE);
}

static struct muster_worker *start(int hands, int prefetch)
{
    struct muster_worker *worker;
    const struct muster_worker_options options = {.size = sizeof options,
                                                  .url = self.url,
                                                  .base = self.base,
                                                  .hands = hands,
                                                  .prefetch = prefetch,
                                                  .on_event = on_event};
    self.started = self.stopped = 0;
    must(muster_worker_new(&worker, &options), "making a worker");
    must(muster_worker_start(worker), "starting a worker");
    run_until(&self.started);
    return worker;
}

/* Deregistered: so all ends are confirmed. */
static void drain(size_t n)
{
    struct muster_worker *worker = start(HANDS, PREFETCH);
    self.wanted = n;
    player_start_clock();
    must(muster_worker_serve(worker, FILL_QUEUE, 0, handle, NULL), "serving");
    run_until(&self.stopped);
    muster_worker_free(worker);
}

static void listen_on(void)
{
    must(muster_worker_serve(start(0, 0), SEND_QUEUE, 0, handle, NULL), "serving");
    puts("ready");
    event_base_dispatch(self.base);
    exit(1);
}

int main(int argc, char **argv)
{
    const struct player player = {open_self, fill, send_one, drain, listen_on};
    return player_run(&player, argc, argv);
}
