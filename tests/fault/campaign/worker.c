/* SPDX-License-Identifier: MIT
 *
 * The workers of a campaign: handlers inline, on threads, and as commands.
 */
#include <muster/client.h>
#include <muster/worker.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"

#define LOOK_MS 5
#define TICK_MS 100
#define STILL_MS 700
#define DRAIN_MS 800
#define RETRY_MS 50
#define EXIT_RETRY 75

static struct muster_worker *worker;
static const char *own_life;

static void on_term(int signo)
{
    (void)signo;
    muster_worker_stop(worker, -1);
}

/* ---- the handler ---- */

static enum muster_outcome end_as(struct muster_process *p, const char *outcome)
{
    if (!strcmp(outcome, "finish"))
        return MUSTER_FINISH;
    if (!strcmp(outcome, "back"))
        return MUSTER_GIVE_BACK;
    int err = !strcmp(outcome, "retry") ? muster_process_set_retry(p, RETRY_MS)
                                        : muster_process_set_failure(p, "asked", "the task says so");
    if (err)
        abort();
    return !strcmp(outcome, "retry") ? MUSTER_RETRY : MUSTER_FAIL;
}

static void read_work(struct work *w, const struct muster_process *p)
{
    size_t len;
    const void *task = muster_process_task(p, &len);
    if (!work_read(w, task, len))
        abort();
}

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    (void)arg;
    struct work w;
    uint64_t token = muster_process_token(p);
    read_work(&w, p);
    record_write('B', w.name, token, own_life, "-");
    if (w.mode == 'p')
        work_poison(own_life, 0);
    const char *outcome = work_outcome(&w, token);
    for (int64_t until = now_ms() + w.ms; now_ms() < until || w.mode == 'e';) {
        sleep_ms(LOOK_MS);
        if (muster_process_stop_reason(p) != MUSTER_GO_ON) {
            outcome = "back";
            break;
        }
    }
    record_write('E', w.name, token, own_life, outcome);
    return end_as(p, outcome);
}

void command_run(void)
{
    char task[TASK_MAX];
    struct work w;
    const char *token_text = getenv("MUSTER_TOKEN"), *life = getenv("MUSTER_WORKER"), *pid = getenv("CAMPAIGN_PID");
    ssize_t n = read(STDIN_FILENO, task, sizeof task);
    if (n <= 0 || !token_text || !life || !pid)
        abort();
    uint64_t token = strtoull(token_text, NULL, 32);
    record_open(getenv("CAMPAIGN_RECORD"));
    if (!work_read(&w, task, (size_t)n))
        abort();
    record_write('B', w.name, token, life, "-");
    /* Without its worker it is harmless. */
    if (w.mode == 'p' && getppid() == atoi(pid))
        work_poison(life, getppid());
    sleep_ms(w.ms);
    const char *outcome = work_outcome(&w, token);
    int status = !strcmp(outcome, "finish") ? 0 : !strcmp(outcome, "fail") ? 1 : EXIT_RETRY;
    /* A command cannot give back of its own will, and a job that fails in one is retried while it has retries. */
    bool is_retried = status == EXIT_RETRY || (status == 1 && getenv("MUSTER_JOB"));
    record_write('E', w.name, token, life, is_retried ? "retry" : outcome);
    _exit(status);
}

/* ---- the worker ---- */

static void note_process(char kind, const struct muster_event *e)
{
    struct work w;
    if (!e->process)
        return;
    read_work(&w, e->process);
    record_write(kind, w.name, muster_process_token(e->process), own_life, muster_err_name(e->err));
}

static void note(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w, (void)arg;
    if (e->type == MUSTER_EVENT_STOP)
        note_process('S', e);
    else if (e->type == MUSTER_EVENT_UNCOUNTED)
        note_process('U', e);
    else if (e->type == MUSTER_EVENT_LOST || e->type == MUSTER_EVENT_DOUBT)
        record_write(e->type == MUSTER_EVENT_LOST ? 'L' : 'D', "-", 0, own_life, "-");
}

/* A machine that gives this process no time hurts it as SIGSTOP does. */
static void *watch(void *arg)
{
    (void)arg;
    for (int64_t last = now_ms();;) {
        sleep_ms(TICK_MS);
        int64_t now = now_ms();
        if (now - last > STILL_MS)
            record_write('G', "-", 0, own_life, "-");
        last = now;
    }
    return NULL;
}

static void make(const struct campaign *c, const char *life, int hands, int threads, bool resumes)
{
    struct random r = random_of(c, life);
    struct muster_worker_options o = {.size = sizeof o,
                                      .url = c->url,
                                      .prefix = c->prefix,
                                      .id = life,
                                      .ttl_ms = TTL_MS,
                                      .hands = hands,
                                      .threads = threads,
                                      .prefetch = (int)random_below(&r, 4),
                                      .drain_ms = DRAIN_MS,
                                      .resume = resumes,
                                      .in_turn = (int)random_below(&r, 2),
                                      .on_event = note};
    own_life = life;
    if (muster_worker_new(&worker, &o) || muster_worker_start(worker))
        abort();
    signal(SIGTERM, on_term);
}

static _Noreturn void run(void)
{
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, NULL))
        abort();
    int err = muster_worker_run(worker);
    /* Redis denied it at its start or its end; or a former life of its id is not over. */
    if (err == MUSTER_E_DENIED || err == MUSTER_E_EXISTS) {
        sleep_ms(TICK_MS);
        _exit(EXIT_AGAIN);
    }
    /* It could not deregister in time. */
    if (err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT || err == MUSTER_E_BUSY)
        _exit(EXIT_WITHOUT_REDIS);
    if (err)
        fprintf(stderr, "campaign: worker %s ends: %s: %s\n", own_life, muster_err_name(err),
                muster_worker_error(worker));
    _exit(err ? 1 : 0);
}

static _Noreturn void serve(void)
{
    for (int i = 0; i < QUEUES; i++)
        if (muster_worker_serve(worker, queue_names[i], 0, handle, NULL))
            abort();
    run();
}

void worker_inline(const struct campaign *c, const char *life)
{
    make(c, life, 1, 0, false);
    serve();
}

/* What never ends leaves hands for the rest. */
static _Noreturn void serve_all(void)
{
    if (muster_worker_serve(worker, queue_names[QUEUES], 1, handle, NULL))
        abort();
    serve();
}

void worker_threads(const struct campaign *c, const char *life)
{
    make(c, life, 3, 3, false);
    serve_all();
}

void worker_resumes(const struct campaign *c, const char *life)
{
    make(c, life, 3, 3, true);
    serve_all();
}

void worker_command(const struct campaign *c, const char *life)
{
    const char *argv[] = {c->program, "--command", NULL};
    struct muster_command command = {.size = sizeof command, .argv = argv, .retry_delay_ms = RETRY_MS};
    char pid[24];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("CAMPAIGN_RECORD", c->record, 1);
    setenv("CAMPAIGN_PID", pid, 1);
    make(c, life, 2, 0, false);
    for (int i = 0; i < QUEUES; i++)
        if (muster_worker_serve_command(worker, queue_names[i], &command))
            abort();
    run();
}
