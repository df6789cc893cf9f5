/* SPDX-License-Identifier: MIT
 *
 * One answer of a call is a refusal, each in turn, with all others as Redis gives them. Whatever the call makes of it,
 * those that come after it, on the same client, have their own answers, and not those of a call before.
 */
#include <string.h>

#include "blocking_calls.h"
#include "hostile_server.h"
#include "proxy.h"
#include "script_world.h"

static const char *const refusals[] = {
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
    "-NOPERM this user has no permissions to run that command\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
};

struct stage {
    struct scene *scene;
    struct script_world world;
    struct hostile_server redis;
    struct muster_client *client;
};

static struct stage *begin(struct scene *s)
{
    static struct stage t;
    t = (struct stage){.scene = s};
    script_world_make(&t.world, s);
    script_world_keep(&t.world);
    hostile_server_start(&t.redis, s->server->dir, &(struct hostile_spec){.relay_to = s->server->socket});
    const struct muster_client_options o = {.size = sizeof o, .url = t.redis.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&t.client, &o));
    return &t;
}

static void end(struct stage *t)
{
    muster_client_free(t->client);
    hostile_server_stop(&t->redis);
    script_world_end(&t->world);
}

static int keep_data(const struct muster_job *job, void *arg)
{
    *(size_t *)arg += strlen(job->id) + job->data.len;
    return 0;
}

/* What calls of several kinds answer, in a row that tells them apart. */
struct look {
    int errs[6]; /* with no padding behind them: looks are compared as bytes */
    uint64_t length, none, counts[MUSTER_JOB_STATE_COUNT];
    size_t data;
    int64_t ms;
};

static struct look look_with(struct muster_client *c)
{
    struct look l = {0};
    static const char *const id = "waiting";
    l.errs[0] = muster_lease_finish(c, ".lease:00000000001:q", NULL);
    l.errs[1] = muster_queue_length(c, "q", &l.length);
    l.errs[2] = muster_client_time(c, &l.ms);
    l.errs[3] = muster_job_get(c, &id, 1, keep_data, &l.data);
    l.errs[4] = muster_job_counts(c, "q", l.counts);
    l.errs[5] = muster_queue_length(c, "none", &l.none);
    l.ms = l.ms > 0; /* it goes on */
    return l;
}

static void assert_own_answers(struct stage *t, const char *name, uint64_t nth, const char *refusal)
{
    struct look own, other = look_with(t->scene->client), before;
    do { /* what is due moves meanwhile */
        before = other;
        own = look_with(t->client);
        other = look_with(t->scene->client);
    } while (memcmp(&before, &other, sizeof other) != 0);
    if (memcmp(&own, &other, sizeof own) == 0)
        return;
    for (size_t i = 0; i < N_OF(own.errs); i++)
        if (own.errs[i] != other.errs[i])
            fail_msg("after %s with its answer %d refused (%.20s), look %d: %s instead of %s", name, (int)nth, refusal,
                     (int)i, muster_err_name(own.errs[i]), muster_err_name(other.errs[i]));
    fail_msg("after %s with its answer %d refused (%.20s): another's answer", name, (int)nth, refusal);
}

/* Returns whether the call asks for so many. */
static bool refuse_one(struct stage *t, const struct blocking_call *call, uint64_t nth, const char *refusal)
{
    script_world_restore(&t->world);
    snprintf(t->redis.counts->refusal, sizeof t->redis.counts->refusal, "%s", refusal);
    t->redis.counts->refuses_in = nth;
    (void)call->run(t->client, t->world.process);
    bool was_refused = atomic_exchange(&t->redis.counts->refuses_in, 0) == 0;
    assert_own_answers(t, call->name, nth, refusal);
    return was_refused;
}

/* ---- enqueueing ---- */

#define MANY 3000

struct adding {
    size_t n;
    bool at_front;
};

/* Returns whether the call asks for so many. */
static bool refuse_adding(struct stage *t, const struct adding *adding, uint64_t nth, const char *refusal)
{
    static struct muster_bytes tasks[MANY];
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = adding->at_front};
    uint64_t waiting = 0;
    for (size_t i = 0; i < adding->n; i++)
        tasks[i] = (struct muster_bytes){"t", 1};
    raw_do(t->scene->server->redis, "DEL %s:queues:many", t->scene->prefix);
    assert_ok(muster_task_enqueue(t->client, "many", "t", 1, NULL)); /* so that the next one may go plainly */
    snprintf(t->redis.counts->refusal, sizeof t->redis.counts->refusal, "%s", refusal);
    t->redis.counts->refuses_in = nth;
    int err = muster_task_enqueue_many(t->client, "many", tasks, adding->n, &o, &waiting);
    bool was_refused = atomic_exchange(&t->redis.counts->refuses_in, 0) == 0;
    int64_t added = raw_int(t->scene->server->redis, "LLEN %s:queues:many", t->scene->prefix) - 1;
    bool is_all = added == (int64_t)adding->n;
    if (is_all != (err == MUSTER_OK) || (adding->n <= MUSTER_ENQUEUE_ATOMIC_TASKS && !is_all && added != 0))
        fail_msg("%d tasks, answer %d refused (%.20s): %s, and %d of them are there", (int)adding->n, (int)nth, refusal,
                 muster_err_name(err), (int)added);
    if (is_all && waiting != adding->n + 1)
        fail_msg("%d tasks, answer %d refused: %d wait", (int)adding->n, (int)nth, (int)waiting);
    return was_refused;
}

static void an_enqueue_that_is_refused_is_told_so_and_no_other_one(void **state)
{
    static const struct adding ways[] = {{1, false}, {1, true}, {2, false}, {MANY, false}, {MANY, true}};
    struct stage *t = begin(*state);
    raw_do(t->scene->server->redis, "HSET %s:queue:many listen 99999999999999", t->scene->prefix);
    for (size_t w = 0; w < N_OF(ways); w++)
        for (size_t r = 0; r < N_OF(refusals); r++)
            for (uint64_t nth = 1; refuse_adding(t, &ways[w], nth, refusals[r]); nth++)
                ;
    end(t);
}

/* ---- all calls ---- */

/* It looks at Redis for a second. */
static bool is_slow(const struct blocking_call *call)
{
    return strcmp(call->name, "muster_client_advise") == 0;
}

static void each_call_has_its_own_answers_whatever_was_refused_before(void **state)
{
    struct stage *t = begin(*state);
    for (size_t i = 0; i < n_blocking_calls; i++)
        for (size_t r = 0; r < N_OF(refusals); r++)
            for (uint64_t nth = is_slow(&blocking_calls[i]) ? r + 1 : 1;
                 refuse_one(t, &blocking_calls[i], nth, refusals[r]);
                 nth += is_slow(&blocking_calls[i]) ? N_OF(refusals) : 1)
                ;
    end(t);
}

/* ---- what comes in several answers ---- */

enum { N_LONG = 8 };

static int count_row(const struct muster_task *task, void *n)
{
    assert_int_equal(task->len, MUSTER_HEAD_MAX);
    ++*(int *)n;
    return 0;
}

/* Without a right to run scripts it is read in another way, also from the second step on. */
static void a_right_that_goes_in_the_middle_of_a_list_costs_none_of_it(void **state)
{
    static char bytes[MUSTER_HEAD_MAX];
    struct stage *t = begin(*state);
    bool was_refused = true;
    for (int i = 0; i < N_LONG; i++)
        assert_ok(muster_task_enqueue(t->client, "long", bytes, sizeof bytes, NULL));
    for (uint64_t nth = 1; was_refused; nth++) {
        int n = 0;
        snprintf(t->redis.counts->refusal, sizeof t->redis.counts->refusal, "%s", refusals[1]);
        t->redis.counts->refuses_in = nth;
        int err = muster_task_peek(t->client, "long", 0, N_LONG, count_row, &n);
        was_refused = atomic_exchange(&t->redis.counts->refuses_in, 0) == 0;
        if (err == MUSTER_OK)
            assert_int_equal(n, N_LONG);
    }
    end(t);
}

/* ---- rows ---- */

enum { N_BATCHES = 3 };

static void count_line(enum muster_log_level level, const char *line, void *n)
{
    (void)level, (void)line;
    ++*(int *)n;
}

static int assert_state(const struct muster_batch *b, void *arg)
{
    (void)arg;
    assert_int_equal(b->state, MUSTER_BATCH_OPEN);
    return 0;
}

/* What comes behind the refusal is told as nobody's. */
static void a_refused_row_of_a_list_damages_no_other(void **state)
{
    struct stage *t = begin(*state);
    int n_lines = 0;
    raw_do(t->scene->server->redis, "DEL %s:batches %s:past", t->scene->prefix, t->scene->prefix);
    for (int i = 0; i < N_BATCHES; i++) {
        char id[] = {'b', (char)('0' + i), '\0'};
        const struct muster_batch_spec spec = {.size = sizeof spec, .id = id};
        assert_ok(muster_batch_open(t->client, &spec, NULL));
    }
    muster_log_set(count_line, &n_lines);
    for (size_t r = 0; r < 2; r++) {
        bool was_refused = true;
        for (uint64_t nth = 1; was_refused; nth++) {
            snprintf(t->redis.counts->refusal, sizeof t->redis.counts->refusal, "%s", refusals[r]);
            t->redis.counts->refuses_in = nth;
            (void)!muster_batch_list(t->client, assert_state, NULL);
            was_refused = atomic_exchange(&t->redis.counts->refuses_in, 0) == 0;
        }
    }
    muster_log_set(NULL, NULL);
    assert_int_equal(n_lines, 0);
    end(t);
}

/* ---- a connection that was handed in ---- */

static int ignore_task(const struct muster_task *task, void *arg)
{
    (void)task, (void)arg;
    return 0;
}

static int ignore_setting(const struct muster_setting *setting, void *arg)
{
    (void)setting, (void)arg;
    return 0;
}

/* Several answers each. Returns how many of the calls fail. */
static int look_at_q(struct muster_client *c, redisContext *owners)
{
    uint64_t length, counts[MUSTER_JOB_STATE_COUNT];
    struct muster_queue_info info;
    int n = 0;
    for (int i = 0; i < 5; i++) {
        int err = i == 0   ? muster_queue_length(c, "q", &length)
                  : i == 1 ? muster_job_counts(c, "q", counts)
                  : i == 2 ? muster_queue_get(c, "q", &info)
                  : i == 3 ? muster_config_get(c, "q", NULL, ignore_setting, NULL)
                           : muster_task_peek(c, "q", 0, 10, ignore_task, NULL);
        n += err == MUSTER_E_REDIS;
        redisReply *own = redisCommand(owners, "PING");
        assert_non_null(own);
        assert_string_equal(own->str ? own->str : "a number", "PONG");
        freeReplyObject(own);
    }
    return n;
}

/* It is used between two calls, while the rest of the answers is still on its way. */
static void the_owner_of_a_connection_gets_no_answer_of_a_call_that_has_failed(void **state)
{
    static const char *const keys[] = {"queue:q", "queues:q", "waiting:q", "returned:q", "scheduled:q", "config"};
    struct scene *s = *state;
    struct proxy proxy;
    struct muster_client *c;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    redisContext *owners = redisConnectUnix(proxy.socket);
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = owners};
    assert_ok(muster_client_new(&c, &o));
    assert_int_equal(look_at_q(c, owners), 0);
    proxy_pace(&proxy, PROXY_DATA, 16, 1);
    for (size_t i = 0; i < N_OF(keys); i++) {
        raw_do(s->server->redis, "SET %s:%s x", s->prefix, keys[i]);
        assert_true(look_at_q(c, owners) > 0);
        raw_do(s->server->redis, "DEL %s:%s", s->prefix, keys[i]);
    }
    muster_client_free(c);
    redisFree(owners);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_enqueue_that_is_refused_is_told_so_and_no_other_one),
        live_test(each_call_has_its_own_answers_whatever_was_refused_before),
        live_test(a_right_that_goes_in_the_middle_of_a_list_costs_none_of_it),
        live_test(a_refused_row_of_a_list_damages_no_other),
        live_test(the_owner_of_a_connection_gets_no_answer_of_a_call_that_has_failed),
    };
    return scene_run(tests, argc, argv);
}
