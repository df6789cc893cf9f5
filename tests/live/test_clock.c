/* SPDX-License-Identifier: MIT
 *
 * The clock of Redis is set back and ahead while workers die and live: who is dead is found as soon as ever, and nobody
 * alive is swept. All ends of lives and leases go by that clock.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(600)
#define HEARTBEAT_MS (TTL_MS / 3)
/* For a machine that is busy with other tests. */
#define SLACK_MS slow_ms(2000)
#define DAY_MS 86400000
#define STEP_MS 3600000

static struct redis_server server;

static int start_server(void **state)
{
    redis_server_start(&server, &(struct redis_server_options){.clock = MUSTER_CLOCK_SHIFT});
    return scene_start(state);
}

static int stop_server(void **state)
{
    redis_server_remove(&server);
    return scene_stop(state);
}

static struct worker_process *holder(struct scene *s, const char *id, const char *queue)
{
    return worker_process_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .stubborn = true, .queues = {{queue, 0}}});
}

/* Just after a death; and when the life has ended, before anybody has seen it. */
enum moment { AFTER_DEATH, BEFORE_SWEEP };

static const struct row {
    int64_t step_ms;
    enum moment moment;
} rows[] = {
    {-600000, AFTER_DEATH}, {-DAY_MS, BEFORE_SWEEP}, {DAY_MS, AFTER_DEATH},
    {-1000, AFTER_DEATH},   {-1000, BEFORE_SWEEP},   {1000, AFTER_DEATH},
    {1000, BEFORE_SWEEP},   {-DAY_MS, AFTER_DEATH},  {DAY_MS, BEFORE_SWEEP},
};

/* Something is due all the time, and a lease ends. */
static void begin_ticks(struct scene *s)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "tick", .every_ms = 1000};
    assert_ok(muster_job_put(s->client, "ticks", &spec, NULL));
}

static void die_and_step(struct scene *s, struct worker_process *doomed, const char *id, const struct row *row)
{
    worker_process_kill(doomed);
    if (row->moment == BEFORE_SWEEP)
        raw_await(server.redis, s->base, 0, "EXISTS %s:alive:%s", s->prefix, id);
    redis_server_step_clock(&server, row->step_ms);
}

/* The heirs hold what they got through all steps that follow. */
static void who_is_dead_is_found_and_nobody_else(void **state)
{
    struct scene *s = *state;
    scene_move(s, &server);
    scene_suspect_nothing(s);
    begin_ticks(s);
    for (size_t i = 0; i < N_OF(rows); i++) {
        char queue[16], id[16], heir[16];
        snprintf(queue, sizeof queue, "q%zu", i);
        snprintf(id, sizeof id, "doomed%zu", i);
        snprintf(heir, sizeof heir, "heir%zu", i);
        struct worker_process *doomed = holder(s, id, queue);
        scene_enqueue(s, queue, "t");
        scene_await_starts(s, 2 * i + 1);
        holder(s, heir, queue);
        die_and_step(s, doomed, id, &rows[i]);
        int64_t began_ms = now_ms();
        scene_await_starts(s, 2 * i + 2);
        int64_t took_ms = now_ms() - began_ms;
        print_message("clock set by %lld ms: its task runs elsewhere after %lld ms\n", (long long)rows[i].step_ms,
                      (long long)took_ms);
        assert_in_range(took_ms, 0, TTL_MS + 2 * HEARTBEAT_MS + SLACK_MS);
    }
    assert_int_equal(scene_starts(s), 2 * N_OF(rows));
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL), N_OF(rows));
}

/* ---- without a worker that would see it ---- */

static int find_words(const struct muster_damage *damage, void *arg)
{
    *(bool *)arg |= strstr(damage->what, "the clock of Redis was set back") != NULL;
    return 0;
}

static bool check_tells(struct scene *s, int repair)
{
    bool tells = false;
    assert_ok(muster_client_check(s->client, repair, find_words, &tells));
    return tells;
}

static int find_advice(const struct muster_advice *advice, void *arg)
{
    bool is_it = strcmp(advice->subject, "clock") == 0 && strstr(advice->what, "was set back");
    *(bool *)arg |= is_it && advice->level == MUSTER_ADVICE_MEND;
    return 0;
}

static bool doctor_tells(struct scene *s)
{
    bool tells = false;
    assert_ok(muster_client_advise(s->client, MUSTER_ROLE_ALL, find_advice, &tells));
    return tells;
}

static bool is_swept(void *arg)
{
    struct scene *s = arg;
    uint64_t n;
    assert_ok(muster_client_sweep(s->client, &n));
    return n == 1;
}

static void leave_a_dead_one(struct scene *s, const char *id)
{
    struct worker_process *doomed = holder(s, id, "q");
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    worker_process_kill(doomed);
    redis_server_step_clock(&server, -STEP_MS);
}

static void find_it(struct scene *s, int repair)
{
    scene_move(s, &server);
    assert_false(check_tells(s, 0) || doctor_tells(s));
    leave_a_dead_one(s, "w");
    assert_true(check_tells(s, 0));
    assert_true(doctor_tells(s));
    int64_t began_ms = now_ms();
    if (repair)
        assert_true(check_tells(s, 1));
    wait_until(is_swept, s, SOON_MS);
    assert_in_range(now_ms() - began_ms, 0, TTL_MS + SLACK_MS);
    assert_false(check_tells(s, 0));
    assert_true(doctor_tells(s)); /* what goes by the clock comes late still */
    redis_server_step_clock(&server, STEP_MS);
    assert_false(doctor_tells(s));
}

static void a_sweep_finds_it_without_workers(void **state)
{
    find_it(*state, 0);
}

static void a_repair_finds_it_without_workers(void **state)
{
    find_it(*state, 1);
}

static bool begins(void *arg)
{
    struct scene *s = arg;
    int err = script_does(s, SCRIPT_START, "w", "another", "600", "1", "host", "1", "test", FORMAT_VERSION, "0", "0");
    assert_true(err == MUSTER_OK || err == MUSTER_E_EXISTS);
    return err == MUSTER_OK;
}

/* The id of a dead worker is free again as soon as ever. */
static void a_new_life_of_the_id_begins(void **state)
{
    struct scene *s = *state;
    scene_move(s, &server);
    leave_a_dead_one(s, "w");
    int64_t began_ms = now_ms();
    assert_false(begins(s));
    wait_until(begins, s, SOON_MS);
    assert_in_range(now_ms() - began_ms, 0, TTL_MS + SLACK_MS);
    redis_server_step_clock(&server, STEP_MS);
}

static bool has_read_back(void *arg)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    muster_worker_stats(((struct live_worker *)arg)->worker, &stats);
    return stats.readbacks > 0;
}

/* Redis lost its data, and another machine stands in for it. Tokens of a server that is no more say nothing of the new
 * one's. With this ttl no heartbeat finds the task. */
static void messages_of_an_empty_redis_with_an_earlier_clock_are_heard(void **state)
{
    struct scene *s = *state;
    scene_move(s, &server);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = STEP_MS, .queues = {{"q", 0}, {"r", 0}}});
    scene_enqueue(s, "q", "before");
    scene_await_starts(s, 1);
    raw_do(server.redis, "CLIENT KILL TYPE pubsub");
    wait_on(s->base, has_read_back, w, SOON_MS);
    assert_ok(muster_worker_leave(w->worker, "r")); /* which has a last token, too */
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    redis_server_kill(&server);
    redis_server_step_clock(&server, -STEP_MS);
    redis_server_restart(&server);
    scene_await_idle(s, "q", "w");
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 2);
    assert_ok(live_worker_serve(w, "r", 0));
    scene_await_idle(s, "r", "w");
    scene_enqueue(s, "r", "again");
    scene_await_starts(s, 3);
    live_worker_stop(s, w, 0);
    redis_server_step_clock(&server, STEP_MS);
}

/* The worker's life goes on there. The server lacks the last tokens, and its clock is behind. */
static void messages_of_an_older_redis_with_an_earlier_clock_are_heard(void **state)
{
    struct scene *s = *state;
    scene_move(s, &server);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = STEP_MS, .queues = {{"q", 0}, {"r", 0}}});
    raw_do(server.redis, "SAVE");
    scene_enqueue(s, "q", "before");
    scene_await_starts(s, 1);
    raw_do(server.redis, "CLIENT KILL TYPE pubsub");
    wait_on(s->base, has_read_back, w, SOON_MS);
    assert_ok(muster_worker_leave(w->worker, "r"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    assert_ok(live_worker_serve(w, "r", 0));
    scene_await_idle(s, "r", "w");
    size_t ups = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UP, "w", NULL);
    redis_server_kill(&server);
    redis_server_step_clock(&server, -STEP_MS);
    redis_server_restart(&server);
    scene_await_events(s, MUSTER_EVENT_UP, "w", ups + 1);
    scene_await_idle(s, "q", "w");
    scene_await_idle(s, "r", "w");
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 2);
    scene_enqueue(s, "r", "again");
    scene_await_starts(s, 3);
    live_worker_stop(s, w, 0);
    redis_server_step_clock(&server, STEP_MS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(who_is_dead_is_found_and_nobody_else),
        live_test(a_sweep_finds_it_without_workers),
        live_test(a_repair_finds_it_without_workers),
        live_test(a_new_life_of_the_id_begins),
        live_test(messages_of_an_empty_redis_with_an_earlier_clock_are_heard),
        live_test(messages_of_an_older_redis_with_an_earlier_clock_are_heard),
    };
    return testing_run(tests, start_server, stop_server, argc, argv);
}
