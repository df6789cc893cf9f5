/* SPDX-License-Identifier: MIT
 *
 * A thread with a client of its own runs two verbs, and tells the loop what they have printed; the loop makes rates,
 * changes and history of it.
 */
#include "look.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <muster/client.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "client.h"
#include "engine.h"
#include "history.h"
#include "list.h"
#include "need.h"
#include "now.h"
#include "queue_row.h"
#include "seen.h"
#include "verbs.h"

#define BUSY_MS 1000
#define CALM_MS 5000
/* What stands beside the line of a queue, in which nothing comes or goes, may be so old. */
#define QUEUE_AGE_MS 5000
/* For so long after the last sign of a viewer it counts as viewed. */
#define WANTED_MS 4000
#define STEP_MS 5000
#define QUEUE_STEP_MS 30000

/* What the overview sums up beside the figures of the history. */
#define QUEUE_SUMS(X) X(delayed) X(depends) X(recurring) X(complete)
#define WORKER_SUMS(X) X(hands) X(held)
enum {
    SUM_jobs_held, /* beyond what their keys may run; not what workers hold */
#define SUM(name) SUM_##name,
    QUEUE_SUMS(SUM) WORKER_SUMS(SUM) SUMS
#undef SUM
};

/* What is kept of a row: the sums, and these. `failures`: all that ever were. */
enum { COUNT_waiting = SUMS, COUNT_running, COUNT_failed, COUNT_in, COUNT_out, COUNT_failures, COUNTS };
_Static_assert(COUNTS <= SEEN_COUNTS, "there is no room for them");
enum { RATE_in, RATE_out };

struct look {
    const struct call *call;
    struct work *work;
    look_fn *fn;
    void *arg;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t is_asked;
    int64_t wanted_until_ms;
    bool is_now, is_ending;

    /* the loop's */
    struct sight sight;
    struct seen queues, workers;
    struct history *history;
    double sums[HISTORY_N], more[SUMS];
    cJSON *engine; /* NULL: nothing is known of it yet */
    int64_t before_ms;
    char *error, *message;
};

/* What the thread has found. */
struct found {
    struct look *look;
    struct ask *queues, *workers;
    struct memo_listing queue_rows, worker_rows; /* of a look that went well */
    cJSON *engine;                               /* NULL: as before */
    int64_t at_ms, begun_ms;
    double took_ms;
};

/* ---- the thread ---- */

static const struct route nothing = {.shape = ASK_ITEMS};

/* What one look leaves to the next. */
struct looker {
    const struct look *look;
    struct muster_client *client;
    struct engine engine;
    struct memo *queues, *workers;
};

static struct ask *run(const struct looker *looker, const struct command *verb, struct memo *memo)
{
    struct ask *a = ask_new(&nothing, NULL);
    a->like = looker->look->call;
    a->client = looker->client;
    a->row_fn = memo_add;
    a->row_arg = memo;
    (void)ask_run_verb(a, verb, "");
    return a;
}

static int list_queues(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_queue_list_cached(client, QUEUE_AGE_MS, queue_row_print, table);
}

static int look_at_queues(const struct call *call)
{
    return list_print(call, queue_row_columns, list_queues);
}

/* `muster queues`, looked at again and again. */
static const struct opt options[] = {{.help = NULL}};
static const struct command queues_again = {.name = "queues", .options = options, .run = look_at_queues};

static void on_found(void *arg);

static void ask_all(struct looker *looker, bool is_fresh, struct found *f)
{
    memo_begin(looker->queues);
    memo_begin(looker->workers);
    f->queues = run(looker, is_fresh ? &cmd_queues : &queues_again, looker->queues);
    f->workers = f->queues->status ? ask_new(&nothing, NULL) : run(looker, &cmd_workers, looker->workers);
    bool is_good = !f->queues->status && !f->workers->status;
    f->queue_rows = memo_end(looker->queues, is_good);
    f->worker_rows = memo_end(looker->workers, is_good);
}

/* `is_fresh`: somebody has changed something, or waits for what is so now. */
static void look_once(struct look *l, struct looker *looker, bool is_fresh)
{
    struct found *f = need(calloc(1, sizeof *f));
    f->begun_ms = now_ms();
    f->look = l;
    ask_all(looker, is_fresh, f);
    f->at_ms = now_unix_ms();
    f->took_ms = (double)(now_ms() - f->begun_ms);
    f->engine = f->workers->status || f->queues->status ? NULL : engine_look(&looker->engine, looker->client);
    work_tell(l->work, on_found, f);
}

/* Until the next look is due; false: the end. */
static bool wait_for_next(struct look *l, int64_t last_ms, bool *is_asked)
{
    pthread_mutex_lock(&l->lock);
    for (;;) {
        int64_t now = now_ms();
        int64_t due_ms = last_ms + (now < l->wanted_until_ms ? BUSY_MS : CALM_MS);
        if (l->is_ending || l->is_now || now >= due_ms)
            break;
        const struct timespec until = {due_ms / 1000, due_ms % 1000 * 1000000};
        pthread_cond_timedwait(&l->is_asked, &l->lock, &until);
    }
    *is_asked = l->is_now;
    l->is_now = false;
    bool goes_on = !l->is_ending;
    pthread_mutex_unlock(&l->lock);
    return goes_on;
}

static void *look_for_ever(void *arg)
{
    struct look *l = arg;
    struct looker looker = {.look = l, .queues = memo_new(), .workers = memo_new()};
    int64_t last_ms;
    bool is_asked = true;
    (void)client_open(l->call, &looker.client); /* else each look opens one of its own, and tells why it cannot */
    do {
        last_ms = now_ms();
        look_once(l, &looker, is_asked);
    } while (wait_for_next(l, last_ms, &is_asked));
    muster_client_free(looker.client);
    memo_free(looker.queues);
    memo_free(looker.workers);
    return NULL;
}

/* ---- the loop's side: figures ---- */

static double number_of(const cJSON *row, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static double or_zero(double number)
{
    return isnan(number) ? 0 : number;
}

/* Per second since the look before. A total that has fallen began anew. */
static double rate(const struct look *l, double now, double before)
{
    double seconds = (double)(l->sight.at_ms - l->before_ms) / 1000;
    if (isnan(now) || isnan(before) || l->before_ms == 0 || seconds <= 0 || now < before)
        return NAN;
    return (now - before) / seconds;
}

static void add_number(cJSON *object, const char *key, double number)
{
    cJSON *item = isnan(number) ? cJSON_CreateNull() : cJSON_CreateNumber(round(number * 1000) / 1000);
    if (!cJSON_AddItemToObject(object, key, need(item)))
        need(NULL);
}

static void sum(struct look *l, const double figures[HISTORY_N])
{
    for (int i = 0; i < HISTORY_N; i++)
        if (i == HISTORY_latency_ms)
            l->sums[i] = fmax(l->sums[i], figures[i]); /* fmax() passes over NAN */
        else
            l->sums[i] += or_zero(figures[i]);
}

static void add_sums(struct look *l, const struct seen_row *row)
{
    for (int i = 0; i < SUMS; i++)
        l->more[i] += or_zero(row->counts[i]);
}

static void count_queue(struct seen_row *row)
{
    const cJSON *object = row->row;
#define SUM(name) row->counts[SUM_##name] = number_of(object, #name);
    QUEUE_SUMS(SUM)
#undef SUM
    row->counts[SUM_jobs_held] = number_of(object, "held");
    row->counts[COUNT_waiting] = number_of(object, "waiting");
    row->counts[COUNT_running] = number_of(object, "running");
    row->counts[COUNT_failed] = number_of(object, "failed");
    row->counts[COUNT_in] = number_of(object, "in");
    row->counts[COUNT_out] = number_of(object, "out");
    row->counts[COUNT_failures] = row->counts[COUNT_failed] + number_of(object, "failed_dropped");
}

/* A row that is the same has the rates of the look before. */
static bool put_rates(struct seen_row *row, const double rates[SEEN_RATES], bool is_same)
{
    static const char *const keys[SEEN_RATES] = {[RATE_in] = "in_per_s", [RATE_out] = "out_per_s"};
    if (is_same && memcmp(row->rates, rates, sizeof row->rates) == 0)
        return false;
    for (int i = 0; i < SEEN_RATES; i++) {
        if (is_same)
            cJSON_DeleteItemFromObjectCaseSensitive(row->row, keys[i]);
        add_number(row->row, keys[i], rates[i]);
        row->rates[i] = rates[i];
    }
    return true;
}

static bool note_queue(void *arg, struct seen_row *row, enum seen_how how)
{
    struct look *l = arg;
    double before[COUNTS];
    memcpy(before, row->counts, sizeof before);
    if (how != SEEN_SAME)
        count_queue(row);
#define RATE(name) (how == SEEN_NEW ? NAN : rate(l, row->counts[COUNT_##name], before[COUNT_##name]))
    const double rates[SEEN_RATES] = {[RATE_in] = RATE(in), [RATE_out] = RATE(out)};
    const double figures[HISTORY_N] = {
        [HISTORY_waiting] = row->counts[COUNT_waiting],
        [HISTORY_running] = row->counts[COUNT_running],
        [HISTORY_failed] = row->counts[COUNT_failed],
        [HISTORY_in] = rates[RATE_in],
        [HISTORY_out] = rates[RATE_out],
        [HISTORY_failures] = how == SEEN_NEW ? NAN : fmax(0, row->counts[COUNT_failures] - before[COUNT_failures]),
        [HISTORY_latency_ms] = seen_age(row, 0),
    };
#undef RATE
    sum(l, figures);
    add_sums(l, row);
    if (!row->history)
        row->history = history_new(QUEUE_STEP_MS);
    history_add(row->history, l->sight.at_ms, figures);
    return put_rates(row, rates, how == SEEN_SAME);
}

static bool note_worker(void *arg, struct seen_row *row, enum seen_how how)
{
#define SUM(name)         \
    if (how != SEEN_SAME) \
        row->counts[SUM_##name] = number_of(row->row, #name);
    WORKER_SUMS(SUM)
#undef SUM
    add_sums(arg, row);
    return false;
}

static cJSON *overview(const struct look *l)
{
    const struct sight *s = &l->sight;
    cJSON *object = need(cJSON_CreateObject()), *of_jobs;
    add_number(object, "now", (double)s->at_ms);
    add_number(object, "took_ms", s->took_ms);
    add_number(object, "queues", cJSON_GetArraySize(s->queues));
    add_number(object, "workers", cJSON_GetArraySize(s->workers));
    add_number(object, "waiting", l->sums[HISTORY_waiting]);
    add_number(object, "running", l->sums[HISTORY_running]);
    add_number(object, "delayed", l->more[SUM_delayed]);
    add_number(object, "failed", l->sums[HISTORY_failed]);
    add_number(object, "hands", l->more[SUM_hands]);
    add_number(object, "held", l->more[SUM_held]);
    of_jobs = need(cJSON_AddObjectToObject(object, "jobs"));
    add_number(of_jobs, "depends", l->more[SUM_depends]);
    add_number(of_jobs, "recurring", l->more[SUM_recurring]);
    add_number(of_jobs, "complete", l->more[SUM_complete]);
    add_number(of_jobs, "held", l->more[SUM_jobs_held]);
    add_number(object, "in_per_s", l->sums[HISTORY_in]);
    add_number(object, "out_per_s", l->sums[HISTORY_out]);
    add_number(object, "oldest_ms", l->sums[HISTORY_latency_ms]);
    if (l->engine)
        cJSON_AddItemToObject(object, "redis", need(cJSON_Duplicate(l->engine, true)));
    return object;
}

/* ---- the loop's side: what is found ---- */

static void clear_sight(struct sight *s)
{
    cJSON_Delete(s->overview);
    cJSON_Delete(s->queues_changed);
    cJSON_Delete(s->workers_changed);
    *s = (struct sight){.at_ms = 0};
}

static void take_engine(struct look *l, struct found *f)
{
    if (!f->engine)
        return;
    cJSON_Delete(l->engine);
    l->engine = f->engine;
    f->engine = NULL;
}

static void take_sight(struct look *l, struct found *f)
{
    take_engine(l, f);
    l->before_ms = l->sight.at_ms;
    clear_sight(&l->sight);
    for (int i = 0; i < HISTORY_N; i++)
        l->sums[i] = i == HISTORY_latency_ms || (l->before_ms == 0 && i >= HISTORY_in) ? NAN : 0;
    memset(l->more, 0, sizeof l->more);
    l->sight.at_ms = f->at_ms;
    l->sight.begun_ms = f->begun_ms;
    l->sight.took_ms = f->took_ms;
    l->sight.queues_changed = seen_update(&l->queues, &f->queue_rows, note_queue, l);
    l->sight.workers_changed = seen_update(&l->workers, &f->worker_rows, note_worker, l);
    l->sight.queues = l->queues.list;
    l->sight.workers = l->workers.list;
    l->sight.overview = overview(l);
    history_add(l->history, f->at_ms, l->sums);
}

static void note_failure(struct look *l, const struct ask *a)
{
    free(l->error);
    free(l->message);
    l->error = need(strdup(a->error ? a->error : "E_REDIS"));
    l->message = need(strdup(a->message ? a->message : "it failed"));
    l->sight.error = l->error;
    l->sight.message = l->message;
    l->sight.status = a->status;
}

static void on_found(void *arg)
{
    struct found *f = arg;
    struct look *l = f->look;
    const struct ask *failed = f->queues->status ? f->queues : f->workers->status ? f->workers : NULL;
    if (failed)
        note_failure(l, failed);
    else
        take_sight(l, f);
    ask_free(f->queues);
    ask_free(f->workers);
    cJSON_Delete(f->engine);
    free(f);
    l->fn(l->arg, &l->sight);
}

/* ---- its life ---- */

struct look *look_new(const struct call *call, struct work *work, look_fn *fn, void *arg)
{
    struct look *l = need(calloc(1, sizeof *l));
    pthread_condattr_t attr;
    *l = (struct look){.call = call, .work = work, .fn = fn, .arg = arg};
    l->queues.key = "queue";
    l->workers.key = "worker";
    l->history = history_new(STEP_MS);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->is_asked, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&l->thread, NULL, look_for_ever, l) != 0)
        need(NULL);
    return l;
}

void look_stop(struct look *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_ending = true;
    pthread_cond_signal(&l->is_asked);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
}

void look_free(struct look *l)
{
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->is_asked);
    clear_sight(&l->sight);
    cJSON_Delete(l->engine);
    seen_clear(&l->queues);
    seen_clear(&l->workers);
    history_free(l->history);
    free(l->error);
    free(l->message);
    free(l);
}

void look_want(struct look *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t now = now_ms();
    if (now >= l->wanted_until_ms)
        pthread_cond_signal(&l->is_asked);
    l->wanted_until_ms = now + WANTED_MS;
    pthread_mutex_unlock(&l->lock);
}

void look_now(struct look *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_now = true;
    pthread_cond_signal(&l->is_asked);
    pthread_mutex_unlock(&l->lock);
}

const struct sight *look_sight(const struct look *l)
{
    return l->sight.at_ms || l->sight.error ? &l->sight : NULL;
}

const struct cJSON *look_queue(const struct look *l, const char *queue)
{
    const struct seen_row *row = seen_find(&l->queues, queue);
    return row ? row->row : NULL;
}

struct cJSON *look_history(const struct look *l, const char *queue, int64_t since_ms)
{
    const struct seen_row *row = queue ? seen_find(&l->queues, queue) : NULL;
    if (queue && !row)
        return NULL;
    return history_json(row ? row->history : l->history, since_ms);
}
