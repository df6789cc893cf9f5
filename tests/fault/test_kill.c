/* SPDX-License-Identifier: MIT
 *
 * SIGKILL of a worker that holds 1, 10 and 10 000 tasks: how long it takes until they start elsewhere, in
 * which order, and ahead of what waited; a live worker keeps its own.
 *
 * The time counts from the kill. It may be a ttl and a heartbeat; slack_ms() is for handing over and starting
 * 10 000 tasks on a busy machine with sanitizers: how long that takes there is seen when they start for the first time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "slow.h"
#include "worker_process.h"

#define SLACK_MS slow_ms(3000)
#define WAITING 3

/* Beginning 10 000 tasks keeps a loop from its heartbeats for a while. */
static int ttl_for(int k)
{
    return k < 10000 ? 1500 : 5000;
}

/* How long the tasks took to begin where they were enqueued. */
static int64_t first_ms;

static int slack_ms(void)
{
    return SLACK_MS + 2 * (int)first_ms;
}

struct order {
    struct scene *scene;
    size_t from;
    int n_old, n_new;
};

static struct worker_process *holder(struct scene *s, const char *id, int hands, int ttl_ms)
{
    return worker_process_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = ttl_ms, .hands = hands, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
}

/* A worker that had no time to live loses its tasks to others, which is another matter than a wrong order. */
static void fail_out_of_order(struct scene *s, const struct journal_entry *e, const char *expected)
{
    struct journal *j = s->journal;
    fail_msg("%s came out on %s, not %s; it began %zu times; of all workers %zu were in doubt, %zu lost, %zu swept",
             e->task, e->worker, expected, journal_count(j, JOURNAL_START, -1, NULL, e->task),
             journal_count(j, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, NULL, NULL),
             journal_count(j, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL),
             journal_count(j, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL));
}

static int compare_tokens(const void *a, const void *b)
{
    const struct journal_entry *x = *(const struct journal_entry *const *)a,
                               *y = *(const struct journal_entry *const *)b;
    return (x->token > y->token) - (x->token < y->token);
}

/* What began from the position on, by the tokens: so it came out of the queue. With many hands it may begin in a
 * slightly other order, because messages and the answers of takes arrive on two connections. */
static const struct journal_entry **starts_from(struct journal *j, size_t from, int *n)
{
    const struct journal_entry **starts = calloc(journal_size(j) + 1, sizeof *starts);
    assert_non_null(starts);
    *n = 0;
    for (size_t i = from; i < journal_size(j); i++) {
        const struct journal_entry *e = journal_at(j, i);
        if (e && e->kind == JOURNAL_START)
            starts[(*n)++] = e;
    }
    qsort(starts, (size_t)*n, sizeof *starts, compare_tokens);
    return starts;
}

/* From the position on old0, old1, ... came out and after them new0, new1, ..., and nothing else. Returns when the first
 * of the old ones began: when the rest follows says only how busy the machine is. */
static int64_t assert_order(const struct order *o)
{
    int n;
    int64_t first = INT64_MAX;
    const struct journal_entry **starts = starts_from(o->scene->journal, o->from, &n);
    assert_int_equal(n, o->n_old + o->n_new);
    for (int i = 0; i < n; i++) {
        char expected[32];
        bool is_old = i < o->n_old;
        snprintf(expected, sizeof expected, "%s%d", is_old ? "old" : "new", is_old ? i : i - o->n_old);
        if (strcmp(starts[i]->task, expected))
            fail_out_of_order(o->scene, starts[i], expected);
        first = is_old && starts[i]->at_ms < first ? starts[i]->at_ms : first;
    }
    free(starts);
    return first;
}

static void assert_mine_untouched(struct scene *s)
{
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, "mine"), 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:living:q", s->prefix), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

/* One that holds k tasks, and a live one with one of its own. */
static struct worker_process *doomed_beside_living(struct scene *s, int k)
{
    scene_suspect_nothing(s); /* suspects come back in the same order, but run one by one */
    holder(s, "living", 1, ttl_for(k));
    scene_enqueue(s, "q", "mine");
    scene_await_starts(s, 1);
    struct worker_process *doomed = holder(s, "doomed", k, ttl_for(k));
    first_ms = now_ms();
    scene_enqueue_n(s, "q", "old", k);
    scene_await_starts(s, (size_t)k + 1);
    first_ms = now_ms() - first_ms;
    return doomed;
}

static void into_idle_hands(struct scene *s, int k)
{
    struct worker_process *doomed = doomed_beside_living(s, k);
    holder(s, "heir", k, ttl_for(k));
    struct order o = {s, journal_size(s->journal), k, 0};
    int64_t before = now_ms();
    worker_process_kill(doomed);
    scene_await_starts(s, 2 * (size_t)k + 1);
    int took = (int)(assert_order(&o) - before);
    print_message("kill -9, k = %d, ttl %d ms, heartbeat %d ms: began elsewhere, in order, after %d ms\n", k,
                  ttl_for(k), ttl_for(k) / 3, took);
    assert_in_range(took, 0, ttl_for(k) + ttl_for(k) / 3 + slack_ms());
    assert_mine_untouched(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* Everybody's hands are full, so that the tasks lie in the queue before somebody takes them. */
static void ahead_of_what_waits(struct scene *s, int k)
{
    struct worker_process *doomed = doomed_beside_living(s, k);
    scene_enqueue_n(s, "q", "new", WAITING);
    int64_t before = now_ms();
    worker_process_kill(doomed);
    scene_await_waiting(s, "q", k + WAITING);
    int swept = (int)(now_ms() - before);
    int hands = k + WAITING < MUSTER_HANDS_MAX ? k + WAITING : MUSTER_HANDS_MAX;
    struct order o = {s, journal_size(s->journal), k, hands - k};
    worker_process_start(
        s, &(struct worker_spec){
               .id = "heir", .ttl_ms = ttl_for(k), .hands = hands, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_await_starts(s, (size_t)(k + 1 + hands));
    assert_int_equal(scene_waiting(s, "q"), k + WAITING - hands);
    assert_order(&o);
    print_message("kill -9, k = %d, %d waiting: back at the front, in order, after %d ms\n", k, WAITING, swept);
    assert_in_range(swept, 0, ttl_for(k) + ttl_for(k) / 3 + slack_ms());
    assert_mine_untouched(s);
    invariant_assert(s->server->redis, s->prefix);
}

#define K_TESTS(k)                                    \
    static void into_idle_hands_##k(void **state)     \
    {                                                 \
        into_idle_hands(*state, k);                   \
    }                                                 \
    static void ahead_of_what_waits_##k(void **state) \
    {                                                 \
        ahead_of_what_waits(*state, k);               \
    }
K_TESTS(1)
K_TESTS(10)
K_TESTS(10000)
#define K_ENTRIES(k) live_test(into_idle_hands_##k), live_test(ahead_of_what_waits_##k)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {K_ENTRIES(1), K_ENTRIES(10), K_ENTRIES(10000)};
    return scene_run(tests, argc, argv);
}
