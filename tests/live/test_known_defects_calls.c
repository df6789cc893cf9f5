/* SPDX-License-Identifier: MIT
 *
 * Defects that task queues with a worker registry are known for, and what is promised instead: here about names,
 * wake-ups and calls. Ownership and liveness are test_known_defects.c's. These are proved elsewhere:
 *
 *   no herd                               test_wake           a_task_costs_the_same_with_1_10_and_300_idle_workers
 *   a lost message is made good           test_wake           a_lost_message_delays_a_task_by_one_heartbeat_at_most
 *   a dead subscription is made good      test_wake           a_worker_whose_subscription_was_killed_takes_work_again
 *   noise on a channel is ignored         test_wake           garbage_on_the_channel_is_ignored
 *   names with colons, listed as they are test_names          each_name_is_listed_as_it_is
 *   prefixes that cannot be parsed wrong  test_names          ids_and_prefixes_hold_few_characters
 *   processes found by queue and task     test_list           processes_are_listed_by_queue_worker_and_task
 *   no command KEYS                       house/test_rooms    4: nothing sends the command KEYS
 *   an empty batch is no error            test_enqueue        none_at_all_tells_the_length
 *   an empty task is a task               test_enqueue        the_empty_task_is_a_task
 *   limits, and lists in pages            test_enqueue        the_limit_can_be_set, peek_shows_a_part_and_takes_nothing
 *   what Redis refuses is an error        test_client_errors  a_key_of_the_wrong_type_is_E_REDIS_and_named
 *   a refusal while serving is told       test_stall          a_key_of_the_wrong_type_harms_its_own_queue_only
 *   a start that cannot succeed ends      test_start          denied_access_stops_the_worker
 *   every error has a name and a text     unit/test_error     each_error_has_a_text_of_its_own
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"

#define AN_HOUR 3600000

static struct live_worker *idle_for_an_hour(struct scene *s, const char *id, const char *queue)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id, .ttl_ms = AN_HOUR, .queues = {{queue, 0}}});
}

/* From now on workers and the client are of this namespace. */
static void move_to_prefix(struct scene *s, const char *prefix)
{
    snprintf(s->prefix, sizeof s->prefix, "%s", prefix);
    muster_client_free(s->client);
    s->client = scene_client(s);
}

static void foreign_push(struct scene *s, const char *queue, const char *task)
{
    char key[64];
    snprintf(key, sizeof key, "%s:queues:%s", s->prefix, queue);
    raw_push(s->server->redis, key, task, strlen(task));
}

static void foreign_hint(struct scene *s, const char *queue)
{
    raw_do(s->server->redis, "PUBLISH %s_%s_work 1", s->prefix, queue);
}

/* ---- names ---- */

/* Two namespaces whose channels have the same name: each takes its own work alone. */
static void a_prefix_may_hold_an_underscore(void **state)
{
    struct scene *s = *state;
    move_to_prefix(s, "my_app");
    idle_for_an_hour(s, "long", "q");
    move_to_prefix(s, "my");
    idle_for_an_hour(s, "short", "app_q");
    foreign_push(s, "app_q", "of my");
    foreign_hint(s, "app_q");
    scene_await_starts(s, 1);
    scene_await_idle(s, "app_q", "short");
    move_to_prefix(s, "my_app");
    foreign_push(s, "q", "of my_app");
    foreign_hint(s, "q");
    scene_await_starts(s, 2);
    scene_enqueue(s, "q", "of my_app too");
    scene_await_starts(s, 3);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "short", "of my"));
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "long", "of my_app"));
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "long", "of my_app too"));
    scene_assert_quiet(s);
}

/* What other systems give a meaning: events, separators, patterns, the endings of channels. */
static const char *const odd_queues[] = {"error", "debug",  "end",    "message", "__proto__", "_",     "a_b", "a_work",
                                         "work",  "muster", "_work_", "a:b",     "a*",        "[a-b]", "?",   "q:a"};

/* Some of them, taken as a pattern, fit others. */
static void no_queue_name_is_special(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(odd_queues); i += SPEC_QUEUES_MAX) {
        char id[16];
        snprintf(id, sizeof id, "w%zu", i);
        struct worker_spec spec = {.id = id, .ttl_ms = AN_HOUR};
        for (size_t k = 0; k < SPEC_QUEUES_MAX; k++)
            spec.queues[k].name = odd_queues[i + k];
        live_worker_idle(s, &spec);
    }
    for (size_t i = 0; i < N_OF(odd_queues); i++) {
        size_t mark = journal_size(s->journal), starts = scene_starts(s);
        foreign_push(s, odd_queues[i], "by a foreigner");
        foreign_hint(s, odd_queues[i]);
        scene_await_starts(s, starts + 1);
        scene_enqueue(s, odd_queues[i], "by a client");
        scene_await_starts(s, starts + 2);
        scene_assert_started(s, mark, (const char *[]){"by a foreigner", "by a client", NULL});
        for (size_t at = mark; at < journal_size(s->journal); at++)
            assert_string_equal(journal_at(s->journal, at)->queue, odd_queues[i]);
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, NULL, NULL), 0);
}

/* "a*" has work and nobody who serves it, "ab" a worker and no work. */
static void a_queue_name_is_never_a_pattern(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1", "ab");
    scene_enqueue(s, "a*", "not yours");
    foreign_hint(s, "a*");
    scene_enqueue(s, "ab", "yours");
    scene_await_starts(s, 1);
    scene_await_idle(s, "ab", "w1");
    scene_assert_started(s, 0, (const char *[]){"yours", NULL});
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:a*", s->prefix), 1);
}

static void all_keys_of_a_namespace_begin_with_its_prefix(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "FLUSHALL");
    move_to_prefix(s, "{mail}");
    const enum muster_outcome outcomes[] = {MUSTER_FINISH, MUSTER_RETRY, MUSTER_FAIL, MUSTER_GIVE_BACK};
    const struct muster_enqueue_options o = {.size = sizeof o, .request_id = "once"};
    const struct muster_bytes task = {"t", 1};
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = 300, .retry_ms = AN_HOUR, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    assert_ok(muster_task_enqueue_many(s->client, "q", &task, 1, &o, NULL));
    scene_enqueue_n(s, "q", "t", N_OF(outcomes) + 1);
    for (size_t i = 0; i < N_OF(outcomes); i++) {
        scene_await_starts(s, i + 1);
        live_worker_end(w, outcomes[i]);
    }
    live_worker_free(s, w);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = 300, .queues = {{"other", 0}}});
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);

    struct redisReply *page = raw(s->server->redis, "SCAN 0 COUNT 1000000");
    const struct redisReply *keys = page->element[1];
    size_t n = keys->elements, n_good = 0;
    for (size_t i = 0; i < n; i++)
        n_good += !strncmp(keys->element[i]->str, "{mail}:", strlen("{mail}:"));
    freeReplyObject(page);
    assert_true(n > 10);
    assert_int_equal(n_good, n);
}

/* ---- looking for work ---- */

/* One that Redis does not know is called twice. */
static int64_t n_scripts(struct scene *s)
{
    return redis_server_calls(s->server, "evalsha") + redis_server_calls(s->server, "eval");
}

/* What the worker has sent at its start is executed. Returns how many scripts were. */
static int64_t await_quiet(struct scene *s, char digest[41])
{
    int64_t calls;
    do {
        calls = n_scripts(s);
        redis_server_digest(s->server, digest);
        run_loop(s->base, 50);
    } while (n_scripts(s) != calls);
    return calls;
}

static void an_empty_take_changes_nothing(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    raw_do(s->server->redis, "FLUSHALL"); /* what other cases have left may expire meanwhile */
    idle_for_an_hour(s, "w1", "q");
    int64_t takes = await_quiet(s, before);
    foreign_hint(s, "q");
    run_loop(s->base, 200);
    assert_int_equal(n_scripts(s), takes + 1);
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
    assert_int_equal(scene_starts(s), 0);
}

/* No heartbeat comes: only the take that follows the confirmed subscription can find it. */
static void what_comes_at_any_moment_of_a_start_is_not_missed(void **state)
{
    struct scene *s = *state;
    for (size_t turns = 0; turns < 40; turns++) {
        char id[16], queue[16];
        snprintf(id, sizeof id, "w%zu", turns);
        snprintf(queue, sizeof queue, "q%zu", turns);
        live_worker_new(s, &(struct worker_spec){.id = id, .ttl_ms = AN_HOUR, .queues = {{queue, 0}}});
        for (size_t i = 0; i < turns; i++)
            event_base_loop(s->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        if (turns % 2) {
            foreign_push(s, queue, "t");
            foreign_hint(s, queue);
        } else {
            scene_enqueue(s, queue, "t");
        }
        scene_await_starts(s, turns + 1);
    }
}

static void what_comes_at_any_moment_of_a_new_subscription_is_not_missed(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1", "q");
    for (size_t turns = 0; turns < 12; turns++) {
        raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
        for (size_t i = 0; i < turns; i++)
            run_loop(s->base, 5);
        foreign_push(s, "q", "t");
        foreign_hint(s, "q");
        scene_await_starts(s, turns + 1);
        scene_await_events(s, MUSTER_EVENT_UP, "w1", turns + 1);
        scene_await_idle(s, "q", "w1");
    }
}

static int count_process(const struct muster_process_info *process, void *arg)
{
    *(size_t *)arg += process->len > 0;
    return 0;
}

static void a_search_reads_only_the_sets_that_it_names(void **state)
{
    struct scene *s = *state;
    const char *ids[] = {"w1", "w2", "w3", "w4"};
    for (size_t i = 0; i < N_OF(ids); i++)
        live_worker_idle(s, &(struct worker_spec){
                                .id = ids[i], .hands = 2, .answer = MUSTER_LATER, .queues = {{"a:b", 0}, {ids[i], 0}}});
    scene_enqueue_n(s, "a:b", "t", 4);
    scene_enqueue(s, "w1", "t");
    scene_await_starts(s, 5);
    const struct { /* of any worker: the queue's leases are looked at as well */
        struct muster_process_filter filter;
        size_t found, read;
    } cases[] = {{{.queue = "a:b"}, 4, 4 + 1}, {{.queue = "w1"}, 1, 1 + 1}, {{.worker = "w1", .queue = "w1"}, 1, 1}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct muster_process_filter f = cases[i].filter;
        size_t found = 0;
        f.size = sizeof f;
        int64_t reads = redis_server_calls(s->server, "hscan");
        assert_ok(muster_process_list(s->client, &f, count_process, &found));
        assert_int_equal(found, cases[i].found);
        assert_int_equal(redis_server_calls(s->server, "hscan") - reads, cases[i].read);
    }
}

/* ---- calls that are refused, or made at the same time ---- */

enum { THREADS = 4, REQUESTS = 50 };

static struct requests {
    struct scene *scene;
    int err;
} requests[THREADS];

static void *make_requests(void *arg)
{
    struct requests *r = arg;
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = r->scene->server->url, .prefix = r->scene->prefix};
    r->err = muster_client_new(&c, &o);
    for (int i = 0; i < REQUESTS && r->err == MUSTER_OK; i++) {
        char id[16];
        int len = snprintf(id, sizeof id, "r%d", i);
        const struct muster_bytes task = {id, (size_t)len};
        const struct muster_enqueue_options request = {.size = sizeof request, .request_id = id};
        r->err = muster_task_enqueue_many(c, "q", &task, 1, &request, NULL);
    }
    muster_client_free(c);
    return NULL;
}

static void the_same_requests_of_many_clients_at_once_count_once_each(void **state)
{
    pthread_t threads[THREADS];
    struct scene *s = *state;
    for (size_t i = 0; i < THREADS; i++) {
        requests[i] = (struct requests){.scene = s};
        assert_int_equal(pthread_create(&threads[i], NULL, make_requests, &requests[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(requests[i].err);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}}});
    assert_int_equal(scene_starts(s), REQUESTS);
    for (int i = 0; i < REQUESTS; i++) {
        char task[16];
        snprintf(task, sizeof task, "r%d", i);
        assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, task), 1);
    }
}

static void after_a_refused_enqueue_the_next_one_on_the_connection_counts(void **state)
{
    struct scene *s = *state;
    const struct muster_bytes a = {"a", 1}, b = {"b", 1};
    const struct muster_enqueue_options o = {.size = sizeof o, .request_id = "once"};
    uint64_t waiting = 0;
    assert_ok(muster_task_enqueue_many(s->client, "q", &a, 1, &o, NULL));
    raw_do(s->server->redis, "SET %s:queues:bad text", s->prefix);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_err(muster_task_enqueue_many(s->client, "q", &b, 1, &o, NULL), MUSTER_E_EXISTS);
        assert_err(muster_task_enqueue(s->client, "bad", "x", 1, NULL), MUSTER_E_REDIS);
        assert_ok(muster_task_enqueue(s->client, "q", "next", 4, &waiting));
        assert_int_equal(waiting, 1 + i);
        assert_int_equal(scene_waiting(s, "q"), 1 + i);
    }
}

static void a_damaged_set_costs_no_task(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1", "q");
    raw_do(s->server->redis, "SET %s:processing:w1:q text", s->prefix);
    scene_enqueue(s, "q", "handed over");
    foreign_hint(s, "q");
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    assert_non_null(
        strstr(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w1", NULL)->text, "processing:w1:q"));
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_int_equal(scene_starts(s), 0);
    raw_do(s->server->redis, "DEL %s:processing:w1:q", s->prefix);
    foreign_hint(s, "q");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    scene_assert_started(s, 0, (const char *[]){"handed over", NULL});
    scene_assert_quiet(s);
}

static void an_end_that_redis_refuses_is_told_and_counts_later(void **state)
{
    struct scene *s = *state;
    const enum muster_outcome outcomes[] = {MUSTER_FINISH, MUSTER_GIVE_BACK};
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = 900, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(outcomes); i++) {
        scene_await_starts(s, i + 1);
        live_worker_await_beats(s, w, 3); /* damage is told once, until two have met none */
        raw_do(s->server->redis, "RENAME %s:processing:w1:q saved", s->prefix);
        raw_do(s->server->redis, "SET %s:processing:w1:q text", s->prefix);
        live_worker_end(w, outcomes[N_OF(outcomes) - 1 - i]);
        scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", i + 1);
        raw_do(s->server->redis, "RENAME saved %s:processing:w1:q", s->prefix);
    }
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    assert_int_equal(scene_starts(s), 2);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

static void a_password_is_sent_once_per_connection(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, &(struct redis_server_options){.tcp = true, .password = "secret"});
    snprintf(own.url, sizeof own.url, "redis://:secret@127.0.0.1:%d", own.port);
    int64_t sent = redis_server_calls(&own, "auth");
    scene_move(s, &own);
    scene_enqueue(s, "q", "t");
    scene_enqueue(s, "q", "t");
    assert_int_equal(redis_server_calls(&own, "auth") - sent, 1);
    struct live_worker *w = idle_for_an_hour(s, "w1", "q");
    assert_int_equal(redis_server_calls(&own, "auth") - sent, 3);
    live_worker_stop(s, w, -1);
    live_worker_free(s, w);
    redis_server_remove(&own);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_prefix_may_hold_an_underscore),
        live_test(no_queue_name_is_special),
        live_test(a_queue_name_is_never_a_pattern),
        live_test(all_keys_of_a_namespace_begin_with_its_prefix),
        live_test(an_empty_take_changes_nothing),
        live_test(what_comes_at_any_moment_of_a_start_is_not_missed),
        live_test(what_comes_at_any_moment_of_a_new_subscription_is_not_missed),
        live_test(a_search_reads_only_the_sets_that_it_names),
        live_test(the_same_requests_of_many_clients_at_once_count_once_each),
        live_test(after_a_refused_enqueue_the_next_one_on_the_connection_counts),
        live_test(a_damaged_set_costs_no_task),
        live_test(an_end_that_redis_refuses_is_told_and_counts_later),
        live_test(a_password_is_sent_once_per_connection),
    };
    return scene_run(tests, argc, argv);
}
