/* SPDX-License-Identifier: MIT
 *
 * Jobs of every kind - retried, depending on others, going on to a next queue, scheduled, recurring, unique, of all
 * priorities - on workers that are killed, stopped for longer than their ttl, and ended by SIGTERM, while Redis is
 * killed and restarted, closes connections and is full; and each job's account at the end:
 *
 *   - It is complete, or failed, or waits for one that failed; gone is only what was cancelled. It is complete only if
 *     a handler said so, and failed only for a reason that there was.
 *   - Its history is one that the states allow: taken once at a time, ended once per take.
 *   - The statistics of queues whose jobs are never cancelled or replaced are what the histories say.
 *   - Recurring ones made all their jobs, one interval apart. Each unique task can be put again.
 *   - What failed, replayed, runs, and then nothing is left.
 *
 * Half of the jobs ("c<number>") are left alone; the others ("w<number>"), in queues of their own, are cancelled,
 * changed and replaced. Any may be taken under a lease that lapses. Beside them plain tasks ("t<number>"), each of
 * which must be done.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "checked.h"
#include "invariant.h"
#include "job_look.h"
#include "worker_process.h"

enum {
    PLACES = 5,
    TTL_MS = 600,
    SPAN_MS = 8000,
    RESTARTS = 2,
    JOBS_MAX = 20000, /* of both kinds */
    BACKLOG = 60,
    REACH = 100,
    UNIQUES = 20,
    AFTER_MAX = 3,
    HISTORY = 1000
};

static const char *const queues[] = {"calm", "calm next", "wild", "wild next"};

/* Written by the children. */
struct said {
    atomic_int finish, advance, fail, retry;
};
struct shared {
    atomic_int is_over; /* handlers finish from now on */
    struct said jobs[JOBS_MAX], recurred, uniques[UNIQUES];
    atomic_int tasks[JOBS_MAX];
};

/* `after` may grow by a replacement; they always have lower numbers. */
struct account {
    bool was_cancelled, was_cancelled_along, may_be_gone;
    int after[AFTER_MAX], n_after, retries_least;
};

enum hurt { KILLED, FROZEN, TERMINATED, CUT, HURTS };

/* What the places are: the first one is never hurt, so that there is always somebody to sweep. */
enum { THREADS_AT = 3, HOME_AT = 4 };

struct bench {
    struct scene *scene;
    struct shared *shared;
    struct account jobs[JOBS_MAX];
    struct worker_process *places[PLACES];
    int n_jobs, n_tasks, lives, n_hurt[HURTS], n_cancelled, n_replaced, n_changed, n_leased, n_refused, n_faults,
        frozen;
    int64_t thaw_at_ms, empty_at_ms;
    bool is_full;
};

static bool is_calm(int i)
{
    return i % 2 == 0;
}

static const char *id_of(char id[16], int i)
{
    snprintf(id, 16, "%c%d", is_calm(i) ? 'c' : 'w', i);
    return id;
}

/* ---- the workers, each a process of its own ---- */

static struct said *said_of(struct bench *b, const struct muster_job *job)
{
    const char *data = job->data.data;
    int i = atoi(data + 1);
    return *data == 'u' ? &b->shared->uniques[i] : *data == 'r' ? &b->shared->recurred : &b->shared->jobs[i];
}

/* Written down before it is said. */
static enum muster_outcome decide(struct bench *b, struct muster_process *p)
{
    static const enum muster_outcome outcomes[] = {MUSTER_FINISH, MUSTER_FINISH, MUSTER_FINISH,   MUSTER_FINISH,
                                                   MUSTER_FINISH, MUSTER_FINISH, MUSTER_RETRY,    MUSTER_RETRY,
                                                   MUSTER_RETRY,  MUSTER_FAIL,   MUSTER_GIVE_BACK};
    const struct muster_job *job = muster_process_job(p);
    const char *queue = muster_process_queue(p);
    bool is_over = atomic_load(&b->shared->is_over);
    if (!job) {
        atomic_fetch_add(&b->shared->tasks[atoi((const char *)muster_process_task(p, NULL) + 1)], 1);
        return MUSTER_FINISH;
    }
    enum muster_outcome o = is_over ? MUSTER_FINISH : outcomes[(size_t)rand() % N_OF(outcomes)];
    struct said *said = said_of(b, job);
    if (o == MUSTER_FINISH && !is_over && !strstr(queue, " next") && rand() % 4 == 0) {
        assert_ok(muster_process_set_next(p, *queue == 'c' ? "calm next" : "wild next", rand() % 2 * 30, NULL, 0));
        atomic_fetch_add(&said->advance, 1);
    } else if (o == MUSTER_FINISH) {
        atomic_fetch_add(&said->finish, 1);
    } else if (o == MUSTER_FAIL) {
        atomic_fetch_add(&said->fail, 1);
    } else if (o == MUSTER_RETRY) {
        atomic_fetch_add(&said->retry, 1);
    }
    return o;
}

static void end_one(struct live_worker *w, struct muster_process *p)
{
    enum muster_outcome o = decide(w->spec.arg, p);
    for (size_t i = 0; i < w->n_held; i++)
        if (w->held[i] == p) {
            w->n_held--;
            memmove(w->held + i, w->held + i + 1, (w->n_held - i) * sizeof *w->held);
            (void)muster_process_end(p, o);
            return;
        }
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct live_worker *w = arg;
    (void)fd, (void)what;
    for (int n = rand() % 3; n > 0 && w->n_held > 0; n--)
        end_one(w, w->held[0]);
}

/* A third end in the handler, the others some ticks later. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    static struct event *ticker;
    struct live_worker *w = arg;
    struct bench *b = w->spec.arg;
    if (!ticker) {
        srand((unsigned)muster_process_token(p));
        ticker = event_new(b->scene->base, -1, EV_PERSIST, on_tick, w);
        event_add(ticker, &(struct timeval){0, 2000});
    }
    if (rand() % 3 == 0)
        return decide(b, p);
    w->held = realloc(w->held, (w->n_held + 1) * sizeof *w->held);
    w->held[w->n_held++] = p;
    return MUSTER_LATER;
}

static enum muster_outcome work_on_thread(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    nanosleep(&(struct timespec){0, rand() % 5 * 1000000}, NULL);
    return decide(w->spec.arg, p);
}

static void on_event(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP && !w->spec.more.threads)
        end_one(w, e->process);
}

/* One has an id of its own for good, and takes up what its former life left. */
static void start(struct bench *b, int place)
{
    char id[16] = "home";
    bool has_threads = place == THREADS_AT, is_home = place == HOME_AT;
    if (!is_home)
        snprintf(id, sizeof id, "w%d.%d", place, b->lives++);
    b->places[place] = worker_process_start(
        b->scene, &(struct worker_spec){
                      .id = id,
                      .ttl_ms = TTL_MS,
                      .hands = has_threads ? 0 : 6,
                      .prefetch = place % 2 ? 3 : 0,
                      .drain_ms = 100,
                      .more = {.in_turn = 1, .threads = has_threads ? 4 : 0, .permanent = is_home, .resume = is_home},
                      .handler = has_threads ? work_on_thread : work,
                      .on_event = on_event,
                      .arg = b,
                      .queues = {{"calm", 0}, {"calm next", 2}, {"wild", 0}, {"wild next", 0}}});
}

/* ---- faults ---- */

static void thaw(struct bench *b)
{
    if (b->frozen)
        kill(b->places[b->frozen]->pid, SIGCONT);
    b->frozen = 0;
}

static void await_process(struct worker_process *w)
{
    assert_int_equal(worker_process_reap(w), 0);
}

/* Its answers on the way get lost, and so do messages. */
static void cut(struct bench *b)
{
    struct redisContext *redis = b->scene->server->redis;
    raw_int(redis, rand() % 2 ? "CLIENT KILL TYPE normal SKIPME yes" : "CLIENT KILL TYPE pubsub");
}

/* Its id is free for a new life once the liveness key of the old one ran out. */
static void kill_at(struct bench *b, int place)
{
    worker_process_kill(b->places[place]);
    if (place == HOME_AT)
        raw_await(b->scene->server->redis, NULL, 0, "EXISTS %s:alive:home", b->scene->prefix);
}

/* Each in each way, by and by; one at a time is frozen. */
static void hurt_one(struct bench *b)
{
    int n = b->n_faults++ * 5 % ((PLACES - 1) * HURTS), place = 1 + n / HURTS;
    enum hurt how = (enum hurt)(n % HURTS);
    if (b->frozen && now_ms() >= b->thaw_at_ms)
        thaw(b);
    if (place == b->frozen || (how == FROZEN && b->frozen))
        return;
    b->n_hurt[how]++;
    if (how == CUT) {
        cut(b);
        return;
    }
    if (how == FROZEN) {
        b->frozen = place;
        b->thaw_at_ms = now_ms() + 2 * TTL_MS;
        kill(b->places[place]->pid, SIGSTOP);
        return;
    }
    if (how == KILLED) {
        kill_at(b, place);
    } else {
        kill(b->places[place]->pid, SIGTERM);
        await_process(b->places[place]);
    }
    start(b, place);
}

static void fill(struct bench *b, bool is_full)
{
    freeReplyObject(raw(b->scene->server->redis, "CONFIG SET maxmemory %d", is_full ? 1 : 0));
    b->is_full = is_full;
    b->empty_at_ms = now_ms() + 150;
}

/* Full now and then, for a while. */
static void be_full_or_not(struct bench *b)
{
    if (!b->is_full && rand() % 40 == 0)
        fill(b, true);
    else if (b->is_full && now_ms() >= b->empty_at_ms)
        fill(b, false);
}

/* Only a full Redis may refuse, and then there is nothing to note. */
static bool is_done(struct bench *b, int err)
{
    if (err == MUSTER_E_FULL && b->is_full) {
        b->n_refused++;
        return false;
    }
    assert_ok(err);
    return true;
}

static void restart_redis(struct bench *b)
{
    if (b->is_full)
        fill(b, false);
    redis_server_kill(b->scene->server);
    redis_server_restart(b->scene->server);
}

/* ---- the load ---- */

static void depend(struct account *a, int on)
{
    if (a->n_after < AFTER_MAX)
        a->after[a->n_after++] = on;
}

/* Ids of jobs of the same kind with lower numbers, for whose fate the account provides. */
static size_t any_after(struct bench *b, int i, char (*ids)[16])
{
    size_t n = 0;
    struct account *a = &b->jobs[i];
    for (int k = rand() % 4 ? 0 : 1 + rand() % 2; k > 0 && i >= 2 && a->n_after < AFTER_MAX; k--) {
        int reach = i / 2 < REACH ? i / 2 : REACH;
        int on = i - 2 * (1 + rand() % reach);
        id_of(ids[n++], on);
        depend(a, on);
    }
    return n;
}

static const struct muster_backoff soon = {.delay_ms = 10, .max_ms = 100, .exponential = 1, .jitter_percent = 50};

static int put(struct bench *b, int i, int replace)
{
    char id[16], after[2][16];
    const char *const ids[] = {after[0], after[1]};
    int retries = rand() % 4;
    size_t n = any_after(b, i, after);
    struct account *a = &b->jobs[i];
    a->retries_least = replace && a->retries_least < retries ? a->retries_least : retries;
    return muster_job_put(b->scene->client, queues[(is_calm(i) ? 0 : 2) + rand() % 2],
                          JOB_SPEC(.id = id_of(id, i), .data = {id, strlen(id)}, .priority = rand() % 5 - 2,
                                   .retries = retries ? retries : MUSTER_ZERO, .replace = replace,
                                   .track = rand() % 9 == 0, .delay_ms = rand() % 4 ? 0 : rand() % 300,
                                   .backoff = &soon, .after = ids, .n_after = n, .tags = IDS("blue", "old"),
                                   .n_tags = (size_t)(rand() % 3)),
                          NULL);
}

static void put_some(struct bench *b)
{
    for (int n = rand() % 12; n > 0 && b->n_jobs < JOBS_MAX; n--)
        b->n_jobs += is_done(b, put(b, b->n_jobs, 0));
    for (int n = rand() % 3; n > 0 && b->n_tasks < JOBS_MAX; n--) {
        char task[16];
        int len = snprintf(task, sizeof task, "t%d", b->n_tasks);
        b->n_tasks += is_done(b, muster_task_enqueue(b->scene->client, queues[rand() % 4], task, (size_t)len, NULL));
    }
    char unique[16];
    int len = snprintf(unique, sizeof unique, "u%d", rand() % UNIQUES);
    int err = muster_task_enqueue_unique(b->scene->client, "wild", unique, (size_t)len, NULL);
    if (err != MUSTER_E_EXISTS)
        (void)is_done(b, err);
}

/* One of the last wild ones. */
static int any_wild(struct bench *b)
{
    int n = b->n_jobs / 2, reach = n < REACH ? n : REACH;
    return reach > 0 ? 2 * (n - 1 - rand() % reach) + 1 : -1;
}

static void cancel(struct bench *b, int i)
{
    char id[16];
    uint64_t n;
    int along = rand() % 2;
    int err = muster_job_cancel(b->scene->client, IDS(id_of(id, i)), 1, along, &n);
    if (err == MUSTER_E_STATE)
        return;
    assert_ok(err);
    b->jobs[i].was_cancelled |= n > 0;
    b->jobs[i].was_cancelled_along |= along && n > 0;
    b->n_cancelled += (int)n;
}

static void change(struct bench *b, int i)
{
    char id[16];
    struct muster_job_change c = {.size = sizeof c,
                                  .priority = rand() % 5 - 2,
                                  .queue = rand() % 2 ? "wild" : NULL,
                                  .not_after_all = rand() % 4 == 0,
                                  .tag = IDS("big"),
                                  .n_tag = (size_t)(rand() % 2)};
    int err = muster_job_change(b->scene->client, id_of(id, i), &c);
    if (err != MUSTER_E_NOT_FOUND && err != MUSTER_E_STATE)
        b->n_changed += is_done(b, err);
}

static int ignore(const struct muster_process_info *p, void *arg)
{
    (void)p, (void)arg;
    return 0;
}

static void disturb(struct bench *b)
{
    int i = any_wild(b), what = rand() % 8;
    if (i < 0)
        return;
    if (what < 3) {
        cancel(b, i);
    } else if (what < 5) {
        int err = put(b, i, 1);
        if (err != MUSTER_E_INVALID)
            b->n_replaced += is_done(b, err);
    } else if (what == 5) {
        change(b, i);
    } else if (what == 6) {
        b->n_leased += !muster_lease_take(b->scene->client, queues[rand() % 4], 2, 100, 0, ignore, NULL);
    } else {
        int err = muster_config_set(b->scene->client, "wild", "max_running", rand() % 2 ? &(int64_t){5} : NULL);
        (void)is_done(b, err);
    }
}

static bool is_hungry(void *arg)
{
    struct bench *b = arg;
    int64_t waiting = 0;
    for (size_t i = 0; i < N_OF(queues); i++)
        waiting += raw_int(b->scene->server->redis, "ZCARD %s:waiting:%s", b->scene->prefix, queues[i]);
    return waiting < BACKLOG;
}

static void torment(struct bench *b, int span_ms)
{
    int64_t begun = now_ms(), hurt_at = begun + 200;
    for (int restarts = 0; now_ms() < begun + span_ms && b->n_jobs < JOBS_MAX;) {
        be_full_or_not(b);
        put_some(b);
        for (int n = rand() % 8; n > 0; n--)
            disturb(b);
        if (now_ms() >= hurt_at) {
            hurt_one(b);
            hurt_at = now_ms() + rand() % 300;
        }
        if (restarts < RESTARTS && now_ms() - begun > (restarts + 1) * span_ms / (RESTARTS + 1)) {
            restart_redis(b);
            restarts++;
        }
        (void)wait_for(NULL, is_hungry, b, 500);
    }
    thaw(b);
    fill(b, false);
    assert_ok(muster_config_set(b->scene->client, "wild", "max_running", NULL));
}

/* ---- the end ---- */

static bool is_still(void *arg)
{
    struct bench *b = arg;
    uint64_t n = 0, counts[MUSTER_JOB_STATE_COUNT];
    for (size_t i = 0; i < N_OF(queues); i++) {
        assert_ok(muster_job_counts(b->scene->client, queues[i], counts));
        n += counts[MUSTER_JOB_WAITING] + counts[MUSTER_JOB_RUNNING] + counts[MUSTER_JOB_SCHEDULED];
        n += (uint64_t)raw_int(b->scene->server->redis, "LLEN %s:queues:%s", b->scene->prefix, queues[i]);
        n += (uint64_t)raw_int(b->scene->server->redis, "HGET %s:queue:%s running", b->scene->prefix, queues[i]);
    }
    return n == 0;
}

/* Said twice in a row: a job is between two counts when it moves from a queue already counted. */
static void settle(struct bench *b)
{
    for (int i = 0; i < 2; i++)
        wait_until(is_still, b, 2 * SOON_MS);
    invariant_assert(b->scene->server->redis, b->scene->prefix);
    checked_assert_clean(b->scene);
}

/* ---- the account ---- */

/* Ends of processes, and arrivals in a queue, by histories or by statistics. */
struct sums {
    uint64_t put, taken, completed, failed, retried, crashed;
};

/* Where a job may be before and after each line of its history. */
enum { PENDING = 1, RUNNING = 2, FAILED = 4, COMPLETE = 8, BETWEEN = 16, ANYWHERE = 31 };
static const struct rule {
    const char *what;
    int from, to;
} rules[] = {
    {"put", PENDING | RUNNING | FAILED | BETWEEN, PENDING}, /* put anew while it ran, or failed */
    {"moved", PENDING | RUNNING | FAILED, PENDING},
    {"ready", PENDING, PENDING},
    {"scheduled", PENDING, PENDING},
    {"taken", PENDING, RUNNING},
    {"given-back", RUNNING, PENDING},
    {"crashed", RUNNING, RUNNING}, /* then it is given back, or resumed */
    {"retried", RUNNING, PENDING},
    {"advanced", RUNNING, BETWEEN},
    {"completed", RUNNING, COMPLETE},
    {"failed", RUNNING | PENDING, FAILED},
    {"replayed", FAILED, PENDING},
};

static const struct rule *rule_of(const char *what)
{
    for (size_t i = 0; i < N_OF(rules); i++)
        if (!strcmp(rules[i].what, what))
            return &rules[i];
    fail_msg("'%s' in a history", what);
    return NULL;
}

static void add_up(struct sums *sums, const struct muster_job_event_line *line)
{
    const char *what = line->what;
    sums->put += !strcmp(what, "put") || !strcmp(what, "moved");
    sums->taken += !strcmp(what, "taken");
    sums->completed += !strcmp(what, "completed") || !strcmp(what, "advanced");
    sums->failed += !strcmp(what, "failed");
    sums->retried += !strcmp(what, "retried");
    sums->crashed += !strcmp(what, "crashed") || (!strcmp(what, "failed") && !strcmp(line->text, "crashed"));
}

static int final_place(enum muster_job_state state)
{
    return state == MUSTER_JOB_COMPLETE ? COMPLETE : state == MUSTER_JOB_FAILED ? FAILED : PENDING;
}

static void fail_with_history(const struct muster_job *job, const char *wrong)
{
    for (size_t i = 0; i < job->n_history; i++)
        print_error("%lld %s %s\n", (long long)job->history[i].at_ms, job->history[i].what, job->history[i].text);
    fail_msg("%s is %s %s: %s", job->id, muster_job_state_name(job->state), job->group, wrong);
}

static void judge_history(const struct muster_job *job, struct sums *sums)
{
    int place = BETWEEN;
    for (size_t i = 0; i < job->n_history; i++) {
        const struct rule *rule = rule_of(job->history[i].what);
        if (!(place & rule->from))
            fail_with_history(job, "its history is out of order");
        place = rule->to;
        add_up(sums, &job->history[i]);
    }
    if (place != final_place(job->state))
        fail_with_history(job, "its history ends otherwise");
}

static void judge_failure(const struct muster_job *job, const struct said *said, const struct account *a)
{
    const char *group = job->group;
    bool is_right = (!strcmp(group, "failed") && atomic_load(&said->fail) > 0) ||
                    (!strcmp(group, "failed-retries") && atomic_load(&said->retry) > (a ? a->retries_least : 0)) ||
                    (!strcmp(group, "crashed") && job->crashes >= 3) ||
                    (!strcmp(group, "dependency") && a && a->n_after > 0 && !is_calm((int)(atoi(job->id + 1))));
    if (!is_right)
        fail_with_history(job, "for no reason");
}

/* One that was cancelled goes nowhere: it is complete where it is. */
static bool was_finished(const struct said *said, const struct account *a)
{
    return atomic_load(&said->finish) > 0 || (atomic_load(&said->advance) > 0 && a && a->may_be_gone);
}

struct judgement {
    struct bench *bench;
    struct sums sums;
    struct account *account;
    bool exists;
    int64_t put_at_ms;
    int n[MUSTER_JOB_STATE_COUNT], n_gone;
};

static int judge_job(const struct muster_job *job, void *arg)
{
    struct judgement *j = arg;
    const struct said *said = said_of(j->bench, job);
    j->exists = true;
    j->put_at_ms = job->put_at_ms;
    j->n[job->state]++;
    if (job->state == MUSTER_JOB_COMPLETE && !was_finished(said, j->account))
        fail_with_history(job, "nobody finished it");
    if (job->state == MUSTER_JOB_FAILED)
        judge_failure(job, said, j->account);
    else if (job->state == MUSTER_JOB_DEPENDS)
        assert_true(job->n_after > 0);
    else
        assert_int_equal(job->state, MUSTER_JOB_COMPLETE);
    judge_history(job, &j->sums);
    return 0;
}

static bool look_up(struct judgement *j, const char *id)
{
    j->exists = false;
    int err = muster_job_get(j->bench->scene->client, &id, 1, judge_job, j);
    assert_true(err == (j->exists ? MUSTER_OK : MUSTER_E_NOT_FOUND));
    return j->exists;
}

/* A cancel along takes what waits for it; and the others know of those that they waited for once. */
static void work_out_who_may_be_gone(struct bench *b)
{
    for (int i = 0; i < b->n_jobs; i++) {
        struct account *a = &b->jobs[i];
        for (int k = 0; k < a->n_after; k++)
            a->was_cancelled_along |= b->jobs[a->after[k]].was_cancelled_along;
        a->may_be_gone = a->was_cancelled || a->was_cancelled_along;
    }
}

static struct sums statistics(struct bench *b)
{
    struct sums sums = {0};
    struct muster_stats s;
    for (int i = 0; i < 2; i++) {
        int64_t day = -1;
        for (int back = 0; back < 2; back++) {
            assert_ok(muster_stats_get(b->scene->client, queues[i], day, &s));
            day = s.day - 1; /* it may have been midnight */
            sums.put += s.put;
            sums.taken += s.taken;
            sums.completed += s.completed;
            sums.failed += s.failed;
            sums.retried += s.retried;
            sums.crashed += s.crashed;
        }
    }
    return sums;
}

static void judge_statistics(struct bench *b, const struct sums *told)
{
    struct sums counted = statistics(b);
    assert_int_equal(counted.put, told->put);
    assert_int_equal(counted.taken, told->taken);
    assert_int_equal(counted.completed, told->completed);
    assert_int_equal(counted.failed, told->failed);
    assert_int_equal(counted.retried, told->retried);
    assert_int_equal(counted.crashed, told->crashed);
}

/* Recurring for a second and more: it is ended by its cancel. */
static int judge_recurring(struct bench *b, struct judgement *j, uint64_t made)
{
    int64_t before_ms = 0;
    char id[24];
    for (uint64_t n = 1; n <= made; n++) {
        snprintf(id, sizeof id, "r-%d", (int)n);
        j->account = NULL;
        if (!look_up(j, id))
            fail_msg("%s is gone", id);
        if (n > 1)
            assert_int_equal(j->put_at_ms - before_ms, 1000);
        before_ms = j->put_at_ms;
    }
    (void)b;
    return (int)made;
}

static void judge_tasks(struct bench *b)
{
    for (int i = 0; i < b->n_tasks; i++)
        if (atomic_load(&b->shared->tasks[i]) == 0)
            fail_msg("the task t%d is lost", i);
}

static void judge(struct bench *b, uint64_t made)
{
    struct judgement calm = {.bench = b}, wild = {.bench = b};
    char id[16];
    work_out_who_may_be_gone(b);
    for (int i = 0; i < b->n_jobs; i++) {
        struct judgement *j = is_calm(i) ? &calm : &wild;
        j->account = &b->jobs[i];
        if (look_up(j, id_of(id, i)))
            continue;
        if (!j->account->may_be_gone)
            fail_msg("%s is lost", id);
        j->n_gone++;
    }
    judge_recurring(b, &calm, made);
    judge_statistics(b, &calm.sums);
    judge_tasks(b);
    print_message("%d jobs, %d tasks; %d workers killed, %d frozen, %d ended, %d times cut\n", b->n_jobs, b->n_tasks,
                  b->n_hurt[KILLED], b->n_hurt[FROZEN], b->n_hurt[TERMINATED], b->n_hurt[CUT]);
    print_message("%d cancelled, %d replaced, %d changed, %d leased, %d refused by a full Redis; %llu recurred\n",
                  b->n_cancelled, b->n_replaced, b->n_changed, b->n_leased, b->n_refused, (unsigned long long)made);
    print_message("left alone: %d complete, %d failed, %d wait for those; crashed %llu times\n",
                  calm.n[MUSTER_JOB_COMPLETE], calm.n[MUSTER_JOB_FAILED], calm.n[MUSTER_JOB_DEPENDS],
                  (unsigned long long)calm.sums.crashed);
    print_message("disturbed: %d complete, %d failed, %d wait for those, %d gone\n", wild.n[MUSTER_JOB_COMPLETE],
                  wild.n[MUSTER_JOB_FAILED], wild.n[MUSTER_JOB_DEPENDS], wild.n_gone);
    assert_true(wild.n_gone > 0 && calm.n[MUSTER_JOB_FAILED] > 0 && calm.sums.crashed > 0);
}

/* Each can be put again, whatever ended it; and what failed runs when it is replayed. */
static void nothing_is_left(struct bench *b)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    atomic_store(&b->shared->is_over, 1);
    for (int i = 0; i < UNIQUES; i++) {
        char unique[16];
        int len = snprintf(unique, sizeof unique, "u%d", i);
        assert_ok(muster_task_enqueue_unique(b->scene->client, "wild", unique, (size_t)len, NULL));
    }
    for (size_t i = 0; i < N_OF(queues); i++) {
        const struct muster_failed_filter all = {.size = sizeof all, .queue = queues[i]};
        assert_ok(muster_failed_replay(b->scene->client, &all, NULL));
    }
    settle(b);
    for (size_t i = 0; i < N_OF(queues); i++) {
        assert_ok(muster_job_counts(b->scene->client, queues[i], counts));
        assert_int_equal(counts[MUSTER_JOB_FAILED] + counts[MUSTER_JOB_DEPENDS], 0);
    }
}

static int note_made(const struct muster_job *job, void *arg)
{
    *(uint64_t *)arg = job->made;
    return 0;
}

/* What it has made when it ends: nothing comes due between the look and the cancel, half an interval later. */
static uint64_t end_recurring(struct bench *b)
{
    struct scene *s = b->scene;
    uint64_t made = 0, before = 0;
    assert_ok(muster_job_get(s->client, IDS("r"), 1, note_made, &before));
    raw_await(s->server->redis, NULL, (int64_t)before + 1, "HGET %s:job:r made", s->prefix);
    assert_ok(muster_job_get(s->client, IDS("r"), 1, note_made, &made));
    assert_ok(muster_job_cancel(s->client, IDS("r"), 1, 0, NULL));
    return made;
}

static void go_home(struct bench *b)
{
    for (int i = 0; i < PLACES; i++) {
        worker_process_stop(b->places[i], -1);
        await_process(b->places[i]);
    }
    scene_assert_quiet(b->scene);
    invariant_assert(b->scene->server->redis, b->scene->prefix);
}

static void each_job_comes_to_one_end_that_its_history_allows(void **state)
{
    struct scene *s = *state;
    static struct bench b;
    const char *seconds = getenv("MUSTER_FAULT_SECONDS"), *seed = getenv("MUSTER_TEST_SEED");
    b = (struct bench){.scene = s};
    b.shared = mmap(NULL, sizeof *b.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(b.shared != MAP_FAILED);
    srand(seed ? (unsigned)atoi(seed) : 1);
    assert_ok(muster_config_set(s->client, NULL, "keep_history", &(int64_t){HISTORY}));
    for (int i = 0; i < PLACES; i++)
        start(&b, i);
    job_put(s, "calm", JOB_SPEC(.id = "r", .data = BYTES("r0"), .every_ms = 1000, .backoff = &soon));
    torment(&b, seconds ? atoi(seconds) * 1000 : SPAN_MS);
    uint64_t made = end_recurring(&b);
    settle(&b);
    judge(&b, made);
    nothing_is_left(&b);
    go_home(&b);
    munmap(b.shared, sizeof *b.shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(each_job_comes_to_one_end_that_its_history_allows)};
    return scene_run_durable(tests, argc, argv);
}
