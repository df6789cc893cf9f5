/* SPDX-License-Identifier: MIT
 *
 * Corner cases in which several scripts meet: which keys are left, and which worker is known as idle. A task that
 * cannot be held, queues that only a bare LPUSH made, crash counts of a queue that is gone, what is reported after the
 * last event, and whether a refused enqueue has enqueued.
 */
#include <stdlib.h>

#include "live_worker.h"
#include "script_call.h"

/* No rule allows work to wait beside an idle worker. */
static void a_worker_that_cannot_hold_a_task_is_not_idle(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2};
    acting_start(&w, s);
    scene_enqueue(s, "q", "t");
    raw_do(s->server->redis, "SADD %s:processing:w:q damaged", s->prefix);
    acting_take(&w);
    assert_waiting(s, "q", "t ");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix), 0);
    raw_do(s->server->redis, "DEL %s:processing:w:q", s->prefix);
    acting_take(&w);
    assert_waiting(s, "q", "");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix), 1);
}

static void assert_noted(struct scene *s, const char *queue)
{
    assert_int_equal(raw_int(s->server->redis, "EVAL %s 1 %s:names %s",
                             "return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0", s->prefix, queue),
                     1);
}

static void a_cancel_leaves_nothing_that_nobody_tidies_up(void **state)
{
    struct scene *s = *state;
    char key[64];
    snprintf(key, sizeof key, "%s:queues:bare", s->prefix);
    raw_push(s->server->redis, key, "t", 1);
    assert_ok(muster_task_cancel(s->client, "bare", "t", 1, NULL, NULL));
    assert_int_equal(queue_field(s, "bare", "cancelled"), 1);
    assert_noted(s, "bare");
    uint64_t workers;
    assert_ok(muster_client_sweep(s->client, &workers));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:queue:bare", s->prefix), 0);
}

static void a_queue_that_a_bare_push_has_made_is_known_once_it_is_used(void **state)
{
    struct scene *s = *state;
    char key[64];
    snprintf(key, sizeof key, "%s:queues:bare", s->prefix);
    raw_push(s->server->redis, key, "first", 5);
    scene_enqueue(s, "bare", "second");
    assert_noted(s, "bare");
}

static void a_queue_is_not_over_while_its_crashes_count(void **state)
{
    struct scene *s = *state;
    struct acting_worker victim = {.id = "victim", .queues = {"q"}, .hands = 1};
    struct acting_worker other = {.id = "other", .queues = {"served"}, .hands = 1};
    char token[12];
    scene_enqueue(s, "q", "t");
    acting_start(&victim, s);
    acting_take(&victim);
    acting_die(&victim);
    raw_do(s->server->redis, "DEL %s:beat", s->prefix);
    assert_ok(script_does(s, SCRIPT_SWEEP, "victim", "0"));
    assert_ok(muster_task_cancel(s->client, "q", "t", 1, NULL, NULL));
    acting_start(&other, s);
    for (int i = 0; i < 4; i++)
        assert_ok(acting_heartbeat(&other));
    scene_enqueue(s, "q", "t");
    struct acting_worker finisher = {.id = "finisher", .queues = {"q"}, .hands = 1};
    acting_start(&finisher, s);
    acting_take(&finisher);
    token_of_task(s, "finisher", "q", "t", token);
    acting_say(&finisher, "finish", "q", "1", token);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

/* worker.h: STOPPED is the last event. */
static void nothing_is_told_after_the_last_event(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    live_worker_stop(s, w, 0);
    size_t at = journal_size(s->journal);
    live_worker_end(w, MUSTER_FINISH);
    assert_null(journal_find(s->journal, at, JOURNAL_EVENT, -1, "w", NULL));
    live_worker_free(s, w);
}

/* ---- what an error of an enqueue says, also where the task went by a plain push ---- */

static void assert_told_as_it_is(struct scene *s, int err, int64_t before)
{
    int64_t waiting = scene_waiting(s, "q");
    assert_int_equal(waiting, err == MUSTER_OK ? before + 1 : before);
}

static void an_enqueue_with_damaged_settings_says_what_is_true(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "first");
    raw_do(s->server->redis, "DEL %s:queue:q", s->prefix);
    raw_do(s->server->redis, "SADD %s:queue:q damaged", s->prefix);
    assert_told_as_it_is(s, muster_task_enqueue(s->client, "q", "second", 6, NULL), 1);
}

static void an_enqueue_with_a_damaged_idle_set_says_what_is_true(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "first");
    raw_do(s->server->redis, "SET %s:idle:q damaged", s->prefix);
    assert_told_as_it_is(s, muster_task_enqueue(s->client, "q", "second", 6, NULL), 1);
}

static void an_enqueue_with_damaged_names_says_what_is_true(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "first");
    raw_do(s->server->redis, "HDEL %s:queue:q named", s->prefix);
    raw_do(s->server->redis, "DEL %s:names", s->prefix);
    raw_do(s->server->redis, "SET %s:names damaged", s->prefix);
    assert_told_as_it_is(s, muster_task_enqueue(s->client, "q", "second", 6, NULL), 1);
}

static void an_enqueue_without_the_right_to_hand_over_says_what_is_true(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "first");
    raw_do(s->server->redis, "HSET %s:queue:q broadcast 1", s->prefix);
    raw_do(s->server->redis, "ACL SETUSER default -evalsha -eval");
    int err = muster_task_enqueue(s->client, "q", "second", 6, NULL);
    raw_do(s->server->redis, "ACL SETUSER default +evalsha +eval");
    assert_told_as_it_is(s, err, 1);
}

static int keep_id(const struct muster_process_info *process, void *arg)
{
    snprintf(arg, 512, "%s", process->id);
    return 1;
}

/* Without any worker there is no heartbeat that would. */
static void a_sweep_tidies_up_what_leases_leave(void **state)
{
    struct scene *s = *state;
    char id[512];
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_take(s->client, "q", 1, 3600000, 0, keep_id, id));
    assert_ok(muster_client_sweep(s->client, NULL));
    assert_noted(s, "q");
    assert_ok(muster_lease_finish(s->client, id, NULL));
    assert_ok(muster_client_sweep(s->client, NULL));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:names", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:queue:q", s->prefix), 0);
}

static void heartbeats_go_on_beside_a_damaged_key_of_the_namespace(void **state)
{
    static const char *const keys[] = {"beat", "ttls", "registry", "token", "names"};
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        raw_do(s->server->redis, "RENAME %s:%s away", s->prefix, keys[i]);
        raw_do(s->server->redis, "XADD %s:%s * field value", s->prefix, keys[i]);
        raw_do(s->server->redis, "PEXPIRE %s:alive:w 5000", s->prefix);
        assert_ok(acting_heartbeat(&w));
        assert_true(raw_int(s->server->redis, "PTTL %s:alive:w", s->prefix) > 5000);
        raw_do(s->server->redis, "RENAME away %s:%s", s->prefix, keys[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_worker_that_cannot_hold_a_task_is_not_idle),
        live_test(a_cancel_leaves_nothing_that_nobody_tidies_up),
        live_test(a_queue_that_a_bare_push_has_made_is_known_once_it_is_used),
        live_test(a_queue_is_not_over_while_its_crashes_count),
        live_test(nothing_is_told_after_the_last_event),
        live_test(an_enqueue_with_damaged_settings_says_what_is_true),
        live_test(an_enqueue_with_a_damaged_idle_set_says_what_is_true),
        live_test(an_enqueue_with_damaged_names_says_what_is_true),
        live_test(an_enqueue_without_the_right_to_hand_over_says_what_is_true),
        live_test(a_sweep_tidies_up_what_leases_leave),
        live_test(heartbeats_go_on_beside_a_damaged_key_of_the_namespace),
    };
    return scene_run(tests, argc, argv);
}
