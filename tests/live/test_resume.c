/* SPDX-License-Identifier: MIT
 *
 * Coming back: a worker starts again under the id of a life that died holding tasks, and resumes them, or does not.
 *
 * A life ends here by being freed without a stop, which Redis cannot tell from a kill; or it stands still in a process
 * of its own, and finds out later. No other worker is there to sweep it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(300)

struct again {
    int hands, prefetch, burst;
    enum muster_outcome answer;
};

/* A worker "phoenix" that resumes; owned by the scene. */
static struct live_worker *resume_with(struct scene *s, const struct again *again, const char *const *queues)
{
    struct live_worker *w = calloc(1, sizeof *w);
    w->next = s->workers;
    s->workers = w;
    w->spec.answer = again->answer;
    w->journal = s->journal;
    const struct muster_worker_options o = {.size = sizeof o,
                                            .url = s->server->url,
                                            .prefix = s->prefix,
                                            .id = "phoenix",
                                            .base = s->base,
                                            .ttl_ms = TTL_MS,
                                            .hands = again->hands,
                                            .prefetch = again->prefetch,
                                            .burst = again->burst,
                                            .resume = 1,
                                            .on_event = live_worker_note,
                                            .arg = w};
    assert_ok(muster_worker_new(&w->worker, &o));
    assert_ok(muster_worker_start(w->worker));
    for (; *queues; queues++)
        assert_ok(muster_worker_serve(w->worker, *queues, 0, live_worker_handle, w));
    return w;
}

static struct live_worker *resume(struct scene *s, int hands, const char *const *queues)
{
    return resume_with(s, &(struct again){.hands = hands, .answer = MUSTER_LATER}, queues);
}

static const char *const q_only[] = {"q", NULL};
static const char *const q_and_r[] = {"q", "r", NULL};

static const struct worker_spec *first_life(void)
{
    static struct worker_spec spec;
    spec = (struct worker_spec){
        .id = "phoenix", .ttl_ms = TTL_MS, .hands = 5, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 0}}};
    return &spec;
}

/* Its liveness key is gone, and its time in the registry is past: from now on its id may start again. */
static void await_end_of_life(struct scene *s)
{
    raw_await(
        s->server->redis, s->base, 1, "EVAL %s 1 %s phoenix",
        "local t, P, w = redis.call('TIME'), KEYS[1], ARGV[1]\n"
        "local ends = tonumber(redis.call('ZSCORE', P .. ':registry', w))\n"
        "return redis.call('EXISTS', P .. ':alive:' .. w) == 0 and ends < t[1] * 1000 + t[2] / 1000 - 1 and 1 or 0",
        s->prefix);
}

/* The first life takes `n` tasks "old0", ... of q, and dies. */
static void die_holding(struct scene *s, int n)
{
    struct live_worker *w = live_worker_idle(s, first_life());
    scene_enqueue_n(s, "q", "old", n);
    scene_await_starts(s, (size_t)n);
    live_worker_free(s, w);
    await_end_of_life(s);
}

static uint64_t last_token(struct scene *s)
{
    uint64_t last = 0;
    for (size_t i = 0; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START && e->token > last)
            last = e->token;
    }
    return last;
}

static int64_t in_hands(struct scene *s, const char *queue)
{
    int64_t n = raw_int(s->server->redis, "HLEN %s:processing:phoenix:%s", s->prefix, queue);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:%s running", s->prefix, queue), n);
    return n;
}

static int64_t held(struct scene *s)
{
    return raw_int(s->server->redis, "HGET %s:worker:phoenix held", s->prefix);
}

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:phoenix held", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

static void leftovers_are_resumed_first_in_order_under_new_higher_tokens(void **state)
{
    struct scene *s = *state;
    die_holding(s, 4);
    uint64_t token = last_token(s);
    scene_enqueue(s, "q", "new");
    size_t mark = journal_size(s->journal);

    /* Fewer hands than leftovers: one after the other, and nothing else before them. */
    struct live_worker *w = resume(s, 1, q_only);
    scene_await_starts(s, 5);
    assert_int_equal(in_hands(s, "q"), 4);
    assert_int_equal(held(s), 4);
    assert_int_equal(scene_waiting(s, "q"), 1);
    for (size_t n = 6; n <= 9; n++) {
        live_worker_end(w, MUSTER_FINISH);
        scene_await_starts(s, n);
    }
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
    scene_assert_started(s, mark, (const char *[]){"old0", "old1", "old2", "old3", "new", NULL});
    for (size_t i = mark; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (!e || e->kind != JOURNAL_START)
            continue;
        assert_true(e->token > token);
        token = e->token;
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

static void they_come_first_also_for_a_worker_that_takes_in_advance(void **state)
{
    struct scene *s = *state;
    die_holding(s, 2);
    scene_enqueue_n(s, "q", "new", 3);
    size_t mark = journal_size(s->journal);
    resume_with(s, &(struct again){.hands = 1, .prefetch = 5, .answer = MUSTER_FINISH}, q_only);
    scene_await_starts(s, 7);
    await_quiet(s);
    scene_assert_started(s, mark, (const char *[]){"old0", "old1", "new0", "new1", "new2", NULL});
}

static void a_burst_does_not_end_before_they_have_run(void **state)
{
    struct scene *s = *state;
    die_holding(s, 3);
    size_t mark = journal_size(s->journal);
    struct live_worker *w = resume_with(s, &(struct again){.hands = 1, .burst = 1, .answer = MUSTER_FINISH}, q_only);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "phoenix", 1);
    assert_ok(w->stop_err);
    scene_assert_started(s, mark, (const char *[]){"old0", "old1", "old2", NULL});
    scene_assert_quiet(s);
}

static const char *const q_and_s[] = {"q", "s", NULL};

/* Of `s` there is nothing to take up. */
static void a_damaged_key_of_another_queue_holds_nothing_up(void **state)
{
    struct scene *s = *state;
    die_holding(s, 2);
    raw_do(s->server->redis, "SET %s:failed:s text", s->prefix);
    resume_with(s, &(struct again){.hands = 2, .answer = MUSTER_FINISH}, q_and_s);
    scene_await_starts(s, 4);
    scene_enqueue(s, "q", "new");
    scene_await_starts(s, 5);
    raw_do(s->server->redis, "DEL %s:failed:s", s->prefix);
    await_quiet(s);
}

static void damage_the_home(struct scene *s)
{
    char *home = raw_string(s->server->redis, "HGET %s:worker:phoenix r:q", s->prefix);
    assert_non_null(home);
    raw_do(s->server->redis, "RENAME %s:home:%s:q %s:kept", s->prefix, home, s->prefix);
    raw_do(s->server->redis, "SET %s:home:%s:q text", s->prefix, home);
    free(home);
}

/* Between the registration and that it serves its queues. Nothing has run yet, so nothing is lost or done again. */
static void a_burst_ends_if_it_cannot_take_them_up(void **state)
{
    static const char *const nothing[] = {NULL};
    struct scene *s = *state;
    die_holding(s, 2);
    struct live_worker *w = resume_with(s, &(struct again){.hands = 2, .burst = 1, .answer = MUSTER_FINISH}, nothing);
    size_t n_started = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, NULL, NULL);
    scene_await_events(s, MUSTER_EVENT_STARTED, "phoenix", n_started + 1);
    damage_the_home(s);
    assert_ok(muster_worker_serve(w->worker, "q", 0, live_worker_handle, w));
    scene_await_events(s, MUSTER_EVENT_STOPPED, "phoenix", 1);
    assert_int_equal(w->stop_err, MUSTER_E_REDIS);
    assert_non_null(strstr(muster_worker_error(w->worker), ":home:"));
}

static void each_queue_keeps_its_own(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct live_worker *w = live_worker_idle(s, first_life());
    scene_enqueue_n(s, "q", "a", 2);
    scene_enqueue_n(s, "r", "b", 3);
    scene_await_starts(s, 5);
    live_worker_free(s, w);
    await_end_of_life(s);
    size_t mark = journal_size(s->journal);
    w = resume(s, 5, q_and_r);
    scene_await_starts(s, 10);
    assert_int_equal(in_hands(s, "q"), 2);
    assert_int_equal(in_hands(s, "r"), 3);
    assert_int_equal(held(s), 5);
    for (size_t i = mark; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START)
            assert_string_equal(e->queue, e->task[0] == 'a' ? "q" : "r");
    }
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
}

static void what_a_resumed_life_does_not_serve_goes_back_at_once_and_is_told(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct live_worker *w = live_worker_idle(s, first_life());
    scene_enqueue(s, "q", "a");
    scene_enqueue_n(s, "r", "b", 2);
    scene_await_starts(s, 3);
    live_worker_free(s, w);
    await_end_of_life(s);

    /* The only hand is free for what is served. */
    w = resume_with(s, &(struct again){.hands = 1, .burst = 1, .answer = MUSTER_FINISH}, q_only);
    scene_await_events(s, MUSTER_EVENT_NOT_RESUMED, "phoenix", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_NOT_RESUMED, NULL, NULL);
    if (!strstr(e->text, "held 2 of the queue 'r'"))
        fail_msg("told: %s", e->text);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "phoenix", 1);
    assert_ok(w->stop_err);
    assert_int_equal(scene_starts(s), 4);
    assert_waiting(s, "r", "b0 b1 ");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:r running", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* More than one call moves: 1 000 processes, or 4 MiB. */
static void thousands_are_resumed_in_order(void **state)
{
    struct scene *s = *state;
    enum { MANY = 2500 };
    struct acting_worker first = {.id = "phoenix", .queues = {"q"}, .hands = MANY};
    scene_suspect_nothing(s);
    scene_enqueue_n(s, "q", "old", MANY);
    acting_start(&first, s);
    acting_take(&first);
    while (raw_int(s->server->redis, "HLEN %s:processing:phoenix:q", s->prefix) < MANY)
        acting_take(&first);
    acting_die(&first);
    scene_enqueue(s, "q", "new");
    resume_with(s, &(struct again){.hands = 1, .answer = MUSTER_FINISH}, q_only);
    scene_await_starts(s, MANY + 1);
    int n = 0;
    for (size_t i = 0; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        char expected[32] = "new";
        if (!e || e->kind != JOURNAL_START)
            continue;
        if (n < MANY)
            snprintf(expected, sizeof expected, "old%d", n);
        assert_string_equal(e->task, expected);
        n++;
    }
    await_quiet(s);
}

static void without_resume_they_go_to_the_front(void **state)
{
    struct scene *s = *state;
    die_holding(s, 3);
    scene_enqueue(s, "q", "new");
    struct worker_spec next = {.id = "phoenix", .ttl_ms = TTL_MS, .queues = {{"other", 0}}};
    live_worker_new(s, &next);
    scene_await_idle(s, "other", "phoenix");
    assert_waiting(s, "q", "old0 old1 old2 new ");
    assert_int_equal(in_hands(s, "q"), 0);
    assert_int_equal(held(s), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void while_the_old_life_is_alive_a_start_is_refused(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, first_life());
    scene_enqueue_n(s, "q", "old", 2);
    scene_await_starts(s, 2);
    char *before = raw_string(s->server->redis, "HKEYS %s:processing:phoenix:q", s->prefix);
    struct live_worker *second = resume(s, 5, q_only);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "phoenix", 1);
    char *after = raw_string(s->server->redis, "HKEYS %s:processing:phoenix:q", s->prefix);
    bool same = !strcmp(before, after);
    free(before);
    free(after);
    assert_true(same);
    assert_int_equal(second->stop_err, MUSTER_E_EXISTS);
    assert_int_equal(scene_starts(s), 2);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
}

/* Its end names a process that is still in the id's hands, but under another token and in another life. */
static void the_old_life_that_was_only_late_is_gone_and_changes_nothing(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_spec spec = *first_life();
    spec.stubborn = true;
    struct worker_process *late = worker_process_idle(s, &spec);
    scene_enqueue_n(s, "q", "old", 2);
    scene_await_starts(s, 2);
    kill(late->pid, SIGSTOP);
    await_end_of_life(s);
    struct live_worker *w = resume(s, 5, q_only);
    scene_await_starts(s, 4);

    worker_process_end(late, MUSTER_FINISH);
    kill(late->pid, SIGCONT);
    scene_await_events(s, MUSTER_EVENT_LOST, "phoenix", 1);
    worker_process_end(late, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "phoenix", 2);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
    assert_int_equal(e->err, MUSTER_E_LOST);
    assert_int_equal(in_hands(s, "q"), 2);
    assert_int_equal(held(s), 2);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 2);
    assert_int_equal(scene_starts(s), 4);
}

static void poison_stops_although_it_is_resumed(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "bomb");
    for (size_t life = 1; life <= 4; life++) { /* the first one makes a suspect of it */
        struct live_worker *w = resume(s, 2, q_only);
        scene_await_starts(s, life);
        live_worker_free(s, w);
        await_end_of_life(s);
    }
    resume(s, 2, q_only);
    scene_await_events(s, MUSTER_EVENT_STARTED, "phoenix", 5);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    bool named = strstr(entry, "phoenixcrashed") != NULL;
    free(entry);
    assert_true(named);
    assert_int_equal(in_hands(s, "q"), 0);
    await_quiet(s);
    assert_int_equal(scene_starts(s), 4);
}

/* It is refused again after each heartbeat, which meets nothing itself. */
static void a_damaged_key_that_refuses_it_is_told_once(void **state)
{
    struct scene *s = *state;
    die_holding(s, 1);
    struct live_worker *w = resume(s, 1, (const char *const[]){NULL});
    scene_await_events(s, MUSTER_EVENT_STARTED, "phoenix", 2);
    raw_do(s->server->redis, "SET %s:failed:q text", s->prefix);
    assert_ok(live_worker_serve(w, "q", 0));
    scene_await_events(s, MUSTER_EVENT_REFUSED, "phoenix", 1);
    live_worker_await_beats(s, w, 6);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "phoenix", NULL), 1);
    assert_int_equal(scene_starts(s), 1);
    raw_do(s->server->redis, "DEL %s:failed:q", s->prefix);
    scene_await_starts(s, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(leftovers_are_resumed_first_in_order_under_new_higher_tokens),
        live_test(they_come_first_also_for_a_worker_that_takes_in_advance),
        live_test(a_burst_does_not_end_before_they_have_run),
        live_test(each_queue_keeps_its_own),
        live_test(a_damaged_key_of_another_queue_holds_nothing_up),
        live_test(a_burst_ends_if_it_cannot_take_them_up),
        live_test(what_a_resumed_life_does_not_serve_goes_back_at_once_and_is_told),
        live_test(thousands_are_resumed_in_order),
        live_test(without_resume_they_go_to_the_front),
        live_test(while_the_old_life_is_alive_a_start_is_refused),
        live_test(the_old_life_that_was_only_late_is_gone_and_changes_nothing),
        live_test(poison_stops_although_it_is_resumed),
        live_test(a_damaged_key_that_refuses_it_is_told_once),
    };
    return scene_run(tests, argc, argv);
}
