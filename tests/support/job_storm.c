/* SPDX-License-Identifier: MIT
 *
 * A storm of faults over jobs: the crew's handlers, the load, and the faults.
 */
#include "job_storm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "checked.h"
#include "invariant.h"
#include "taken.h"

const char *const job_storm_queues[STORM_QUEUES] = {"work", "next", "unique"};

enum {
    TTL_MS = 600,
    SPAN_MS = 4000,
    BACKLOG = 60,
    REACH = 50, /* a job depends on, and a disturbance hits, one of this many last jobs */
    HISTORY = 1000,
    PER_KEY = 1
};

const char *job_storm_name(char text[16], char kind, int i)
{
    snprintf(text, 16, "%c%d", kind, i);
    return text;
}

/* ---- handlers ---- */

/* By the job's data: "j<number>", "r0", or the id of the batch that it follows, "b<number>". */
struct storm_said *job_storm_said(struct job_storm *storm, const struct muster_job *job)
{
    const char *data = job->data.data;
    int i = atoi(data + 1);
    if (*data == 'b')
        return &storm->shared->followed;
    return *data == 'r' ? &storm->shared->recurred : &storm->shared->jobs[i];
}

static enum muster_outcome any_outcome(void)
{
    static const enum muster_outcome outcomes[] = {MUSTER_FINISH, MUSTER_FINISH, MUSTER_FINISH,   MUSTER_FINISH,
                                                   MUSTER_FINISH, MUSTER_FINISH, MUSTER_RETRY,    MUSTER_RETRY,
                                                   MUSTER_RETRY,  MUSTER_FAIL,   MUSTER_GIVE_BACK};
    return outcomes[(size_t)rand() % N_OF(outcomes)];
}

static enum muster_outcome finish_or_advance(struct muster_process *p, struct storm_said *said, bool may_advance)
{
    const char *queue = muster_process_queue(p);
    bool advances = may_advance && !strcmp(queue, "work") && rand() % 4 == 0;
    if (advances)
        assert_ok(muster_process_set_next(p, "next", rand() % 2 * 30, NULL, 0));
    atomic_fetch_add(advances ? &said->advance : &said->finish, 1);
    return MUSTER_FINISH;
}

static enum muster_outcome decide(struct job_storm *storm, struct muster_process *p)
{
    const struct muster_job *job = muster_process_job(p);
    const char *task = muster_process_task(p, NULL);
    if (!job && *task == 'u')
        return atomic_load(&storm->shared->is_over) ? MUSTER_FINISH : any_outcome();
    if (!job) {
        atomic_fetch_add(&storm->shared->tasks[atoi(task + 1)], 1);
        return MUSTER_FINISH;
    }
    struct storm_said *said = job_storm_said(storm, job);
    bool is_over = atomic_load(&storm->shared->is_over);
    enum muster_outcome o = is_over ? MUSTER_FINISH : any_outcome();
    if (o == MUSTER_RETRY && strcmp(muster_process_queue(p), "unique") == 0)
        o = MUSTER_GIVE_BACK; /* what follows a batch has the default backoff: after five retries 31 s, too long to wait */
    if (o == MUSTER_FINISH)
        return finish_or_advance(p, said, !is_over);
    if (o == MUSTER_FAIL)
        atomic_fetch_add(&said->fail, 1);
    else if (o == MUSTER_RETRY)
        atomic_fetch_add(&said->retry, 1);
    return o;
}

static void end_one(struct live_worker *w, struct muster_process *p)
{
    if (live_worker_let_go(w, p))
        (void)muster_process_end(p, decide(w->spec.arg, p));
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct live_worker *w = arg;
    (void)fd, (void)what;
    for (int n = rand() % 3; n > 0 && w->n_held > 0; n--)
        end_one(w, w->held[0]);
}

/* A third of the jobs end in the handler, the others some ticks later. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    fault_crew_tick(w, p, on_tick, 2);
    if (rand() % 3 == 0)
        return decide(w->spec.arg, p);
    live_worker_hold(w, p);
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

/* One has threads, and one an id of its own: each of its lives takes up what the one before left. */
static void start_crew(struct job_storm *storm)
{
    struct worker_spec spec = {.ttl_ms = TTL_MS,
                               .hands = 6,
                               .drain_ms = 100,
                               .more = {.in_turn = 1},
                               .handler = work,
                               .on_event = on_event,
                               .arg = storm,
                               .queues = {{"work", 0}, {"next", 2}, {"unique", 0}}};
    struct worker_spec specs[] = {spec, spec, spec, spec, spec};
    specs[1].prefetch = specs[3].prefetch = 3;
    specs[3].handler = work_on_thread;
    specs[3].hands = 0;
    specs[3].more.threads = 4;
    specs[4].id = "home";
    specs[4].more.permanent = specs[4].more.resume = 1;
    fault_crew_start(&storm->crew, storm->s, specs, N_OF(specs));
}

/* ---- Redis ---- */

/* Full for 150 ms, then empty for up to a second. */
static void fill(struct job_storm *storm, bool is_full)
{
    raw_do(storm->s->server->redis, "CONFIG SET maxmemory %d", is_full ? 1 : 0);
    storm->is_full = is_full;
    storm->turns_at_ms = now_ms() + (is_full ? 150 : 300 + rand() % 700);
}

/* Only a full Redis may refuse, and then nothing was done. */
bool job_storm_is_done(struct job_storm *storm, int err)
{
    if (err == MUSTER_E_FULL && storm->is_full) {
        storm->n_refused++;
        return false;
    }
    if (err != MUSTER_OK)
        fail_msg("%s: %s", muster_err_name(err), muster_client_error(storm->s->client));
    return true;
}

static void restart_redis(struct job_storm *storm)
{
    if (storm->is_full)
        fill(storm, false);
    redis_server_kill(storm->s->server);
    redis_server_restart(storm->s->server);
}

/* ---- the load ---- */

static const struct muster_backoff soon = {.delay_ms = 10, .max_ms = 100, .exponential = 1, .jitter_percent = 50};

int job_storm_recent(int n)
{
    return n - 1 - rand() % (n < REACH ? n : REACH);
}

/* Up to two jobs that `i` waits for. Returns how many. */
static size_t any_after(struct job_storm *storm, int i, char (*ids)[16])
{
    struct storm_account *a = &storm->jobs[i];
    size_t n = 0;
    for (int k = rand() % 4 ? 0 : 1 + rand() % 2; k > 0 && i > 0 && a->n_after < STORM_AFTER_MAX; k--) {
        a->after[a->n_after] = job_storm_recent(i);
        job_storm_name(ids[n++], 'j', a->after[a->n_after++]);
    }
    return n;
}

/* Sometimes it waits for an end or a failure besides. What has a lower number is no circle. */
static void any_other_end(struct job_storm *storm, int i, struct muster_job_spec *spec, char (*name)[16],
                          const char *const *id)
{
    int on = i > 0 ? job_storm_recent(i) : 0;
    job_storm_name(*name, 'j', on);
    for (size_t k = 0; k < spec->n_after; k++)
        if (strcmp(spec->after[k], *name) == 0)
            return;
    if (i > 0 && rand() % 6 == 0) {
        spec->after_end = id;
        spec->n_after_end = 1;
    } else if (i > 0 && rand() % 6 == 0) {
        spec->after_failure = id;
        spec->n_after_failure = 1;
        storm->jobs[i].for_failure = true;
        storm->n_for_failure++;
    }
}

/* It cannot wait for the failure of a job that is complete or gone. Then it does not. */
static int put_or_put_plainly(struct job_storm *storm, const char *queue, struct muster_job_spec *spec)
{
    int err = muster_job_put(storm->s->client, queue, spec, NULL);
    if (spec->n_after_failure == 0 || (err != MUSTER_E_STATE && err != MUSTER_E_NOT_FOUND))
        return err;
    spec->n_after_failure = 0;
    return muster_job_put(storm->s->client, queue, spec, NULL);
}

const char *job_storm_key(void)
{
    static const char *const keys[] = {NULL, NULL, "red", "red", "blue", "green and white"};
    return keys[(size_t)rand() % N_OF(keys)];
}

/* Sometimes the last batch is closed, and the next one opened. */
static void turn_batches(struct job_storm *storm)
{
    char id[16];
    if (rand() % 8)
        return;
    if (storm->is_batch_open) {
        int err = muster_batch_close(storm->s->client, job_storm_name(id, 'b', storm->n_batches - 1));
        storm->is_batch_open = !job_storm_is_done(storm, err);
        return;
    }
    const struct muster_follower follower = {.queue = "unique"};
    const struct muster_batch_spec spec = {.size = sizeof spec,
                                           .id = job_storm_name(id, 'b', storm->n_batches),
                                           .on_end = follower,
                                           .on_complete = follower,
                                           .on_failure = follower};
    storm->is_batch_open = job_storm_is_done(storm, muster_batch_open(storm->s->client, &spec, NULL));
    storm->n_batches += storm->is_batch_open;
}

int job_storm_put(struct job_storm *storm, int i, enum storm_put how)
{
    char id[16], after[2][16], other[16], batch[16];
    const char *const ids[] = {after[0], after[1]}, *const others[] = {other};
    int retries = rand() % 4;
    size_t n = any_after(storm, i, after);
    struct storm_account *a = &storm->jobs[i];
    a->retries_least = how == STORM_REPLACE && a->retries_least < retries ? a->retries_least : retries;
    job_storm_name(id, 'j', i);
    struct muster_job_spec *spec =
        JOB_SPEC(.id = id, .data = {id, strlen(id)}, .priority = rand() % 5 - 2,
                 .retries = retries ? retries : MUSTER_ZERO, .replace = how == STORM_REPLACE, .track = rand() % 9 == 0,
                 .delay_ms = rand() % 4 ? 0 : rand() % 300, .backoff = &soon, .after = ids, .n_after = n,
                 .may_be_missing = 1, .tags = IDS("blue", "old"), .n_tags = (size_t)(rand() % 3),
                 .key = job_storm_key());
    if (how == STORM_NEW && storm->is_batch_open && rand() % 2)
        spec->batch = job_storm_name(batch, 'b', storm->n_batches - 1);
    any_other_end(storm, i, spec, &other, others);
    return put_or_put_plainly(storm, job_storm_queues[rand() % 2], spec);
}

static int put_unique(struct job_storm *storm, int i)
{
    char text[16];
    job_storm_name(text, 'u', i);
    return muster_task_enqueue_unique(storm->s->client, "unique", text, strlen(text), NULL);
}

static void take_under_a_lease_that_lapses(struct job_storm *storm)
{
    struct taken taken;
    storm->n_leased += take_n(storm->s, job_storm_queues[rand() % 2], 2, 100, &taken) == MUSTER_OK;
}

void job_storm_put_some(struct job_storm *storm)
{
    char task[16];
    turn_batches(storm);
    for (int n = rand() % 12; n > 0 && storm->n_jobs < STORM_JOBS_MAX; n--)
        storm->n_jobs += job_storm_is_done(storm, job_storm_put(storm, storm->n_jobs, STORM_NEW));
    for (int n = rand() % 3; n > 0 && storm->n_tasks < STORM_JOBS_MAX; n--) {
        job_storm_name(task, 't', storm->n_tasks);
        storm->n_tasks += job_storm_is_done(
            storm, muster_task_enqueue(storm->s->client, job_storm_queues[rand() % 2], task, strlen(task), NULL));
    }
    int err = put_unique(storm, rand() % STORM_UNIQUES);
    if (err != MUSTER_E_EXISTS)
        (void)job_storm_is_done(storm, err);
    if (rand() % 2)
        take_under_a_lease_that_lapses(storm);
}

/* ---- the time of faults ---- */

static bool is_hungry(void *arg)
{
    struct job_storm *storm = arg;
    int64_t waiting = 0;
    for (size_t i = 0; i < N_OF(job_storm_queues); i++)
        waiting += raw_int(storm->s->server->redis, "ZCARD %s:waiting:%s", storm->s->prefix, job_storm_queues[i]);
    return waiting < BACKLOG;
}

/* Before anybody else is there, the holder of the first job dies twice: once it becomes a suspect, and once that
 * counts. Of a crew that is hurt at random mostly no death does. */
static void let_one_crash(struct job_storm *storm)
{
    struct taken taken;
    storm->jobs[storm->n_jobs].retries_least = 1;
    assert_ok(muster_job_put(storm->s->client, "work",
                             JOB_SPEC(.id = "j0", .data = BYTES("j0"), .retries = 1, .backoff = &soon), NULL));
    storm->n_jobs++;
    for (int i = 0; i < 2; i++) {
        taken = (struct taken){0};
        assert_ok(muster_lease_take(storm->s->client, "work", 1, 10, SOON_MS, taken_add, &taken));
        assert_int_equal(taken.n, 1);
    }
}

/* Both queues are fair. In one of them few of a key run at once, and no more are taken than a rate allows. */
static void set_limits(struct scene *s)
{
    assert_ok(muster_config_set(s->client, "work", "fair", &(int64_t){1}));
    assert_ok(muster_config_set(s->client, "next", "fair", &(int64_t){1}));
    assert_ok(muster_config_set(s->client, "work", "max_running_per_key", &(int64_t){PER_KEY}));
    assert_ok(muster_config_set(s->client, "work", "rate", &(int64_t){1000}));
    assert_ok(muster_config_set(s->client, "work", "rate_burst", &(int64_t){50}));
}

struct job_storm *job_storm_begin(struct scene *s)
{
    static struct job_storm storm;
    const char *seed = getenv("MUSTER_TEST_SEED");
    storm = (struct job_storm){.s = s};
    storm.shared =
        mmap(NULL, sizeof *storm.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(storm.shared != MAP_FAILED);
    srand(seed ? (unsigned)atoi(seed) : 1);
    assert_ok(muster_config_set(s->client, NULL, "keep_history", &(int64_t){HISTORY}));
    fill(&storm, false);
    set_limits(s);
    let_one_crash(&storm);
    start_crew(&storm);
    return &storm;
}

/* At this moment at most so many of each key run, unless the limit was changed. */
static void look_at_keys(struct job_storm *storm)
{
    static const char script[] = "local P, most, of = KEYS[1] .. ':', 0, {}\n"
                                 "for _, member in ipairs(redis.call('ZRANGE', P .. 'running:work', 0, -1)) do\n"
                                 "  local key = redis.call('HGET', P .. 'job:' .. string.sub(member, 12), 'key')\n"
                                 "  if key then of[key] = (of[key] or 0) + 1 most = math.max(most, of[key]) end\n"
                                 "end\n"
                                 "return most\n";
    int64_t most = raw_int(storm->s->server->redis, "EVAL %s 1 %s", script, storm->s->prefix);
    assert_in_range(most, 0, storm->is_limit_changed ? 1000 : PER_KEY);
    storm->n_held += (int)raw_int(storm->s->server->redis, "ZCARD %s:held:work", storm->s->prefix);
}

/* Redis is restarted in the middle. A slow machine goes on until there was a batch. */
void job_storm_rage(struct job_storm *storm, void (*load)(struct job_storm *storm))
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int span_ms = seconds ? atoi(seconds) * 1000 : SPAN_MS;
    int64_t begun = now_ms(), hurt_at = begun + 100, restart_at = begun + span_ms / 2;
    while ((now_ms() < begun + span_ms || storm->n_batches == 0) && storm->n_jobs < STORM_JOBS_MAX) {
        if (now_ms() >= storm->turns_at_ms)
            fill(storm, !storm->is_full);
        load(storm);
        look_at_keys(storm);
        if (now_ms() >= hurt_at) {
            fault_crew_hurt(&storm->crew);
            hurt_at = now_ms() + rand() % 300;
        }
        if (now_ms() >= restart_at) {
            restart_redis(storm);
            restart_at = INT64_MAX;
        }
        (void)wait_for(NULL, is_hungry, storm, 500);
    }
    fault_crew_thaw(&storm->crew);
    fill(storm, false);
    while (storm->is_batch_open)
        turn_batches(storm);
    assert_ok(muster_config_set(storm->s->client, "work", "max_running", NULL));
}

static bool is_still(void *arg)
{
    struct job_storm *storm = arg;
    uint64_t n = 0, counts[MUSTER_JOB_STATE_COUNT];
    for (size_t i = 0; i < N_OF(job_storm_queues); i++) {
        assert_ok(muster_job_counts(storm->s->client, job_storm_queues[i], counts));
        n += counts[MUSTER_JOB_WAITING] + counts[MUSTER_JOB_RUNNING] + counts[MUSTER_JOB_SCHEDULED] +
             counts[MUSTER_JOB_HELD];
        n += (uint64_t)raw_int(storm->s->server->redis, "LLEN %s:queues:%s", storm->s->prefix, job_storm_queues[i]);
        n += (uint64_t)raw_int(storm->s->server->redis, "HGET %s:queue:%s running", storm->s->prefix,
                               job_storm_queues[i]);
    }
    return n == 0;
}

static void fail_with_what_is_left(struct job_storm *storm)
{
    uint64_t n[MUSTER_JOB_STATE_COUNT];
    for (size_t i = 0; i < N_OF(job_storm_queues); i++) {
        assert_ok(muster_job_counts(storm->s->client, job_storm_queues[i], n));
        print_message("%s: %d wait, %d run, %d are scheduled, %d held\n", job_storm_queues[i],
                      (int)n[MUSTER_JOB_WAITING], (int)n[MUSTER_JOB_RUNNING], (int)n[MUSTER_JOB_SCHEDULED],
                      (int)n[MUSTER_JOB_HELD]);
    }
    fail_msg("not all have ended within %d ms; check finds: %s", 2 * SOON_MS, checked_find(storm->s).what);
}

/* Seen twice in a row: a job that moves to a queue that was counted already is in neither count. */
void job_storm_settle(struct job_storm *storm)
{
    for (int i = 0; i < 2; i++) {
        if (!wait_for(NULL, is_still, storm, 2 * SOON_MS))
            fail_with_what_is_left(storm);
    }
    invariant_assert(storm->s->server->redis, storm->s->prefix);
    checked_assert_clean(storm->s);
}

static uint64_t replay_all(struct job_storm *storm)
{
    uint64_t replayed, sum = 0;
    for (size_t i = 0; i < N_OF(job_storm_queues); i++) {
        const struct muster_failed_filter all = {.size = sizeof all, .queue = job_storm_queues[i]};
        assert_ok(muster_failed_replay(storm->s->client, &all, &replayed));
        sum += replayed;
    }
    return sum;
}

/* Each unique task can be put again, whatever ended it; and failed jobs run when they are replayed. All finish by then,
 * so a job that waits for a failure is cancelled, and those fail that wait for it: they are replayed, too. */
void job_storm_replay(struct job_storm *storm)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    atomic_store(&storm->shared->is_over, 1);
    for (int i = 0; i < STORM_UNIQUES; i++)
        assert_ok(put_unique(storm, i));
    for (int i = 0; i <= storm->n_for_failure && replay_all(storm) > 0; i++)
        job_storm_settle(storm);
    job_storm_settle(storm);
    for (size_t i = 0; i < N_OF(job_storm_queues); i++) {
        assert_ok(muster_job_counts(storm->s->client, job_storm_queues[i], counts));
        assert_int_equal(counts[MUSTER_JOB_FAILED] + counts[MUSTER_JOB_DEPENDS], 0);
    }
    job_storm_judge_batches(storm);
}

void job_storm_end(struct job_storm *storm)
{
    fault_crew_stop(&storm->crew);
    scene_assert_quiet(storm->s);
    invariant_assert(storm->s->server->redis, storm->s->prefix);
    munmap(storm->shared, sizeof *storm->shared);
}
