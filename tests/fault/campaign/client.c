/* SPDX-License-Identifier: MIT
 *
 * The clients of a campaign: those that put tasks and jobs, and those that take them under leases.
 */
#include <muster/client.h>
#include <muster/job.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"

#define BATCH_MAX 4
#define WAITING_MAX 40
#define RECENT 32
#define POISON_IN 400
#define AGAIN_MS 20
#define BUSY_MS 100
#define TAKE_WAIT_MS 300
#define REQUEST_TRIES 400

static volatile sig_atomic_t is_ending;
static const char *own_life;
static struct random dice;
static struct muster_client *client;

static void on_term(int signo)
{
    (void)signo;
    is_ending = 1;
}

static void begin(const struct campaign *c, const char *life)
{
    struct muster_client_options o = {.size = sizeof o, .url = c->url, .prefix = c->prefix};
    own_life = life;
    dice = random_of(c, life);
    if (muster_client_new(&client, &o))
        abort();
    signal(SIGTERM, on_term);
}

/* It may have been done. */
static bool is_doubtful(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT || err == MUSTER_E_UNCONFIRMED;
}

/* It was not done, and may work later. */
static bool is_refused(int err)
{
    return err == MUSTER_E_FULL || err == MUSTER_E_BUSY || err == MUSTER_E_DENIED;
}

static void expect(int err, const char *call)
{
    if (err == MUSTER_OK || is_doubtful(err) || is_refused(err))
        return;
    fprintf(stderr, "campaign: %s: %s: %s: %s\n", own_life, call, muster_err_name(err), muster_client_error(client));
    _exit(1);
}

/* ---- putting ---- */

struct put {
    const char *queue;
    char name[NAME_MAX_LEN + 1], task[TASK_MAX];
    size_t len;
    bool is_job;
};
static struct put recent[RECENT];
static unsigned n_put;

static struct put *make(const struct campaign *c, const char *queue, bool is_job)
{
    static const char modes[] = "ddddddddddddddddrrbf";
    struct put *p = &recent[n_put++ % RECENT];
    struct work w = {.mode = modes[random_below(&dice, sizeof modes - 1)],
                     .ms = (int)random_below(&dice, random_chance(&dice, 5) ? 500 : 40),
                     .len = random_chance(&dice, 5) ? (int)random_below(&dice, TASK_MAX) : 0};
    if (c->faults & BIT(FAULT_POISON) && !random_below(&dice, POISON_IN))
        w.mode = 'p';
    snprintf(w.name, sizeof w.name, "%s-%u", own_life, n_put);
    work_write(&w, p->task);
    snprintf(p->name, sizeof p->name, "%s", w.name);
    p->queue = queue;
    p->is_job = is_job;
    p->len = (size_t)w.len;
    record_write('I', p->name, 0, own_life, w.mode == 'p' ? "poison" : is_job ? "job" : "task");
    return p;
}

static void note_answer(int err, bool was_doubtful, struct put *const *puts, size_t n)
{
    expect(err, "put");
    char kind = err == MUSTER_E_UNCONFIRMED ? 'V' : err ? 'N' : 'A';
    if ((is_doubtful(err) && kind != 'V') || (was_doubtful && kind == 'N'))
        return;
    for (size_t i = 0; i < n; i++)
        record_write(kind, puts[i]->name, 0, own_life, muster_err_name(err));
}

static void put_job(const struct campaign *c, const char *queue)
{
    struct put *p = make(c, queue, true);
    struct muster_job_spec spec = {.size = sizeof spec,
                                   .id = p->name,
                                   .data = {p->task, p->len},
                                   .priority = (int)random_below(&dice, 3) - 1,
                                   .delay_ms = random_chance(&dice, 20) ? 200 : 0,
                                   .backoff = &(const struct muster_backoff){.delay_ms = AGAIN_MS},
                                   .retries = 20};
    note_answer(muster_job_put(client, queue, &spec, NULL), false, &p, 1);
}

/* Under a request id it is tried until there is an answer, and then the tasks are there once. */
static uint64_t put_tasks(const struct campaign *c, const char *queue)
{
    struct put *puts[BATCH_MAX];
    struct muster_bytes tasks[BATCH_MAX];
    size_t n = 1 + random_below(&dice, BATCH_MAX);
    for (size_t i = 0; i < n; i++) {
        puts[i] = make(c, queue, false);
        tasks[i] = (struct muster_bytes){puts[i]->task, puts[i]->len};
    }
    bool has_request = random_chance(&dice, 60), was_doubtful = false;
    struct muster_enqueue_options o = {
        .size = sizeof o, .at_front = random_chance(&dice, 10), .request_id = has_request ? puts[0]->name : NULL};
    uint64_t waiting = 0;
    int err, tries = 0;
    while ((err = muster_task_enqueue_many(client, queue, tasks, n, &o, &waiting)) && has_request &&
           ++tries < REQUEST_TRIES) {
        expect(err, "put again");
        if (err == MUSTER_E_UNCONFIRMED)
            note_answer(err, was_doubtful, puts, n);
        was_doubtful |= is_doubtful(err);
        sleep_ms(AGAIN_MS);
    }
    note_answer(err, was_doubtful, puts, n);
    return waiting;
}

static void cancel_one(void)
{
    if (!n_put)
        return;
    const struct put *p = &recent[random_below(&dice, n_put < RECENT ? n_put : RECENT)];
    const char *id = p->name;
    record_write('C', p->name, 0, own_life, "-");
    expect(p->is_job ? muster_job_cancel(client, &id, 1, 0, NULL, NULL)
                     : muster_task_cancel(client, p->queue, p->task, p->len, NULL, NULL),
           "cancel");
}

void producer_run(const struct campaign *c, const char *life)
{
    begin(c, life);
    while (!is_ending) {
        const char *queue = queue_names[random_below(&dice, QUEUES)];
        uint64_t waiting = 0;
        if (random_chance(&dice, 30))
            put_job(c, queue);
        else
            waiting = put_tasks(c, queue);
        if (c->faults & BIT(FAULT_CANCEL) && random_chance(&dice, 4))
            cancel_one();
        sleep_ms(waiting > WAITING_MAX ? BUSY_MS : (int64_t)random_below(&dice, AGAIN_MS));
    }
    _exit(0);
}

/* ---- taking ---- */

struct taken {
    char process[MUSTER_WORKER_ID_MAX + MUSTER_QUEUE_MAX + 32];
    struct work work;
    uint64_t token;
    bool is_job;
};

static int note_taken(const struct muster_process_info *p, void *arg)
{
    struct taken *t = arg;
    snprintf(t->process, sizeof t->process, "%s", p->id);
    t->token = p->token;
    t->is_job = p->job != NULL;
    if (!work_read(&t->work, p->task, p->len))
        abort();
    return 0;
}

static int end_once(const struct taken *t, const char *outcome)
{
    if (!strcmp(outcome, "finish"))
        return muster_lease_finish(client, t->process, NULL);
    if (!strcmp(outcome, "back"))
        return muster_lease_give_back(client, t->process);
    return !strcmp(outcome, "retry") ? muster_lease_retry(client, t->process, AGAIN_MS)
                                     : muster_lease_fail(client, t->process, "asked", NULL);
}

/* Until there is an answer, or the lease is over at the latest. */
static void end(const struct taken *t, const char *outcome)
{
    record_write('E', t->work.name, t->token, own_life, outcome);
    for (;;) {
        int err = end_once(t, outcome);
        bool is_dropped = err == MUSTER_E_CANCELLED && (t->is_job || strcmp(outcome, "finish") != 0);
        bool is_last_retry = err == MUSTER_E_EXHAUSTED && t->is_job && !strcmp(outcome, "retry");
        if (err == MUSTER_E_LOST || is_dropped)
            record_write('U', t->work.name, t->token, own_life, muster_err_name(err));
        else
            expect(is_last_retry ? MUSTER_OK : err, "end");
        if (!is_doubtful(err) && !is_refused(err))
            return;
        sleep_ms(AGAIN_MS);
    }
}

void leaser_run(const struct campaign *c, const char *life)
{
    begin(c, life);
    while (!is_ending) {
        struct taken t;
        char ends[WORD_MAX_LEN + 1];
        int64_t asked = now_ms();
        int err = muster_lease_take(client, queue_names[random_below(&dice, QUEUES)], 1, LEASE_MS, TAKE_WAIT_MS,
                                    note_taken, &t);
        if (err) {
            expect(err == MUSTER_E_NOT_FOUND ? MUSTER_OK : err, "take");
            sleep_ms(AGAIN_MS);
            continue;
        }
        /* The lease began when Redis took it, not before it was asked. */
        snprintf(ends, sizeof ends, "%" PRId64, asked + LEASE_MS);
        record_write('B', t.work.name, t.token, own_life, ends);
        if (t.work.mode == 'p')
            work_poison(life, 0);
        sleep_ms(t.work.ms);
        if (c->faults & BIT(FAULT_LAPSE) && random_chance(&dice, 10))
            record_write('E', t.work.name, t.token, own_life, "lapse");
        else
            end(&t, work_outcome(&t.work, t.token));
    }
    _exit(0);
}
