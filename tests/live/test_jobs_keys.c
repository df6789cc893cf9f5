/* SPDX-License-Identifier: MIT
 *
 * Jobs of a key: at most max_running_per_key of one key run at once, those beyond are held, block nobody, keep their
 * order, and are released by whatever makes room.
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

static void set_limit(struct scene *s, int64_t n)
{
    assert_ok(muster_config_set(s->client, "q", "max_running_per_key", &n));
}

static void put(struct scene *s, const char *id, const char *key, int priority)
{
    job_put(s, "q", JOB_SPEC(.id = id, .key = key, .priority = priority));
}

/* Puts a, b, c, ... up to n of them. */
static void put_letters(struct scene *s, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        put(s, (const char[]){(char)('a' + i), '\0'}, key, 0);
}

static void assert_held(struct scene *s, const char *ids)
{
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_HELD, .n = 100), ids);
    invariant_assert(s->server->redis, s->prefix);
}

static void assert_nothing_to_take(struct scene *s)
{
    struct taken taken = {0};
    assert_err(take_n(s, "q", 1, AN_HOUR, &taken), MUSTER_E_NOT_FOUND);
}

/* ---- what is held, and what is not ---- */

static void at_most_so_many_of_a_key_run_and_the_others_are_held(void **state)
{
    struct scene *s = *state;
    set_limit(s, 2);
    put_letters(s, 4, "k");
    put(s, "x", "other", 0);
    put(s, "y", NULL, 0);
    assert_held(s, "c d ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_HELD), 2);
    assert_int_equal(queue_row_of(s, "q").held, 2);
    assert_int_equal(queue_row_of(s, "q").waiting, 4);
    struct taken taken = {0};
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 4);
    assert_nothing_to_take(s);
    assert_held(s, "c d ");
}

static void what_is_held_comes_by_priority_then_in_the_order_of_coming(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put(s, "late", "k", 5);
    put(s, "a", "k", 0);
    put(s, "b", "k", 0);
    put(s, "first", "k", -1);
    assert_job_state(s, "first", MUSTER_JOB_WAITING); /* it has the place of those that came before it */
    assert_held(s, "a b late ");
    const char *const order[] = {"first", "a", "b", "late"};
    for (int i = 0; i < 4; i++) {
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", order[i]), NULL));
        invariant_assert(s->server->redis, s->prefix);
    }
}

static void a_limit_that_is_new_holds_what_waits_already(void **state)
{
    struct scene *s = *state;
    put_letters(s, 4, "k");
    put(s, "x", "other", 0);
    set_limit(s, 1);
    const char *process = job_take(s, "q", "a");
    job_take(s, "q", "x");
    assert_held(s, "b c d ");
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_held(s, "c d ");
    job_take(s, "q", "b");
}

/* Somebody is to look at what is held, because the limit was raised. Then it is gone. */
static void what_is_held_no_more_need_not_be_looked_at(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 2, "k");
    set_limit(s, 2);
    assert_ok(muster_job_cancel(s->client, N_IDS("b"), 0, NULL, NULL));
    job_take(s, "q", "a");
    assert_nothing_to_take(s);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q unhold", s->prefix), 0);
    checked_assert_clean(s);
}

static void being_held_is_waiting(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 2, "k");
    const struct job_seen before = job_look(s, "b");
    const char *process = job_take(s, "q", "a");
    await_server_ms(s, before.since_ms + 2);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    const struct job_seen after = job_look(s, "b");
    assert_int_equal(after.state, MUSTER_JOB_WAITING);
    assert_int_equal(after.since_ms, before.since_ms);
    assert_string_equal(after.history, before.history);
}

/* ---- several of a key in one call ---- */

/* Once some of them are cancelled, the first of those that are left can be taken, and the others are held. */
static void assert_cancelled_together(struct scene *s, const char *const *ids, size_t n, int dependents, bool runs)
{
    set_limit(s, 1);
    put_letters(s, 5, "k");
    job_put(s, "q", JOB_SPEC(.id = "x", .key = "k", .after = IDS("c"), .n_after = 1));
    if (runs)
        job_take(s, "q", "a");
    assert_ok(muster_job_cancel(s->client, ids, n, dependents, NULL, NULL));
    assert_held(s, "e ");
    checked_assert_clean(s);
    job_take(s, "q", "d");
}

static void several_are_cancelled_in_one_call(void **state)
{
    assert_cancelled_together(*state, N_IDS("a", "b", "c", "x"), 0, false);
}

static void several_are_cancelled_in_one_call_in_any_order(void **state)
{
    assert_cancelled_together(*state, N_IDS("c", "x", "a", "b"), 0, false);
}

static void several_are_cancelled_while_one_runs(void **state)
{
    assert_cancelled_together(*state, N_IDS("a", "b", "c", "x"), 0, true);
}

static void several_are_cancelled_with_all_that_wait(void **state)
{
    assert_cancelled_together(*state, N_IDS("a", "b", "c"), 1, false);
}

static void put_two(struct scene *s, const struct muster_job_spec *one, const struct muster_job_spec *other)
{
    const struct muster_job_spec *const specs[] = {one, other};
    assert_ok(muster_job_put_many(s->client, "q", specs, 2, NULL, NULL));
    invariant_assert(s->server->redis, s->prefix);
    checked_assert_clean(s);
}

static void a_put_of_many_takes_the_place_of_one_that_it_replaces(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put(s, "r", "k", 0);
    put_two(s, JOB_SPEC(.id = "b", .key = "k", .priority = -5),
            JOB_SPEC(.id = "r", .data = BYTES("new"), .replace = 1));
    assert_held(s, "r ");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "b"), NULL));
    job_take(s, "q", "r");
}

static void a_put_of_many_replaces_several(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 3, "k");
    put_two(s, JOB_SPEC(.id = "a", .replace = 1, .delay_ms = HOUR),
            JOB_SPEC(.id = "b", .replace = 1, .data = BYTES("new")));
    assert_held(s, "c "); /* the other one keeps its place */
    assert_string_equal(job_look(s, "b").data, "new");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "b"), NULL));
    job_take(s, "q", "c");
}

/* ---- what releases ---- */

/* "a" runs, "b" is held: after `end` of a's process "b" can be taken, or the job that is named. */
static void assert_end_releases(struct scene *s, void (*end)(struct scene *s, const char *process), const char *next)
{
    set_limit(s, 1);
    put_letters(s, 2, "k");
    const char *process = job_take(s, "q", "a");
    assert_held(s, "b ");
    end(s, process);
    invariant_assert(s->server->redis, s->prefix);
    job_take(s, "q", next);
    invariant_assert(s->server->redis, s->prefix);
}

static void end_fail(struct scene *s, const char *process)
{
    assert_ok(muster_lease_fail(s->client, process, "g", "m"));
}

static void end_retry(struct scene *s, const char *process)
{
    assert_ok(muster_lease_retry(s->client, process, 0));
}

static void end_retry_later(struct scene *s, const char *process)
{
    assert_ok(muster_lease_retry(s->client, process, HOUR));
}

static void end_back(struct scene *s, const char *process)
{
    assert_ok(muster_lease_give_back(s->client, process));
}

static void end_cancel(struct scene *s, const char *process)
{
    assert_ok(muster_job_cancel(s->client, IDS("a"), 1, 0, NULL, NULL));
    (void)!muster_lease_give_back(s->client, process);
}

static void end_replace(struct scene *s, const char *process)
{
    (void)process;
    job_put(s, "elsewhere", JOB_SPEC(.id = "a", .replace = 1));
}

static void a_failure_releases(void **state)
{
    assert_end_releases(*state, end_fail, "b");
}

static void a_retry_releases_and_comes_behind(void **state)
{
    assert_end_releases(*state, end_retry, "b");
}

static void a_retry_with_a_delay_releases(void **state)
{
    assert_end_releases(*state, end_retry_later, "b");
}

static void what_is_given_back_comes_before_what_is_held(void **state)
{
    assert_end_releases(*state, end_back, "a");
}

static void a_cancel_releases(void **state)
{
    assert_end_releases(*state, end_cancel, "b");
}

static void a_replacement_in_another_queue_releases(void **state)
{
    assert_end_releases(*state, end_replace, "b");
}

static void a_waiting_job_that_leaves_releases(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 4, "k");
    assert_held(s, "b c d ");
    assert_ok(muster_job_cancel(s->client, IDS("a"), 1, 0, NULL, NULL));
    assert_held(s, "c d ");
    assert_ok(muster_job_change(s->client, "b", JOB_CHANGE(.queue = "elsewhere")));
    assert_held(s, "d ");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.delay_ms = HOUR)));
    assert_held(s, "");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_held(s, "c ");
}

static void what_is_held_can_be_cancelled_moved_and_put_again(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 5, "k");
    assert_ok(muster_job_cancel(s->client, IDS("b"), 1, 0, NULL, NULL));
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.queue = "elsewhere")));
    assert_job_state(s, "c", MUSTER_JOB_WAITING);
    job_put(s, "q", JOB_SPEC(.id = "d", .replace = 1, .priority = -3));
    assert_job_state(s, "d", MUSTER_JOB_WAITING);
    assert_held(s, "a e ");
    uint64_t removed;
    assert_ok(muster_queue_delete(s->client, "q", &removed, NULL));
    assert_int_equal(removed, 3);
    invariant_assert(s->server->redis, s->prefix);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:held:q %s:keyed:q", s->prefix, s->prefix), 0);
}

static void a_job_changes_its_key(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put_letters(s, 4, "k");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.key = "l")));
    assert_held(s, "b d ");
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.key = "l")));
    assert_job_state(s, "a", MUSTER_JOB_WAITING); /* it came before c */
    assert_held(s, "c d ");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.key = "")));
    assert_held(s, "d ");
    assert_ok(muster_job_change(s->client, "d", JOB_CHANGE(.priority = -1)));
    assert_held(s, "b ");
    job_take(s, "q", "d");
    assert_err(muster_job_change(s->client, "d", JOB_CHANGE(.key = "m")), MUSTER_E_STATE);
    assert_held(s, "b ");
}

/* A worker whose heartbeat would come in an hour is told of what is released. */
static void idle_workers_get_what_is_released(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){.id = "w", .ttl_ms = 3 * HOUR, .hands = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    put_letters(s, 4, "k");
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 2);
    set_limit(s, 3);
    scene_await_starts(s, 4);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_recurring_job_gives_its_key_to_those_that_it_makes(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    put(s, "a", "k", 0);
    job_put(s, "q", JOB_SPEC(.id = "r", .key = "k", .every_ms = HOUR));
    raw_await(s->server->redis, s->base, 0, "HEXISTS %s:job:r-1 nothing", s->prefix);
    struct taken taken = {0};
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 1);
    assert_held(s, "r-1 ");
}

static void a_key_is_checked(void **state)
{
    struct scene *s = *state;
    char longest[MUSTER_JOB_KEY_MAX + 2];
    memset(longest, 'k', sizeof longest);
    longest[MUSTER_JOB_KEY_MAX + 1] = '\0';
    job_not_put(s, "q", JOB_SPEC(.key = ""), MUSTER_E_INVALID, "key");
    job_not_put(s, "q", JOB_SPEC(.key = "a\nb"), MUSTER_E_INVALID, "key");
    job_not_put(s, "q", JOB_SPEC(.key = longest), MUSTER_E_INVALID, "key");
    longest[MUSTER_JOB_KEY_MAX] = '\0';
    set_limit(s, 1);
    put(s, "a", longest, 0);
    put(s, "b", longest, 0);
    assert_held(s, "b ");
    assert_err(muster_job_change(s->client, "b", JOB_CHANGE(.key = "a\nb")), MUSTER_E_INVALID);
}

/* ---- in steps ---- */

#define MANY 1500

static void put_many(struct scene *s)
{
    raw_do(s->server->redis, "HSET %s:queue:q max_running_per_key 0", s->prefix);
    for (int i = 0; i < MANY; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%04d", i);
        put(s, id, "k", 0);
    }
}

/* One that came later is not blocked by many before it that are held in steps; they are released in steps, too. */
static void many_are_held_and_released_in_steps(void **state)
{
    struct scene *s = *state;
    struct taken taken = {0};
    put_many(s);
    put(s, "x", "other", 0);
    set_limit(s, 1);
    job_take(s, "q", "j0000");
    job_take(s, "q", "x");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_HELD), MANY - 1);
    invariant_assert(s->server->redis, s->prefix);
    set_limit(s, 0);
    for (int i = 0; job_count(s, "q", MUSTER_JOB_HELD) > 0; i++) {
        assert_in_range(i, 0, 9);
        assert_ok(muster_client_sweep(s->client, NULL));
        (void)!take_n(s, "q", 0, AN_HOUR, &taken);
        (void)!take_n(s, "q", 1, AN_HOUR, &taken);
        invariant_assert(s->server->redis, s->prefix);
    }
}

/* ---- among kills ---- */

#define KEYS 5
#define PER_KEY 2
#define JOBS 400
#define PLACES 3
#define KILL_EVERY_MS 400

/* A handler takes its time, so that workers are killed with jobs in their hands. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    usleep(4000);
    return live_worker_handle(p, arg);
}

static void start(struct scene *s, struct worker_process **place, int life)
{
    char id[16];
    snprintf(id, sizeof id, "w%d", life);
    *place = worker_process_start(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = 600, .hands = 4, .answer = MUSTER_FINISH, .handler = work, .queues = {{"q", 0}}});
}

/* The most jobs of a key that run now, by their records: none is read between two scripts. */
static int most_of_a_key(struct scene *s)
{
    static const char script[] = "local most, of = 0, {}\n"
                                 "for i = 0, tonumber(ARGV[1]) - 1 do\n"
                                 "  local job = redis.call('HMGET', KEYS[1] .. ':job:j' .. i, 'state', 'key')\n"
                                 "  if job[1] == 'running' then\n"
                                 "    of[job[2]] = (of[job[2]] or 0) + 1\n"
                                 "    most = math.max(most, of[job[2]])\n"
                                 "  end\n"
                                 "end\n"
                                 "return most\n";
    char jobs[16];
    snprintf(jobs, sizeof jobs, "%d", JOBS);
    return (int)raw_int(s->server->redis, "EVAL %s 1 %s %s", script, s->prefix, jobs);
}

/* Every snapshot has at most so many; and all of them are complete in the end, so none has starved. */
static void at_most_so_many_run_at_every_snapshot_under_kills_and_none_starves(void **state)
{
    struct scene *s = *state;
    struct worker_process *places[PLACES];
    int life = 0, snapshots = 0, most = 0;
    scene_suspect_nothing(s);
    set_limit(s, PER_KEY);
    for (int i = 0; i < JOBS; i++) {
        char id[16], key[16];
        snprintf(id, sizeof id, "j%d", i);
        snprintf(key, sizeof key, "k%d", i < JOBS / 2 ? 0 : i % KEYS); /* one has more than half of them */
        put(s, id, key, i % 3 - 1);
    }
    for (int i = 0; i < PLACES; i++)
        start(s, &places[i], life++);
    for (int i = 0; job_count(s, "q", MUSTER_JOB_COMPLETE) < JOBS; i++) {
        for (int k = 0; k < KILL_EVERY_MS / 20; k++) {
            run_loop(s->base, 20);
            const int n = most_of_a_key(s);
            assert_in_range(n, 0, PER_KEY);
            most = n > most ? n : most;
            snapshots++;
        }
        if (i % 3 == 0)
            invariant_assert(s->server->redis, s->prefix);
        worker_process_kill(places[i % PLACES]);
        start(s, &places[i % PLACES], life++);
    }
    print_message("    %d snapshots, %d lives, at most %d of a key\n", snapshots, life, most);
    assert_int_equal(most, PER_KEY);
    assert_held(s, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(at_most_so_many_of_a_key_run_and_the_others_are_held),
        live_test(what_is_held_comes_by_priority_then_in_the_order_of_coming),
        live_test(a_limit_that_is_new_holds_what_waits_already),
        live_test(what_is_held_no_more_need_not_be_looked_at),
        live_test(being_held_is_waiting),
        live_test(several_are_cancelled_in_one_call),
        live_test(several_are_cancelled_in_one_call_in_any_order),
        live_test(several_are_cancelled_while_one_runs),
        live_test(several_are_cancelled_with_all_that_wait),
        live_test(a_put_of_many_takes_the_place_of_one_that_it_replaces),
        live_test(a_put_of_many_replaces_several),
        live_test(a_failure_releases),
        live_test(a_retry_releases_and_comes_behind),
        live_test(a_retry_with_a_delay_releases),
        live_test(what_is_given_back_comes_before_what_is_held),
        live_test(a_cancel_releases),
        live_test(a_replacement_in_another_queue_releases),
        live_test(a_waiting_job_that_leaves_releases),
        live_test(what_is_held_can_be_cancelled_moved_and_put_again),
        live_test(a_job_changes_its_key),
        live_test(idle_workers_get_what_is_released),
        live_test(a_recurring_job_gives_its_key_to_those_that_it_makes),
        live_test(a_key_is_checked),
        live_test(many_are_held_and_released_in_steps),
        live_test(at_most_so_many_run_at_every_snapshot_under_kills_and_none_starves),
    };
    return scene_run(tests, argc, argv);
}
