/* SPDX-License-Identifier: MIT
 *
 * What keys cost those who do not use them: a job without a key needs no command for them, and no other ones if its
 * queue has a limit of jobs of a key.
 */
#include <stdio.h>

#include "job_look.h"
#include "taken.h"

#define ROUNDS 20

enum { PUT, TAKE, FINISH, FAIL, RETRY, GIVE_BACK, N_STEPS };
static const char *const NAMES[N_STEPS] = {"put", "take", "finish", "fail", "retry", "give back"};

/* What keys are asked by: how many of one run, wait or are held, and the limit. */
static const char *const FOR_KEYS[] = {"zlexcount", "zrangebylex", "zrevrangebylex", "hget"};
#define N_FOR_KEYS (sizeof FOR_KEYS / sizeof *FOR_KEYS)

/* How many of these are written depends on how long a job has waited or run. */
static const char *const OF_TIME[] = {"hincrby", "hincrbyfloat", "pexpire"};
#define N_OF_TIME (sizeof OF_TIME / sizeof *OF_TIME)

/* `all` is without those of time. */
struct cost {
    int64_t all, for_keys;
};

static int64_t sum_of_calls(struct scene *s, const char *const *commands, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += redis_server_calls(s->server, commands[i]);
    return sum;
}

static struct cost cost_now(struct scene *s)
{
    return (struct cost){.all = redis_server_calls(s->server, NULL) - sum_of_calls(s, OF_TIME, N_OF_TIME),
                         .for_keys = sum_of_calls(s, FOR_KEYS, N_FOR_KEYS)};
}

static int do_step(struct scene *s, int step, const char *process)
{
    switch (step) {
    case FINISH:
        return muster_lease_finish(s->client, process, NULL);
    case FAIL:
        return muster_lease_fail(s->client, process, "g", "m");
    case RETRY:
        return muster_lease_retry(s->client, process, 0);
    default:
        return muster_lease_give_back(s->client, process);
    }
}

static void add_cost_since(struct scene *s, struct cost before, struct cost *sum)
{
    const struct cost now = cost_now(s);
    sum->all += now.all - before.all;
    sum->for_keys += now.for_keys - before.for_keys;
}

/* One job is put, taken and ended so; a job that waits again is cancelled. */
static void run_round(struct scene *s, const char *queue, int end, struct cost costs[N_STEPS])
{
    struct cost before = cost_now(s);
    job_put(s, queue, JOB_SPEC(.id = "j", .retries = 5));
    add_cost_since(s, before, &costs[PUT]);
    before = cost_now(s);
    struct taken taken = {0};
    assert_ok(take_n(s, queue, 1, 3600000, &taken));
    add_cost_since(s, before, &costs[TAKE]);
    before = cost_now(s);
    assert_ok(do_step(s, end, taken.rows[0].id));
    add_cost_since(s, before, &costs[end]);
    if (end != FINISH)
        assert_ok(muster_job_cancel(s->client, N_IDS("j"), 0, NULL, NULL));
}

/* The first round of each end is not counted: it makes what later ones find. */
static void measure(struct scene *s, const char *queue, struct cost costs[N_STEPS])
{
    for (int end = FINISH; end < N_STEPS; end++) {
        struct cost unused[N_STEPS] = {0};
        run_round(s, queue, end, unused);
        for (int i = 0; i < ROUNDS; i++)
            run_round(s, queue, end, costs);
    }
}

static void a_job_without_a_key_costs_no_command_for_keys(void **state)
{
    struct scene *s = *state;
    struct cost plain[N_STEPS] = {0}, limited[N_STEPS] = {0};
    const int64_t one = 1;
    job_put(s, "plain", JOB_SPEC(.id = "a", .priority = 9));
    assert_ok(muster_config_set(s->client, "limited", "max_running_per_key", &one));
    job_put(s, "limited", JOB_SPEC(.id = "b", .priority = 9));
    measure(s, "plain", plain);
    measure(s, "limited", limited);
    for (int i = 0; i < N_STEPS; i++) {
        print_message("    %s: %lld commands, %lld under a limit\n", NAMES[i], (long long)plain[i].all,
                      (long long)limited[i].all);
        const int64_t to_see_what_is_due = i >= FINISH ? ROUNDS : 0; /* an end does so by HGET, once */
        assert_int_equal(plain[i].for_keys, to_see_what_is_due);
        assert_int_equal(limited[i].for_keys, to_see_what_is_due);
        assert_int_equal(plain[i].all, limited[i].all);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_job_without_a_key_costs_no_command_for_keys),
    };
    return scene_run(tests, argc, argv);
}
