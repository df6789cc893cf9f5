/* SPDX-License-Identifier: MIT
 *
 * The figures of queues: how many have come and left, and for how long the oldest has waited. Proves that the bound is
 * never above the true age, whatever happens; that the true age is within the error that is said; and that foreign
 * pushes count.
 *
 * A model knows when each task came. What came back counts from its first take, as client.h says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs.h"
#include "live_worker.h"
#include "protocol/script_queue.h"
#include "random.h"
#include "script_call.h"
#include "slow.h"
#include "taken.h"

enum { LINE_ROOM = 256, STEPS = 400 };
#define TTL_MS slow_ms(300)
#define AN_HOUR 3600000

static void a_moment(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static struct muster_queue_info look(struct muster_client *c, const char *queue)
{
    struct muster_queue_info info;
    int err = muster_queue_get(c, queue, &info);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    return info;
}

static struct muster_queue_info look_anew(struct scene *s, const char *queue)
{
    struct muster_client *c = scene_client(s);
    struct muster_queue_info info = look(c, queue);
    info.name = queue;
    muster_client_free(c);
    return info;
}

static void push_foreign(struct scene *s, const char *queue, const char *task)
{
    raw_do(s->server->redis, "LPUSH %s:queues:%s %s", s->prefix, queue, task);
}

/* ---- one thing at a time ---- */

static void nothing_that_waits_has_no_age(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w", .queues = {{"q", 0}}});
    struct muster_queue_info info = look(s->client, "q");
    assert_int_equal(info.oldest_ms, -1);
    assert_int_equal(info.oldest_error_ms, -1);
    assert_int_equal(info.in + info.out, 0);
    (void)w;
}

static void the_first_task_where_no_worker_lives_has_its_age(void **state)
{
    struct scene *s = *state;
    int64_t before_ms = server_now_ms(s);
    scene_enqueue(s, "q", "first");
    a_moment(50);
    struct muster_queue_info info = look_anew(s, "q");
    int64_t age_ms = server_now_ms(s) - before_ms;
    assert_in_range(info.oldest_ms, 48, age_ms);
    assert_in_range(info.oldest_error_ms, 0, age_ms);
    scene_enqueue_n(s, "q", "later", 3); /* they change nothing */
    assert_true(look_anew(s, "q").oldest_ms >= info.oldest_ms);
    struct taken taken;
    assert_ok(take_n(s, "q", 4, AN_HOUR, &taken));
    struct muster_client *c = scene_client(s); /* that one pushes without a script by now */
    assert_ok(muster_task_enqueue(c, "q", "another line", 7, NULL));
    muster_client_free(c);
    info = look_anew(s, "q");
    assert_in_range(info.oldest_ms, 0, 40);
    assert_in_range(info.oldest_error_ms, 0, 40);
}

static void the_keeper_of_the_timer_notes_since_when_foreign_tasks_wait(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    scene_enqueue(s, "q", "names the queue");
    assert_ok(muster_task_cancel(s->client, "q", "names the queue", strlen("names the queue"), NULL, NULL));
    run_loop(s->base, TTL_MS); /* the keeper has looked since then: nothing was there */
    push_foreign(s, "q", "foreign");
    int64_t pushed_ms = server_now_ms(s);
    run_loop(s->base, 2 * TTL_MS);
    struct muster_queue_info info = look_anew(s, "q");
    int64_t age_ms = server_now_ms(s) - pushed_ms;
    assert_in_range(info.oldest_ms, TTL_MS, age_ms + 1);
    assert_in_range(info.oldest_ms + info.oldest_error_ms, age_ms - 20, age_ms + TTL_MS);
}

static void a_viewer_that_looks_again_knows_it_without_any_worker(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "ZADD %s:names 1 q", s->prefix);
    push_foreign(s, "q", "foreign");
    assert_int_equal(look(s->client, "q").oldest_ms, 0);
    a_moment(50);
    assert_in_range(look(s->client, "q").oldest_ms, 48, 1000);
    assert_int_equal(look(s->client, "q").oldest_error_ms, -1); /* it may have been there for years */
    struct taken taken;
    assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
    assert_int_equal(look(s->client, "q").oldest_ms, -1);
    push_foreign(s, "q", "another");
    struct muster_queue_info info = look(s->client, "q");
    assert_int_equal(info.oldest_ms, 0);
    assert_in_range(info.oldest_error_ms, 0, 1000);
    assert_int_equal(look_anew(s, "q").oldest_error_ms, -1);
}

static void a_queue_that_was_deleted_and_made_again_is_young(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 5);
    look(s->client, "q");
    a_moment(60);
    assert_true(look(s->client, "q").oldest_ms >= 50);
    int64_t made_at = now_ms();
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    scene_enqueue_n(s, "q", "t", 9);
    int64_t age = look(s->client, "q").oldest_ms;
    assert_in_range(age, 0, now_ms() - made_at + 1);
    age = look_anew(s, "q").oldest_ms;
    assert_in_range(age, 0, now_ms() - made_at + 1);
}

static void what_came_back_and_jobs_have_their_ages(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue(s, "q", "t");
    assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
    a_moment(50);
    assert_ok(muster_lease_give_back(s->client, taken.rows[0].id));
    struct muster_queue_info info = look_anew(s, "q");
    assert_in_range(info.oldest_ms, 48, 2000);
    assert_in_range(info.oldest_error_ms, 0, 100);
    job_put_list(s, "jobs", "j", (const char *const[]){NULL});
    a_moment(50);
    info = look_anew(s, "jobs");
    assert_in_range(info.oldest_ms, 48, 2000);
    assert_in_range(info.oldest_error_ms, 0, 100);
    job_put_list(s, "jobs", "sooner", (const char *const[]){"priority", "-5", NULL});
    assert_int_equal(look_anew(s, "jobs").oldest_error_ms, -1);
}

static bool has_left(void *arg)
{
    return queue_row_of(arg, "q").out == 30;
}

static void what_comes_and_leaves_is_counted_whoever_pushed_it(void **state)
{
    struct scene *s = *state;
    struct muster_queue_info info;
    scene_enqueue_n(s, "q", "t", 4);
    for (int i = 0; i < 6; i++)
        push_foreign(s, "q", "foreign");
    info = look(s->client, "q");
    assert_int_equal(info.in, 10);
    assert_int_equal(info.out, 0);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .hands = 3, .queues = {{"q", 0}}});
    for (int i = 0; i < 10; i++)
        scene_enqueue(s, "q", "handed over");
    for (int i = 0; i < 10; i++)
        job_put_list(s, "q", (char[]){'j', (char)('0' + i), 0}, (const char *const[]){NULL});
    wait_on(s->base, has_left, s, SOON_MS);
    assert_int_equal(look(s->client, "q").in, 30);
}

static void a_damaged_field_is_no_age(void **state)
{
    struct scene *s = *state;
    static const char *const damages[] = {"x",        "1:", ":", "99999999999999999999:5", "5:99999999999999999999",
                                          "-5:7 8:-1"};
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(damages); i++) {
        raw_do(s->server->redis, "HSET %s:queue:q ages %s", s->prefix, damages[i]);
        raw_do(s->server->redis, "HSET %s:queue:q out %s", s->prefix, i % 2 ? "nonsense" : "9223372036854775807");
        assert_in_range(look_anew(s, "q").oldest_ms, 0, INT64_MAX / 2);
    }
    raw_do(s->server->redis, "HDEL %s:queue:q ages out", s->prefix);
}

/* ---- against a model ---- */

struct one {
    char text[16];
    int64_t came_ms;  /* not later than this */
    int64_t first_ms; /* not before this */
    bool was_back;
};

struct model {
    struct scene *s;
    struct random random;
    struct muster_client *viewer;
    struct one line[LINE_ROOM], held[LINE_ROOM];
    char ids[LINE_ROOM][PROCESS_ID_MAX];
    size_t n, n_held;
    uint64_t n_in, n_out;
    int serial;
    int64_t before_ms;
};

static struct one new_one(struct model *m)
{
    struct one one = {.came_ms = 0};
    snprintf(one.text, sizeof one.text, "t%d", m->serial++);
    one.first_ms = server_now_ms(m->s);
    return one;
}

static void add_at(struct model *m, size_t at, struct one one)
{
    memmove(&m->line[at + 1], &m->line[at], (m->n++ - at) * sizeof *m->line);
    m->line[at] = one;
}

/* Behind what came back, before the list. */
static size_t front(const struct model *m)
{
    size_t i = 0;
    while (i < m->n && m->line[i].was_back)
        i++;
    return i;
}

static void enqueue(struct model *m)
{
    size_t n = 1 + random_below(&m->random, 3);
    for (size_t i = 0; i < n && m->n < LINE_ROOM - 1; i++) {
        struct one one = new_one(m);
        if (random_chance(&m->random, 50))
            push_foreign(m->s, "q", one.text);
        else
            scene_enqueue(m->s, "q", one.text);
        one.came_ms = server_now_ms(m->s);
        add_at(m, m->n, one);
        m->n_in++;
    }
}

static void enqueue_at_front(struct model *m)
{
    struct one one = new_one(m);
    const struct muster_bytes task = {one.text, strlen(one.text)};
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = 1};
    assert_ok(muster_task_enqueue_many(m->s->client, "q", &task, 1, &o, NULL));
    one.came_ms = server_now_ms(m->s);
    add_at(m, front(m), one);
    m->n_in++;
}

static int keep_taken(const struct muster_process_info *p, void *arg)
{
    struct model *m = arg;
    size_t i = 0;
    while (i < m->n && (strlen(m->line[i].text) != p->len || memcmp(m->line[i].text, p->task, p->len) != 0))
        i++;
    assert_true(i < m->n);
    m->n_out += !m->line[i].was_back;
    m->held[m->n_held] = m->line[i];
    snprintf(m->ids[m->n_held++], PROCESS_ID_MAX, "%s", p->id);
    memmove(&m->line[i], &m->line[i + 1], (--m->n - i) * sizeof *m->line);
    return 0;
}

static void take(struct model *m)
{
    size_t n = 1 + random_below(&m->random, 4);
    size_t before = m->n_held;
    if (m->n_held + n >= LINE_ROOM)
        return;
    int64_t first_ms = server_now_ms(m->s);
    int err = muster_lease_take(m->s->client, "q", n, AN_HOUR, 0, keep_taken, m);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    int64_t last_ms = server_now_ms(m->s);
    for (size_t i = before; i < m->n_held; i++)
        if (!m->held[i].was_back) {
            m->held[i].first_ms = first_ms;
            m->held[i].came_ms = last_ms;
        }
}

static void end_one(struct model *m)
{
    if (m->n_held == 0)
        return;
    size_t i = random_below(&m->random, m->n_held);
    if (random_chance(&m->random, 40)) {
        struct one one = m->held[i];
        assert_ok(muster_lease_give_back(m->s->client, m->ids[i]));
        one.was_back = true;
        add_at(m, 0, one);
    } else if (random_chance(&m->random, 30)) {
        struct one one = m->held[i];
        one.first_ms = server_now_ms(m->s);
        assert_ok(muster_lease_retry(m->s->client, m->ids[i], 0));
        one.came_ms = server_now_ms(m->s);
        one.was_back = false;
        add_at(m, m->n, one);
        m->n_in++;
    } else {
        assert_ok(muster_lease_finish(m->s->client, m->ids[i], NULL));
    }
    m->held[i] = m->held[--m->n_held];
    memmove(m->ids[i], m->ids[m->n_held], PROCESS_ID_MAX);
}

static void cancel(struct model *m)
{
    if (m->n == 0)
        return;
    size_t i = random_below(&m->random, m->n);
    assert_ok(muster_task_cancel(m->s->client, "q", m->line[i].text, strlen(m->line[i].text), NULL, NULL));
    m->n_out += !m->line[i].was_back;
    memmove(&m->line[i], &m->line[i + 1], (--m->n - i) * sizeof *m->line);
}

/* What a keeper does with each heartbeat. */
static void note(struct model *m)
{
    char before[24];
    struct script_noted_ages noted;
    snprintf(before, sizeof before, "%lld", (long long)m->before_ms);
    redisReply *r = script_call(m->s, SCRIPT_NOTE_AGES, "0", before);
    assert_ok(script_noted_ages(r, &noted));
    m->before_ms = noted.now_ms;
    freeReplyObject(r);
}

static void assert_bounds(struct model *m, const struct muster_queue_info *info, int64_t began_ms, const char *who)
{
    int64_t ended_ms = server_now_ms(m->s), oldest_ms = INT64_MAX, earliest_ms = INT64_MAX;
    for (size_t i = 0; i < m->n; i++) {
        oldest_ms = m->line[i].came_ms < oldest_ms ? m->line[i].came_ms : oldest_ms;
        earliest_ms = m->line[i].first_ms < earliest_ms ? m->line[i].first_ms : earliest_ms;
    }
    assert_int_equal(info->in, m->n_in);
    assert_int_equal(info->out, m->n_out);
    if (m->n == 0) {
        assert_int_equal(info->oldest_ms, -1);
        return;
    }
    if (info->oldest_ms > ended_ms - earliest_ms)
        fail_msg("%s: at least %lld ms are said, but it is at most %lld", who, (long long)info->oldest_ms,
                 (long long)(ended_ms - earliest_ms));
    if (info->oldest_error_ms >= 0 && info->oldest_ms + info->oldest_error_ms < began_ms - oldest_ms)
        fail_msg("%s: at most %lld + %lld ms are said, but it is at least %lld", who, (long long)info->oldest_ms,
                 (long long)info->oldest_error_ms, (long long)(began_ms - oldest_ms));
}

static void look_at_all(struct model *m)
{
    int64_t began_ms = server_now_ms(m->s);
    struct muster_queue_info info = look_anew(m->s, "q");
    assert_bounds(m, &info, began_ms, "a new client");
    began_ms = server_now_ms(m->s);
    info = look(m->viewer, "q");
    assert_bounds(m, &info, began_ms, "a viewer");
}

static void step(struct model *m, bool may_add_at_front)
{
    size_t what = random_below(&m->random, 100);
    if (what < 25)
        enqueue(m);
    else if (what < 28 && may_add_at_front)
        enqueue_at_front(m);
    else if (what < 50)
        take(m);
    else if (what < 65)
        end_one(m);
    else if (what < 70)
        cancel(m);
    else if (what < 80)
        note(m);
    else
        a_moment((int)random_below(&m->random, 8));
    if (random_chance(&m->random, 40))
        look_at_all(m);
}

static void play(struct scene *s, uint64_t seed, bool may_add_at_front)
{
    struct model m = {.s = s, .random = random_from(seed), .viewer = scene_client(s)};
    raw_do(s->server->redis, "ZADD %s:names 1 q", s->prefix);
    for (int i = 0; i < STEPS; i++)
        step(&m, may_add_at_front);
    look_at_all(&m);
    muster_client_free(m.viewer);
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
}

static void the_bound_is_never_above_the_true_age_and_within_its_error(void **state)
{
    play(*state, random_seed(1), false);
}

static void tasks_at_the_front_leave_bound_and_error_true(void **state)
{
    play(*state, random_seed(2), true);
}

/* ---- with workers that die ---- */

static void the_bound_holds_while_workers_take_and_die(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    enum { ROUNDS = 6 };
    for (int i = 0; i < ROUNDS; i++) {
        scene_enqueue_n(s, "q", "t", 20);
        int64_t came_ms = server_now_ms(s);
        const char id[] = {'w', (char)('0' + i), '\0'};
        struct live_worker *w =
            live_worker_new(s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 3, .queues = {{"q", 0}}});
        scene_await_waiting(s, "q", 0);
        struct muster_queue_info info = look(s->client, "q");
        assert_true(info.waiting > 0 || info.oldest_ms == -1);
        scene_enqueue(s, "q", "handed over");
        info = look(s->client, "q");
        assert_true(info.oldest_ms <= server_now_ms(s) - came_ms);
        live_worker_free(s, w);
    }
    struct muster_queue_info info = look(s->client, "q");
    assert_int_equal(info.in - info.out, raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix));
}

/* ---- costs ---- */

static int count_rows(const struct muster_queue_info *q, void *arg)
{
    (void)q;
    ++*(int *)arg;
    return 0;
}

static void a_look_at_a_thousand_queues_costs_few_round_trips(void **state)
{
    struct scene *s = *state;
    enum { QUEUES = 1000 };
    struct muster_client_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    int n = 0;
    for (int i = 0; i < QUEUES; i++)
        raw_do(s->server->redis, "ZADD %s:names %d q%d", s->prefix, i + 1, i);
    assert_ok(muster_queue_list(s->client, count_rows, &n));
    assert_int_equal(n, QUEUES);
    n = 0;
    assert_ok(muster_client_stats(s->client, &before));
    assert_ok(muster_queue_list(s->client, count_rows, &n));
    assert_ok(muster_client_stats(s->client, &after));
    assert_in_range(after.commands - before.commands, QUEUES * 13, QUEUES * 13 + 3 * (QUEUES / 100 + 1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(nothing_that_waits_has_no_age),
        live_test(the_first_task_where_no_worker_lives_has_its_age),
        live_test(the_keeper_of_the_timer_notes_since_when_foreign_tasks_wait),
        live_test(a_viewer_that_looks_again_knows_it_without_any_worker),
        live_test(a_queue_that_was_deleted_and_made_again_is_young),
        live_test(what_came_back_and_jobs_have_their_ages),
        live_test(what_comes_and_leaves_is_counted_whoever_pushed_it),
        live_test(a_damaged_field_is_no_age),
        live_test(the_bound_is_never_above_the_true_age_and_within_its_error),
        live_test(tasks_at_the_front_leave_bound_and_error_true),
        live_test(the_bound_holds_while_workers_take_and_die),
        live_test(a_look_at_a_thousand_queues_costs_few_round_trips),
    };
    return scene_run(tests, argc, argv);
}
