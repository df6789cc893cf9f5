/* SPDX-License-Identifier: MIT
 *
 * A fair queue (setting `fair`): within a priority the keys of its jobs take turns, jobs without a key are one key, the
 * order within a key stays, and no key waits for ever. The data of each job is its id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked.h"
#include "invariant.h"
#include "job_look.h"
#include "live_worker.h"
#include "taken.h"
#include "worker_process.h"

#define HOUR 3600000
#define AN_HOUR 3600000

static void set(struct scene *s, const char *name, int64_t n)
{
    assert_ok(muster_config_set(s->client, "q", name, &n));
}

static void put(struct scene *s, const char *id, const char *key, int priority)
{
    job_put(s, "q", JOB_SPEC(.id = id, .key = key, .priority = priority, .data = {id, strlen(id)}));
}

/* Puts the jobs of this list, whose keys are their letters. "-" has none. */
static void put_all(struct scene *s, const char *ids)
{
    char id[16];
    for (int n; sscanf(ids, "%15s%n", id, &n) == 1; ids += n)
        put(s, id, *id == '-' ? NULL : (const char[]){*id, '\0'}, 0);
}

static void assert_line(struct scene *s, const char *ids)
{
    invariant_assert(s->server->redis, s->prefix);
    assert_queue_holds(s, "q", ids);
}

static void assert_clean_line(struct scene *s, const char *ids)
{
    assert_line(s, ids);
    checked_assert_clean(s);
}

static void take_all(struct scene *s, const char *ids)
{
    char id[16];
    for (int n; sscanf(ids, "%15s%n", id, &n) == 1; ids += n)
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", id), NULL));
    assert_clean_line(s, "");
}

/* ---- turns ---- */

static void keys_take_turns_and_those_without_are_one_key(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 a4 b1 b2 c1 -1 -2");
    assert_clean_line(s, "a1 a2 b1 c1 -1 a3 b2 -2 a4 ");
    take_all(s, "a1 a2 b1 c1 -1 a3 b2 -2 a4");
    put_all(s, "a5 a6 b3");
    assert_clean_line(s, "a5 a6 b3 ");
}

static void without_the_setting_the_first_come_first(void **state)
{
    struct scene *s = *state;
    put_all(s, "a1 a2 a3 b1 c1 -1");
    assert_line(s, "a1 a2 a3 b1 c1 -1 ");
}

static void priorities_come_first_and_each_has_turns_of_its_own(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put(s, "a1", "a", 1);
    put(s, "a2", "a", 1);
    put(s, "a3", "a", 1);
    put(s, "b1", "b", 1);
    put(s, "a0", "a", 0);
    put(s, "b2", "b", -2);
    put(s, "b3", "b", -2);
    put(s, "c1", "c", -2);
    take_all(s, "b2 b3 c1 a0 a1 a2 b1 a3");
}

/* How many are taken until all jobs of a letter are. */
static int takes_until(struct scene *s, char letter, int n)
{
    for (int takes = 1;; takes++) {
        struct taken taken = {0};
        assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
        n -= taken.rows[0].task[0] == letter;
        assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
        if (n == 0)
            return takes;
    }
}

static void put_n(struct scene *s, char letter, int n, const char *from)
{
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%c%s%d", letter, from, i);
        put(s, id, (const char[]){letter, '\0'}, 0);
    }
}

static void who_has_many_delays_nobody(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_n(s, 'a', 1000, "");
    put_n(s, 'b', 10, "");
    put_n(s, 'c', 10, "");
    assert_in_range(takes_until(s, 'c', 10), 30, 32);
    takes_until(s, 'a', 500);
    put_n(s, 'd', 10, "");
    assert_in_range(takes_until(s, 'd', 10), 20, 22);
    invariant_assert(s->server->redis, s->prefix);
    checked_assert_clean(s);
}

/* Two keys always have one job waiting, put as soon as the one before is taken. */
static void who_comes_again_and_again_delays_nobody(void **state)
{
    struct scene *s = *state;
    int n_c = 5, takes = 0;
    set(s, "fair", 1);
    put_n(s, 'c', n_c, "");
    put_all(s, "a b");
    for (; n_c > 0; takes++) {
        char id[16];
        struct taken taken = {0};
        assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
        assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
        n_c -= taken.rows[0].task[0] == 'c';
        snprintf(id, sizeof id, "%c%d-", taken.rows[0].task[0], takes);
        if (*id != 'c')
            put(s, id, (const char[]){*id, '\0'}, 0);
        assert_in_range(takes, 0, 15);
    }
}

/* ---- what comes back, and what changes ---- */

static void what_comes_back_is_first_and_keeps_the_order_of_its_key(void **state)
{
    struct scene *s = *state;
    struct taken taken = {0};
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 b1 b2 c1");
    assert_ok(take_n(s, "q", 3, AN_HOUR, &taken));
    assert_clean_line(s, "c1 a3 b2 ");
    assert_ok(muster_lease_give_back(s->client, taken.rows[0].id));
    assert_clean_line(s, "a1 c1 a3 b2 ");
    assert_ok(muster_lease_give_back(s->client, taken.rows[2].id));
    assert_ok(muster_lease_give_back(s->client, taken.rows[1].id));
    assert_clean_line(s, "a1 a2 b1 c1 a3 b2 ");
}

static void a_retry_waits_for_a_turn(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 b1 b2 c1");
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a1"), 0));
    assert_clean_line(s, "a2 b1 c1 b2 a1 ");
}

static void what_becomes_due_waits_for_a_turn(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 b1");
    job_put(s, "q", JOB_SPEC(.id = "a4", .key = "a", .delay_ms = HOUR, .data = BYTES("a4")));
    job_put(s, "q", JOB_SPEC(.id = "b2", .key = "b", .delay_ms = HOUR, .data = BYTES("b2")));
    assert_ok(muster_job_change(s->client, "b2", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_ok(muster_job_change(s->client, "a4", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_clean_line(s, "a1 a2 b1 a3 b2 a4 ");
}

static void what_is_let_go_waits_for_a_turn(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1");
    job_put(s, "q", JOB_SPEC(.id = "b1", .key = "b", .after = IDS("a1"), .n_after = 1, .data = BYTES("b1")));
    put_all(s, "a2 a3 a4 c1");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a1"), NULL));
    assert_clean_line(s, "a2 c1 a3 b1 a4 ");
}

static void a_job_gets_another_key_or_priority(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 a4 b1 b2");
    assert_clean_line(s, "a1 a2 b1 a3 b2 a4 ");
    assert_ok(muster_job_change(s->client, "a3", JOB_CHANGE(.key = "c")));
    assert_clean_line(s, "a1 a2 a3 b1 b2 a4 ");
    assert_ok(muster_job_change(s->client, "a2", JOB_CHANGE(.key = "b"))); /* it came before b1 */
    assert_clean_line(s, "a1 a2 a3 b1 b2 a4 ");
    assert_ok(muster_job_change(s->client, "b2", JOB_CHANGE(.key = "")));
    assert_clean_line(s, "a1 a2 a3 b1 b2 a4 ");
    assert_ok(muster_job_change(s->client, "a4", JOB_CHANGE(.priority = -1)));
    assert_ok(muster_job_change(s->client, "a1", JOB_CHANGE(.priority = -1)));
    assert_clean_line(s, "a1 a4 a2 a3 b1 b2 ");
}

/* Else whoever says the same again and again would keep a job from ever being the next one. */
static void a_job_that_gets_what_it_has_keeps_its_turn(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 b1 c1 -1");
    put(s, "d1", "d", 3);
    put(s, "e1", "e", 3);
    const char line[] = "a1 b1 c1 -1 d1 e1 ";
    for (int i = 0; i < 2; i++) {
        assert_ok(muster_job_change(s->client, "a1", JOB_CHANGE(.key = "a")));
        assert_clean_line(s, line);
        assert_ok(muster_job_change(s->client, "a1", JOB_CHANGE(.priority = MUSTER_ZERO)));
        assert_clean_line(s, line);
        assert_ok(muster_job_change(s->client, "d1", JOB_CHANGE(.priority = 3, .key = "d")));
        assert_clean_line(s, line);
        job_put(s, "q", JOB_SPEC(.id = "a1", .key = "a", .priority = MUSTER_ZERO, .replace = 1));
        assert_clean_line(s, line);
    }
}

static void a_job_is_moved_replaced_and_cancelled(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 b1 b2 -1 -2");
    assert_ok(muster_job_change(s->client, "a1", JOB_CHANGE(.queue = "elsewhere")));
    assert_ok(muster_job_cancel(s->client, N_IDS("b1", "-1"), 0, NULL, NULL));
    job_put(s, "q", JOB_SPEC(.id = "a2", .key = "c", .replace = 1, .data = BYTES("a2")));
    assert_clean_line(s, "a3 b2 -2 a2 ");
    assert_queue_holds(s, "elsewhere", "a1 ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING, .n = 100), "a3 b2 -2 a2 ");
    uint64_t removed;
    assert_ok(muster_queue_delete(s->client, "q", &removed, NULL));
    assert_int_equal(removed, 4);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:waiting:q %s:keyed:q", s->prefix, s->prefix), 0);
}

static void many_that_are_put_in_one_call_take_turns(void **state)
{
    struct scene *s = *state;
    const struct muster_job_spec *const specs[] = {
        JOB_SPEC(.id = "a1", .key = "a", .data = BYTES("a1")),
        JOB_SPEC(.id = "a2", .key = "a", .data = BYTES("a2")),
        JOB_SPEC(.id = "a3", .key = "a", .data = BYTES("a3")),
        JOB_SPEC(.id = "x1", .data = BYTES("x1")),
        JOB_SPEC(.id = "x2", .data = BYTES("x2")),
        JOB_SPEC(.id = "b1", .key = "b", .data = BYTES("b1")),
    };
    set(s, "fair", 1);
    assert_ok(muster_job_put_many(s->client, "q", specs, sizeof specs / sizeof *specs, NULL, NULL));
    assert_clean_line(s, "a1 a2 x1 b1 a3 x2 ");
}

/* A key that may run one at a time takes its turn when it comes to wait, not before. */
static void what_is_held_takes_no_turn(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    set(s, "max_running_per_key", 1);
    put_all(s, "a1 a2 a3 b1 c1");
    assert_clean_line(s, "a1 b1 c1 ");
    const char *process = job_take(s, "q", "a1");
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_clean_line(s, "b1 c1 a2 ");
    process = job_take(s, "q", "b1");
    assert_ok(muster_lease_give_back(s->client, process));
    take_all(s, "b1 c1 a2 a3");
    put_all(s, "a4 a5");
    assert_ok(muster_job_change(s->client, "a4", JOB_CHANGE(.key = "")));
    assert_clean_line(s, "a4 a5 "); /* its key has room now */
}

static void tasks_and_jobs_take_turns_as_ever(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    scene_enqueue(s, "q", "t1");
    scene_enqueue(s, "q", "t2");
    put_all(s, "a1 a2 a3 b1");
    struct taken taken = {0};
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 6);
    char jobs[32] = "";
    for (size_t i = 0; i < taken.n; i++)
        if (taken.rows[i].task[0] != 't')
            strcat(strcat(jobs, taken.rows[i].task), " ");
    assert_string_equal(jobs, "a1 a2 b1 a3 ");
}

/* ---- on and off ---- */

static void await_rounds(struct scene *s)
{
    struct taken taken = {0};
    for (int i = 0; raw_int(s->server->redis, "HEXISTS %s:queue:q unfair", s->prefix) == 1; i++) {
        assert_in_range(i, 0, 40);
        (void)!take_n(s, "q", 0, AN_HOUR, &taken);
        assert_ok(muster_client_sweep(s->client, NULL));
    }
}

static void what_waits_already_gets_turns_too(void **state)
{
    struct scene *s = *state;
    put_all(s, "a1 a2 a3 -1 -2 b1");
    put(s, "c1", "c", -1);
    set(s, "fair", 1);
    put_all(s, "d1");
    await_rounds(s);
    assert_clean_line(s, "c1 a1 a2 -1 b1 d1 a3 -2 ");
    put_all(s, "d2 e1");
    assert_clean_line(s, "c1 a1 a2 -1 b1 d1 e1 a3 -2 d2 ");
}

static void a_priority_that_is_none_holds_up_nobody(void **state)
{
    struct scene *s = *state;
    static const char *const none[] = {"nan", "-nan", "(nan", "5 ", "(", "", "x", "1e999x"};
    set(s, "fair", 1);
    put_all(s, "a1 a2");
    for (size_t i = 0; i < N_OF(none); i++) {
        raw_do(s->server->redis, "HSET %s:queue:q unfair %s due 1", s->prefix, none[i]);
        await_rounds(s);
    }
    take_all(s, "a1 a2");
}

static void once_it_is_off_what_comes_is_last(void **state)
{
    struct scene *s = *state;
    set(s, "fair", 1);
    put_all(s, "a1 a2 a3 b1");
    const char *process = job_take(s, "q", "a1");
    set(s, "fair", 0);
    put_all(s, "c1 a4 b2");
    assert_clean_line(s, "a2 b1 a3 c1 a4 b2 ");
    assert_ok(muster_lease_give_back(s->client, process));
    assert_clean_line(s, "a1 a2 b1 a3 c1 a4 b2 ");
    set(s, "fair", 1);
    put_all(s, "d1");
    await_rounds(s);
    assert_clean_line(s, "a1 a2 b1 a3 c1 b2 d1 a4 ");
    assert_ok(muster_config_set(s->client, "q", "fair", NULL));
    put_all(s, "e1 e2");
    take_all(s, "a1 a2 b1 a3 c1 b2 d1 a4 e1 e2");
}

#define MANY 1500

static void many_get_turns_in_steps_and_none_is_lost(void **state)
{
    struct scene *s = *state;
    put_n(s, 'a', MANY, "");
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "p%d", i);
        put(s, id, NULL, i + 1);
    }
    put_n(s, 'b', 10, "");
    set(s, "fair", 1);
    await_rounds(s);
    put_n(s, 'c', 10, "");
    assert_in_range(takes_until(s, 'c', 10), 29, 33);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_WAITING) + job_count(s, "q", MUSTER_JOB_COMPLETE), MANY + 60);
    invariant_assert(s->server->redis, s->prefix);
    checked_assert_clean(s);
}

/* The record of one says something else. It goes where people see it, and the others get their turns. */
static void a_damaged_record_holds_up_nobody(void **state)
{
    struct scene *s = *state;
    put_all(s, "a1 a2 b1");
    raw_do(s->server->redis, "DEL %s:job:a2", s->prefix);
    set(s, "fair", 1);
    await_rounds(s);
    assert_queue_holds(s, "q", "a1 b1 ");
}

/* ---- with workers ---- */

#define JOBS 600
#define SMALL 10
#define PLACES 3

/* A handler takes its time, so that workers are killed with jobs in their hands. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    usleep(3000);
    return live_worker_handle(p, arg);
}

static void start(struct scene *s, struct worker_process **place, int life)
{
    char id[16];
    snprintf(id, sizeof id, "w%d", life);
    *place = worker_process_start(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = 600, .hands = 2, .answer = MUSTER_FINISH, .handler = work, .queues = {{"q", 0}}});
}

/* How many jobs of a letter are complete. */
static int complete_of(struct scene *s, char letter)
{
    static const char script[] = "local n = 0\n"
                                 "for _, member in ipairs(redis.call('ZRANGE', KEYS[1] .. ':complete:q', 0, -1)) do\n"
                                 "  if string.sub(member, 12, 12) == ARGV[1] then n = n + 1 end\n"
                                 "end\n"
                                 "return n\n";
    return (int)raw_int(s->server->redis, "EVAL %s 1 %s %s", script, s->prefix, (const char[]){letter, '\0'});
}

static void a_small_key_is_done_long_before_a_large_one_under_kills(void **state)
{
    struct scene *s = *state;
    struct worker_process *places[PLACES];
    int life = 0, small = 0;
    scene_suspect_nothing(s);
    set(s, "fair", 1);
    put_n(s, 'a', JOBS, "");
    put_n(s, 'b', SMALL, "");
    put_n(s, 'c', SMALL, "");
    for (int i = 0; i < PLACES; i++)
        start(s, &places[i], life++);
    for (int i = 0; job_count(s, "q", MUSTER_JOB_COMPLETE) < JOBS + 2 * SMALL; i++) {
        run_loop(s->base, 150);
        invariant_assert(s->server->redis, s->prefix);
        if (small < 2 * SMALL)
            small = complete_of(s, 'b') + complete_of(s, 'c');
        if (small < 2 * SMALL)
            assert_in_range(complete_of(s, 'a'), 0, JOBS / 2);
        worker_process_kill(places[i % PLACES]);
        start(s, &places[i % PLACES], life++);
    }
    print_message("    %d lives\n", life);
    assert_int_equal(small, 2 * SMALL);
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(keys_take_turns_and_those_without_are_one_key),
        live_test(without_the_setting_the_first_come_first),
        live_test(priorities_come_first_and_each_has_turns_of_its_own),
        live_test(who_has_many_delays_nobody),
        live_test(who_comes_again_and_again_delays_nobody),
        live_test(what_comes_back_is_first_and_keeps_the_order_of_its_key),
        live_test(a_retry_waits_for_a_turn),
        live_test(what_becomes_due_waits_for_a_turn),
        live_test(what_is_let_go_waits_for_a_turn),
        live_test(a_job_gets_another_key_or_priority),
        live_test(a_job_that_gets_what_it_has_keeps_its_turn),
        live_test(a_job_is_moved_replaced_and_cancelled),
        live_test(many_that_are_put_in_one_call_take_turns),
        live_test(what_is_held_takes_no_turn),
        live_test(tasks_and_jobs_take_turns_as_ever),
        live_test(what_waits_already_gets_turns_too),
        live_test(a_priority_that_is_none_holds_up_nobody),
        live_test(once_it_is_off_what_comes_is_last),
        live_test(many_get_turns_in_steps_and_none_is_lost),
        live_test(a_damaged_record_holds_up_nobody),
        live_test(a_small_key_is_done_long_before_a_large_one_under_kills),
    };
    return scene_run(tests, argc, argv);
}
