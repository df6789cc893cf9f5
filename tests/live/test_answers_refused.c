/* SPDX-License-Identifier: MIT
 *
 * One answer of a call is a refusal, each in turn, with all others as Redis gives them. Whatever the call makes of it,
 * those that come after it, on the same client, have their own answers, and not those of a call before.
 */
#include <string.h>

#include "blocking_calls.h"
#include "hostile_server.h"
#include "script_world.h"

#define LEASED_MAX 64

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
    char leased[LEASED_MAX];
};

static struct stage *begin(struct scene *s)
{
    static struct stage t;
    t = (struct stage){.scene = s};
    script_world_make(&t.world, s);
    script_world_keep(&t.world);
    snprintf(t.leased, sizeof t.leased, ".lease:%s:q", t.world.leased);
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
    (void)call->run(t->client, t->leased);
    bool was_refused = atomic_exchange(&t->redis.counts->refuses_in, 0) == 0;
    assert_own_answers(t, call->name, nth, refusal);
    return was_refused;
}

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_call_has_its_own_answers_whatever_was_refused_before),
    };
    return scene_run(tests, argc, argv);
}
