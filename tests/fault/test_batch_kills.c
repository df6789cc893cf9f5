/* SPDX-License-Identifier: MIT
 *
 * Each follower of a batch is put exactly once, whoever dies: workers are killed, frozen and cut off while members end,
 * fail, are retried, replayed and cancelled, put more members themselves, and while batches lie within each other, are
 * closed late, by nobody, or cancelled; Redis is killed in the middle. Afterwards each batch has ended, its counts are
 * those of its members, and as many followers were put as the batches say.
 */
#include <muster/batch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "checked.h"
#include "fault_crew.h"
#include "invariant.h"
#include "job_look.h"

enum {
    TTL_MS = 600,
    SPAN_MS = 4000,
    BATCHES_MAX = 2000,
    BATCHES_LEAST = 16,
    MANY = 8,
    BACKLOG = 60,
    BATCH_TTL_MS = 1000
};

/* Written by the workers' processes, too. */
struct shared {
    atomic_int is_over; /* handlers finish from now on */
    atomic_int grown;   /* members that handlers put */
};

struct bench {
    struct scene *s;
    struct shared *shared;
    struct fault_crew crew;
    int n_batches, n_jobs, n_refused;
    bool is_closed[BATCHES_MAX];
};

static const char *batch_name(char text[16], int i)
{
    snprintf(text, 16, "b%d", i);
    return text;
}

/* ---- handlers ---- */

/* Each life of a worker has a connection of its own for it. */
static struct muster_client *own_client(const struct bench *b)
{
    static struct muster_client *client;
    const struct muster_client_options o = {
        .size = sizeof o, .url = b->s->server->url, .prefix = b->s->prefix, .timeout_ms = 500};
    if (!client)
        assert_ok(muster_client_new(&client, &o));
    return client;
}

/* One more member of its batch, once: if it runs again, that one is there. The batch may be closed, and Redis away. */
static void grow(struct bench *b, const struct muster_job *job)
{
    char id[40];
    snprintf(id, sizeof id, "%s.more", job->id);
    int err = muster_job_put(own_client(b), "work", JOB_SPEC(.id = id, .data = BYTES("m"), .batch = job->batch), NULL);
    atomic_fetch_add(&b->shared->grown, err == MUSTER_OK);
}

static enum muster_outcome work(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct bench *b = w->spec.arg;
    const struct muster_job *job = muster_process_job(p);
    int dice = rand() % 20;
    if (strcmp(muster_process_queue(p), "after") == 0 || atomic_load(&b->shared->is_over))
        return MUSTER_FINISH;
    if (dice < 3 && !strstr(job->id, ".more"))
        grow(b, job);
    return dice == 4 || dice == 5 ? MUSTER_FAIL : dice == 6 || dice == 7 ? MUSTER_RETRY : MUSTER_FINISH;
}

/* ---- what is done to batches ---- */

static int any_batch(const struct bench *b)
{
    int recent = b->n_batches < 12 ? b->n_batches : 12;
    return b->n_batches - 1 - rand() % recent;
}

/* A third of them lies within one of those before, if that is open. */
static void open_one(struct bench *b)
{
    char id[16], parent[16];
    const struct muster_follower follower = {.queue = "after"};
    bool is_nested = b->n_batches > 0 && rand() % 3 == 0;
    if (b->n_batches == BATCHES_MAX)
        return;
    const struct muster_batch_spec spec = {.size = sizeof spec,
                                           .id = batch_name(id, b->n_batches),
                                           .batch = is_nested ? batch_name(parent, any_batch(b)) : NULL,
                                           .ttl_ms = BATCH_TTL_MS,
                                           .on_end = follower,
                                           .on_complete = follower,
                                           .on_failure = follower};
    int err = muster_batch_open(b->s->client, &spec, NULL);
    b->n_refused += err != MUSTER_OK;
    b->n_batches += err == MUSTER_OK;
    assert_true(err == MUSTER_OK || (is_nested && (err == MUSTER_E_STATE || err == MUSTER_E_INVALID)));
}

static void put_members(struct bench *b)
{
    char ids[MANY][16], batch[16];
    struct muster_job_spec specs[MANY];
    const struct muster_job_spec *pointers[MANY];
    size_t n = 1 + (size_t)(rand() % MANY);
    static const struct muster_backoff soon = {.delay_ms = 10};
    batch_name(batch, any_batch(b));
    for (size_t i = 0; i < n; i++) {
        snprintf(ids[i], sizeof ids[i], "j%d", b->n_jobs + (int)i);
        specs[i] = (struct muster_job_spec){
            .size = sizeof *specs, .id = ids[i], .data = BYTES("m"), .batch = batch, .retries = 2, .backoff = &soon};
        pointers[i] = &specs[i];
    }
    int err = muster_job_put_many(b->s->client, "work", pointers, n, NULL, NULL);
    assert_true(err == MUSTER_OK || err == MUSTER_E_STATE);
    b->n_jobs += err == MUSTER_OK ? (int)n : 0;
    b->n_refused += err != MUSTER_OK;
}

static void close_one(struct bench *b)
{
    char id[16];
    int err = muster_batch_close(b->s->client, batch_name(id, any_batch(b)));
    assert_true(err == MUSTER_OK || err == MUSTER_E_STATE);
}

static void cancel_one(struct bench *b)
{
    char id[16];
    int err = MUSTER_OK;
    snprintf(id, sizeof id, "j%d", b->n_jobs > 40 ? b->n_jobs - 1 - rand() % 40 : 0);
    if (rand() % 4)
        err = muster_job_cancel(b->s->client, IDS(id), 1, 0, NULL, NULL);
    else
        err = muster_batch_cancel(b->s->client, batch_name(id, any_batch(b)), NULL, NULL);
    assert_true(err == MUSTER_OK || err == MUSTER_E_STATE || err == MUSTER_E_NOT_FOUND);
}

static void replay_some(struct bench *b)
{
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "work"};
    assert_ok(muster_failed_replay(b->s->client, &all, NULL));
}

/* As often as it stands there. */
static void (*const steps[])(struct bench *b) = {open_one,    put_members, put_members, put_members,
                                                 put_members, close_one,   cancel_one,  replay_some};

/* ---- the time of faults ---- */

static bool is_hungry(void *arg)
{
    const struct bench *b = arg;
    return raw_int(b->s->server->redis, "ZCARD %s:waiting:work", b->s->prefix) < BACKLOG;
}

static void start(struct bench *b)
{
    struct worker_spec spec = {.ttl_ms = TTL_MS,
                               .hands = 4,
                               .drain_ms = 100,
                               .more = {.in_turn = 1},
                               .handler = work,
                               .arg = b,
                               .queues = {{"work", 0}, {"after", 0}}};
    struct worker_spec specs[] = {spec, spec, spec, spec};
    fault_crew_start(&b->crew, b->s, specs, N_OF(specs));
}

static void rage(struct bench *b)
{
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int span_ms = seconds ? atoi(seconds) * 1000 : SPAN_MS;
    int64_t begun = now_ms(), hurt_at = begun + 100, restart_at = begun + span_ms / 2;
    open_one(b);
    while (now_ms() < begun + span_ms || b->n_batches < BATCHES_LEAST) { /* each kind of end must come about */
        steps[(size_t)rand() % N_OF(steps)](b);
        if (now_ms() >= hurt_at) {
            fault_crew_hurt(&b->crew);
            hurt_at = now_ms() + rand() % 250;
        }
        if (now_ms() >= restart_at) {
            redis_server_kill(b->s->server);
            redis_server_restart(b->s->server);
            restart_at = INT64_MAX;
        }
        (void)wait_for(NULL, is_hungry, b, 500);
    }
    fault_crew_thaw(&b->crew);
    atomic_store(&b->shared->is_over, 1);
}

/* Those that nobody closed are closed by their ttl. */
static bool is_over(void *arg)
{
    const struct bench *b = arg;
    struct redisContext *redis = b->s->server->redis;
    int64_t put = raw_int(redis, "HGET %s:queue:after jobs_in", b->s->prefix);
    return raw_int(redis, "ZCARD %s:past", b->s->prefix) == b->n_batches &&
           raw_int(redis, "ZCARD %s:complete:after", b->s->prefix) == put &&
           raw_int(redis, "HGET %s:queue:work running", b->s->prefix) == 0;
}

/* ---- the account ---- */

struct account {
    struct bench *bench;
    char followers[3 * BATCHES_MAX][24], followed[3 * BATCHES_MAX][16]; /* the jobs, and the batch of each */
    int n_batches, n_followers, n_complete, n_failed, n_cancelled, n_by_ttl;
};

static void judge_follower(struct account *a, const struct muster_batch *batch, const struct muster_followed *f,
                           bool is_due)
{
    if (is_due != (*f->job != 0))
        fail_msg("batch %s: a follower was%s put: %s", batch->id, is_due ? " not" : "", f->job);
    if (!is_due)
        return;
    snprintf(a->followers[a->n_followers], sizeof a->followers[0], "%s", f->job);
    snprintf(a->followed[a->n_followers], sizeof a->followed[0], "%s", batch->id);
    a->n_followers++;
}

/* Each of them ran, with the data that says of which batch it is; and no other job was put there. */
static void judge_followers(const struct account *a)
{
    struct scene *s = a->bench->s;
    for (int i = 0; i < a->n_followers; i++) {
        struct job_seen seen = job_look(s, a->followers[i]);
        assert_int_equal(seen.state, MUSTER_JOB_COMPLETE);
        assert_string_equal(seen.data, a->followed[i]);
    }
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:after jobs_in", s->prefix), a->n_followers);
}

static int judge(const struct muster_batch *batch, void *arg)
{
    struct account *a = arg;
    uint64_t ended = batch->complete + batch->failed + batch->cancelled + batch->gone;
    bool is_complete = batch->complete == batch->members && !batch->is_cancelled;
    if (batch->state != MUSTER_BATCH_ENDED || batch->left != 0 || ended != batch->members)
        fail_msg("batch %s: %s, %d left, %d of %d ended", batch->id, muster_batch_state_name(batch->state),
                 (int)batch->left, (int)ended, (int)batch->members);
    judge_follower(a, batch, &batch->on_end, true);
    judge_follower(a, batch, &batch->on_complete, is_complete);
    judge_follower(a, batch, &batch->on_failure, *batch->first_failed != 0);
    a->n_batches++;
    a->n_complete += is_complete;
    a->n_failed += *batch->first_failed != 0;
    a->n_cancelled += batch->is_cancelled;
    a->n_by_ttl += strcmp(batch->closed_by, "ttl") == 0;
    return 0;
}

static void report(const struct bench *b, const struct account *a)
{
    print_message("%d batches of %d members, %d of them put by members, %d refused; %d complete, %d with a failure, "
                  "%d cancelled, %d closed by their ttl; %d killed, %d frozen, %d cut off\n",
                  a->n_batches, b->n_jobs, atomic_load(&b->shared->grown), b->n_refused, a->n_complete, a->n_failed,
                  a->n_cancelled, a->n_by_ttl, b->crew.n_hurt[FAULT_KILLED], b->crew.n_hurt[FAULT_FROZEN],
                  b->crew.n_hurt[FAULT_CUT]);
    assert_true(a->n_complete && a->n_failed && a->n_cancelled && a->n_by_ttl && atomic_load(&b->shared->grown));
}

static void each_follower_is_put_exactly_once(void **state)
{
    struct scene *s = *state;
    static struct bench b;
    const char *seed = getenv("MUSTER_TEST_SEED");
    static struct account a;
    b = (struct bench){.s = s};
    a = (struct account){.bench = &b};
    srand(seed ? (unsigned)atoi(seed) : 1);
    b.shared = mmap(NULL, sizeof *b.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(b.shared != MAP_FAILED);
    start(&b);
    rage(&b);
    wait_until(is_over, &b, 4 * SOON_MS);
    checked_assert_clean(s);
    assert_ok(muster_batch_list(s->client, judge, &a));
    report(&b, &a);
    assert_int_equal(a.n_batches, b.n_batches);
    judge_followers(&a);
    fault_crew_stop(&b.crew);
    invariant_assert(s->server->redis, s->prefix);
    munmap(b.shared, sizeof *b.shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(each_follower_is_put_exactly_once)};
    return scene_run_durable(tests, argc, argv);
}
