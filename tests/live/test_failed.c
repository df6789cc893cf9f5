/* SPDX-License-Identifier: MIT
 *
 * The failed list: what an entry shows, how the list is looked through, and what replay and drop move. Its bounds:
 * test_failed_bounds.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "taken.h"
#include "worker_process.h"

/* ---- tools ---- */

/* Fails what it is handed, with another client than the one that takes. */
struct failer {
    struct muster_client *client;
    const char *group;
    int err;
};

static int fail_taken(const struct muster_process_info *p, void *arg)
{
    struct failer *f = arg;
    int err = muster_lease_fail(f->client, p->id, f->group, NULL);
    f->err = f->err ? f->err : err;
    return 0;
}

/* Enqueue and fail n tasks "<stem>0", "<stem>1", ... of an empty queue. */
static void fail_n(struct scene *s, const char *queue, const char *group, const char *stem, int n)
{
    struct failer f = {scene_client(s), group, MUSTER_OK};
    int err = MUSTER_OK;
    scene_enqueue_n(s, queue, stem, n);
    for (int left = n; left > 0 && !err; left -= MUSTER_LEASE_TAKE_MAX)
        err = muster_lease_take(s->client, queue, MUSTER_LEASE_TAKE_MAX, 600000, 0, fail_taken, &f);
    muster_client_free(f.client);
    assert_ok(err);
    assert_ok(f.err);
}

/* "task task " as they come, and the entries' names. */
struct listed {
    size_t n, stop_after;
    char tasks[256], entries[64][TOKEN_LEN + 1];
};

static int add_failure(const struct muster_failure *failure, void *arg)
{
    struct listed *l = arg;
    size_t used = strlen(l->tasks);
    if (l->n < 64)
        snprintf(l->entries[l->n], sizeof l->entries[0], "%s", failure->entry);
    if (used + 32 < sizeof l->tasks)
        snprintf(l->tasks + used, sizeof l->tasks - used, "%.*s ", (int)failure->len, (const char *)failure->task);
    return ++l->n == l->stop_after;
}

static struct listed list(struct scene *s, const struct muster_failed_filter *f)
{
    struct listed l = {0};
    assert_ok(muster_failed_list(s->client, f, add_failure, &l));
    return l;
}

#define FILTER(...) (&(const struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), __VA_ARGS__})
#define assert_listed(s, tasks_, ...) assert_string_equal(list(s, FILTER(__VA_ARGS__)).tasks, tasks_)

/* ---- looking ---- */

struct exact {
    struct muster_failure failure;
    char entry[TOKEN_LEN + 1], process[PROCESS_ID_MAX], worker[65], group[201];
    unsigned char task[256], message[256];
};

static int keep_failure(const struct muster_failure *failure, void *arg)
{
    struct exact *e = arg;
    e->failure = *failure;
    snprintf(e->entry, sizeof e->entry, "%s", failure->entry);
    snprintf(e->process, sizeof e->process, "%s", failure->process);
    snprintf(e->worker, sizeof e->worker, "%s", failure->worker);
    snprintf(e->group, sizeof e->group, "%s", failure->group);
    memcpy(e->task, failure->task, failure->len);
    memcpy(e->message, failure->message.data, failure->message.len);
    return 0;
}

/* Of all bytes, with colons and digits where the format has some. */
static void an_entry_shows_whose_it_was_and_why(void **state)
{
    struct scene *s = *state;
    unsigned char task[256];
    struct exact e = {0};
    struct taken taken;
    for (int i = 0; i < 256; i++)
        task[i] = (unsigned char)i;
    assert_ok(muster_task_enqueue(s->client, "a:b", task, 256, NULL));
    assert_ok(take_n(s, "a:b", 1, 3600000, &taken));
    int64_t before_ms = server_now_ms(s);
    assert_ok(muster_lease_fail(s->client, taken.rows[0].id, "3:g: \xc3\xa4", "7:why:\nline 2"));
    int64_t after_ms = server_now_ms(s);
    assert_ok(muster_failed_list(s->client, FILTER(.queue = "a:b"), keep_failure, &e));
    assert_int_equal(strlen(e.entry), TOKEN_LEN);
    assert_string_equal(e.process, taken.rows[0].id);
    assert_string_equal(e.worker, MUSTER_LEASE_ID);
    assert_string_equal(e.group, "3:g: \xc3\xa4");
    assert_int_equal(e.failure.message.len, strlen("7:why:\nline 2"));
    assert_memory_equal(e.message, "7:why:\nline 2", e.failure.message.len);
    assert_in_range(e.failure.failed_at_ms, before_ms, after_ms);
    assert_int_equal(e.failure.len, 256);
    assert_memory_equal(e.task, task, 256);
}

static void the_empty_task_fails_with_the_default_group_and_no_message(void **state)
{
    struct scene *s = *state;
    struct exact e = {0};
    scene_enqueue(s, "q", "");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", ""), NULL, NULL));
    assert_ok(muster_failed_list(s->client, FILTER(.queue = "q"), keep_failure, &e));
    assert_string_equal(e.group, "failed");
    assert_int_equal(e.failure.message.len, 0);
    assert_int_equal(e.failure.len, 0);
}

static void a_workers_failure_names_the_worker(void **state)
{
    struct scene *s = *state;
    struct exact e = {0};
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_FAIL, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_ok(muster_failed_list(s->client, FILTER(.queue = "q"), keep_failure, &e));
    assert_string_equal(e.worker, "w1");
    assert_int_equal(strncmp(e.process, "w1:", 3), 0);
}

static void the_newest_come_first_and_the_filter_restricts(void **state)
{
    struct scene *s = *state;
    fail_n(s, "q", "a", "a", 3);
    fail_n(s, "q", "b", "b", 2);
    fail_n(s, "q", "a", "c", 1);
    assert_listed(s, "c0 b1 b0 a2 a1 a0 ", .queue = "q");
    assert_listed(s, "c0 b1 ", .queue = "q", .n = 2);
    assert_listed(s, "b0 a2 ", .queue = "q", .offset = 2, .n = 2);
    assert_listed(s, "a0 ", .queue = "q", .offset = 5);
    assert_listed(s, "", .queue = "q", .offset = 6);
    assert_listed(s, "c0 a2 a1 a0 ", .queue = "q", .group = "a");
    assert_listed(s, "a2 a1 ", .queue = "q", .group = "a", .offset = 1, .n = 2);
    assert_listed(s, "", .queue = "q", .group = "c");
    assert_listed(s, "", .queue = "other");
    struct listed two = {.stop_after = 2};
    assert_ok(muster_failed_list(s->client, FILTER(.queue = "q"), add_failure, &two));
    assert_string_equal(two.tasks, "c0 b1 ");
}

static void a_long_list_is_seen_whole(void **state)
{
    struct scene *s = *state;
    fail_n(s, "q", "g", "t", 333);
    assert_int_equal(list(s, FILTER(.queue = "q")).n, 333);
    assert_int_equal(list(s, FILTER(.queue = "q", .group = "g", .offset = 300)).n, 33);
    assert_int_equal(list(s, FILTER(.queue = "q", .n = 320)).n, 320);
}

static uint64_t n_sent(struct scene *s)
{
    struct muster_client_stats stats = {.size = sizeof stats};
    assert_ok(muster_client_stats(s->client, &stats));
    return stats.commands;
}

/* Whatever lies before the rows that are wanted is not read. */
static void what_the_offset_leaves_out_is_not_read(void **state)
{
    struct scene *s = *state;
    fail_n(s, "q", "g", "t", 333);
    uint64_t before = n_sent(s);
    assert_listed(s, "t2 t1 t0 ", .queue = "q", .offset = 330);
    assert_in_range(n_sent(s) - before, 1, 4);
    assert_listed(s, "", .queue = "q", .offset = UINT64_MAX);
    assert_listed(s, "", .queue = "q", .group = "g", .offset = UINT64_MAX);
}

static int note_id(const struct muster_process_info *process, void *id)
{
    snprintf(id, PROCESS_ID_MAX, "%s", process->id);
    return 0;
}

static int count_delayed(const struct muster_delayed_task *task, void *n)
{
    (void)task;
    ++*(int *)n;
    return 0;
}

static void behind_the_last_place_there_is_nothing(void **state)
{
    static const uint64_t places[] = {1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
    struct scene *s = *state;
    int n = 0;
    char id[PROCESS_ID_MAX];
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_take(s->client, "q", 1, 600000, 0, note_id, id));
    assert_ok(muster_lease_retry(s->client, id, 600000));
    for (size_t i = 0; i < N_OF(places); i++)
        assert_ok(muster_task_peek_delayed(s->client, "q", places[i], 9, count_delayed, &n));
    assert_int_equal(n, 0);
    assert_ok(muster_task_peek_delayed(s->client, "q", 0, UINT64_MAX, count_delayed, &n));
    assert_int_equal(n, 1);
}

static void entries_are_found_by_their_names(void **state)
{
    struct scene *s = *state;
    fail_n(s, "q", "g", "t", 4);
    const struct listed all = list(s, FILTER(.queue = "q"));
    const char *const some[] = {all.entries[3], all.entries[1], "00000000001", all.entries[3]};
    assert_listed(s, "t2 t0 ", .queue = "q", .entries = some, .n_entries = 4);
    assert_listed(s, "t2 ", .queue = "q", .entries = some, .n_entries = 4, .n = 1);
    assert_listed(s, "", .queue = "q", .entries = some, .n_entries = 0);
}

static void count_line(enum muster_log_level level, const char *line, void *arg)
{
    if (level == MUSTER_LOG_WARN && strstr(line, "not muster's"))
        ++*(int *)arg;
}

static void what_is_no_entry_is_passed_over_and_said(void **state)
{
    static const char *const members[] = {
        "nonsense",
        "",
        "0123456789a:1:1:1:",
        "0123456789a:9:1:1:wgm",
        "0123456789:1:1:1:wgm",
        "0123456789a:1:1:-1:wg",
        "0123456789a:1:99999999999999999999:1:wgm",
        "::::",
    };
    struct scene *s = *state;
    int n_lines = 0;
    fail_n(s, "q", "g", "t", 1);
    for (size_t i = 0; i < N_OF(members); i++)
        raw_do(s->server->redis, "ZADD %s:failed:q %d %s", s->prefix, (int)i, members[i]);
    muster_log_set(count_line, &n_lines);
    const struct listed l = list(s, FILTER(.queue = "q"));
    muster_log_set(NULL, NULL);
    raw_do(s->server->redis, "ZREMRANGEBYSCORE %s:failed:q 0 %d", s->prefix, (int)N_OF(members));
    assert_string_equal(l.tasks, "t0 ");
    assert_int_equal(n_lines, N_OF(members));
}

/* ---- groups ---- */

static int add_group(const struct muster_failed_group *group, void *arg)
{
    char *text = arg;
    size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%s/%s=%d ", group->queue, group->group, (int)group->n);
    return 0;
}

static void groups_are_counted_by_queue(void **state)
{
    struct scene *s = *state;
    char of_q[256] = "", of_all[256] = "", of_none[256] = "";
    fail_n(s, "q", "a:1", "t", 3);
    fail_n(s, "q", "b", "t", 1);
    fail_n(s, "r", "b", "t", 2);
    scene_enqueue(s, "nothing failed", "t");
    assert_ok(muster_failed_groups(s->client, "q", add_group, of_q));
    assert_non_null(strstr(of_q, "q/a:1=3 "));
    assert_non_null(strstr(of_q, "q/b=1 "));
    assert_int_equal(strlen(of_q), strlen("q/a:1=3 q/b=1 "));
    assert_ok(muster_failed_groups(s->client, NULL, add_group, of_all));
    assert_int_equal(strlen(of_all), strlen("q/a:1=3 q/b=1 r/b=2 "));
    assert_non_null(strstr(of_all, "r/b=2 "));
    assert_ok(muster_failed_groups(s->client, "no such queue", add_group, of_none));
    assert_string_equal(of_none, "");
    assert_ok(muster_failed_drop(s->client, FILTER(.queue = "q", .group = "b"), NULL));
    of_q[0] = '\0';
    assert_ok(muster_failed_groups(s->client, "q", add_group, of_q));
    assert_string_equal(of_q, "q/a:1=3 ");
}

/* ---- replay and drop ---- */

static void replay_puts_the_oldest_first_to_the_end_of_the_queue(void **state)
{
    struct scene *s = *state;
    uint64_t n = 99;
    fail_n(s, "q", "g", "t", 3);
    scene_enqueue(s, "q", "waiting");
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q", .n = 2), &n));
    assert_int_equal(n, 2);
    assert_queue_holds(s, "q", "waiting t0 t1 ");
    assert_listed(s, "t2 ", .queue = "q");
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q"), &n));
    assert_int_equal(n, 1);
    assert_queue_holds(s, "q", "waiting t0 t1 t2 ");
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q"), &n));
    assert_int_equal(n, 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q %s:failures:q", s->prefix, s->prefix), 0);
}

static void replay_hands_over_to_idle_workers(void **state)
{
    struct scene *s = *state;
    fail_n(s, "q", "g", "t", 2);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600000, .queues = {{"q", 0}}});
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q"), NULL));
    scene_await_starts(s, 2);
    scene_assert_started(s, 0, (const char *const[]){"t0", "t1", NULL});
}

/* Otherwise a replay and a worker that fails all of it would keep each other busy. */
static void what_fails_again_at_once_is_replayed_once(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    fail_n(s, "q", "failed", "t", 1000);
    worker_process_idle(s,
                        &(struct worker_spec){.id = "w1", .hands = 500, .answer = MUSTER_FAIL, .queues = {{"q", 0}}});
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q"), &n));
    assert_int_equal(n, 1000);
    raw_await(s->server->redis, NULL, 1000, "ZCARD %s:failed:q", s->prefix);
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q", .group = "failed"), &n));
    assert_int_equal(n, 1000);
    raw_await(s->server->redis, NULL, 1000, "ZCARD %s:failed:q", s->prefix);
    assert_int_equal(scene_starts(s), 2000);
}

static void only_a_group_is_replayed_or_dropped(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    for (int i = 0; i < 3; i++) {
        char stem[8];
        snprintf(stem, sizeof stem, "%c", 'a' + i);
        fail_n(s, "q", i == 1 ? "odd" : "even", stem, 150);
    }
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q", .group = "odd", .n = 149), &n));
    assert_int_equal(n, 149);
    assert_ok(muster_failed_drop(s->client, FILTER(.queue = "q", .group = "even"), &n));
    assert_int_equal(n, 300);
    assert_listed(s, "b149 ", .queue = "q");
    assert_int_equal(queue_row_of(s, "q").waiting, 149);
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q", .group = "none such"), &n));
    assert_int_equal(n, 0);
}

/* Between two steps of a call others take what lies before the place that it has reached. */
struct taker {
    struct scene *s;
    struct muster_client *client;
    bool has_come;
};

static int take_others(const struct muster_progress *progress, void *arg)
{
    struct taker *t = arg;
    (void)progress;
    if (!t->has_come)
        assert_ok(muster_failed_drop(t->client, FILTER(.queue = "q", .group = "other"), NULL));
    t->has_come = true;
    return 0;
}

typedef int move_fn(struct muster_client *c, const struct muster_failed_filter *f, uint64_t *n);

static void assert_group_is_moved_beside_others(struct scene *s, move_fn *move)
{
    struct taker t = {s, scene_client(s), false};
    uint64_t n;
    fail_n(s, "q", "other", "o", 150);
    fail_n(s, "q", "g", "t", 150);
    muster_client_set_progress(s->client, take_others, &t);
    assert_ok(move(s->client, FILTER(.queue = "q", .group = "g"), &n));
    muster_client_set_progress(s->client, NULL, NULL);
    muster_client_free(t.client);
    assert_true(t.has_come);
    assert_int_equal(n, 150);
    assert_listed(s, "", .queue = "q");
}

static void a_group_is_moved_whole_while_others_move_theirs(void **state)
{
    assert_group_is_moved_beside_others(*state, muster_failed_drop);
    assert_group_is_moved_beside_others(*state, muster_failed_replay);
}

static void entries_go_by_name_each_once_and_the_oldest_first(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    fail_n(s, "q", "g", "t", 4);
    const struct listed all = list(s, FILTER(.queue = "q"));
    const char *const some[] = {all.entries[0], all.entries[3], all.entries[0], all.entries[1]};
    assert_ok(muster_failed_replay(s->client, FILTER(.queue = "q", .entries = some, .n_entries = 4), &n));
    assert_int_equal(n, 3);
    assert_queue_holds(s, "q", "t0 t2 t3 ");
    assert_listed(s, "t1 ", .queue = "q");
    char figures[256] = "";
    assert_ok(muster_failed_groups(s->client, "q", add_group, figures));
    assert_string_equal(figures, "q/g=1 ");
}

static void an_entry_that_is_not_there_is_said_and_the_others_are_seen_to(void **state)
{
    struct scene *s = *state;
    uint64_t n = 99;
    fail_n(s, "q", "g", "t", 3);
    const struct listed all = list(s, FILTER(.queue = "q"));
    const char *const some[] = {all.entries[1], "00000000001", all.entries[0]};
    const struct muster_failed_filter *f = FILTER(.queue = "q", .entries = some, .n_entries = 3);
    assert_err(muster_failed_drop(s->client, f, &n), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_client_error(s->client), "1 of the entries"));
    assert_int_equal(n, 2);
    assert_listed(s, "t0 ", .queue = "q");
    assert_err(muster_failed_replay(s->client, f, &n), MUSTER_E_NOT_FOUND);
    assert_int_equal(n, 0);
    assert_err(muster_failed_drop(s->client, FILTER(.queue = "other", .entries = some, .n_entries = 1), &n),
               MUSTER_E_NOT_FOUND);
    assert_ok(muster_failed_drop(s->client, FILTER(.queue = "q", .entries = some, .n_entries = 0), &n));
    assert_int_equal(n, 0);
}

static int keep_name(const struct muster_failure *failure, void *arg)
{
    char(**at)[TOKEN_LEN + 1] = arg;
    snprintf(*(*at)++, TOKEN_LEN + 1, "%s", failure->entry);
    return 0;
}

static void more_entries_than_one_call_holds_all_go(void **state)
{
    enum { N = 1201 };
    struct scene *s = *state;
    static char names[N][TOKEN_LEN + 1];
    static const char *entries[N];
    char(*at)[TOKEN_LEN + 1] = names;
    uint64_t n;
    fail_n(s, "q", "g", "t", N);
    fail_n(s, "q", "g", "last", 1);
    assert_ok(muster_failed_list(s->client, FILTER(.queue = "q", .offset = 1), keep_name, &at));
    for (size_t i = 0; i < N; i++)
        entries[i] = names[i];
    assert_ok(muster_failed_drop(s->client, FILTER(.queue = "q", .entries = entries, .n_entries = N), &n));
    assert_int_equal(n, N);
    assert_listed(s, "last0 ", .queue = "q");
}

/* ---- refusals ---- */

static void what_is_not_allowed_is_refused_before_it_is_sent(void **state)
{
    struct scene *s = *state;
    const char *const good[] = {"00000000001"}, *const bad[] = {"00000000001", "not a token"};
    const struct {
        struct muster_failed_filter filter;
        bool may_list;
    } cases[] = {
        {{.queue = NULL}, false},
        {{.queue = ""}, false},
        {{.queue = "q", .group = ""}, false},
        {{.queue = "q", .group = "a\n"}, false},
        {{.queue = "q", .group = "g", .entries = good, .n_entries = 1}, false},
        {{.queue = "q", .n_entries = 1}, false},
        {{.queue = "q", .entries = bad, .n_entries = 2}, false},
        {{.queue = "q", .offset = 1}, true},
    };
    struct listed l = {0};
    uint64_t n = 99;
    fail_n(s, "q", "g", "t", 1);
    int64_t before = redis_server_calls(s->server, NULL);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct muster_failed_filter f = cases[i].filter;
        f.size = sizeof f;
        assert_err(muster_failed_replay(s->client, &f, &n), MUSTER_E_INVALID);
        assert_int_equal(n, 0);
        assert_err(muster_failed_drop(s->client, &f, &n), MUSTER_E_INVALID);
        if (!cases[i].may_list)
            assert_err(muster_failed_list(s->client, &f, add_failure, &l), MUSTER_E_INVALID);
    }
    assert_err(muster_failed_groups(s->client, "", add_group, &l), MUSTER_E_INVALID);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
}

static void a_key_of_a_wrong_type_changes_nothing(void **state)
{
    static const char *const keys[] = {"failed:q", "failures:q", "queues:q"};
    struct scene *s = *state;
    char before[41], after[41];
    const char *const one[] = {"00000000001"};
    for (size_t i = 0; i < N_OF(keys); i++) {
        raw_do(s->server->redis, "FLUSHALL");
        fail_n(s, "q", "g", "t", 2);
        raw_do(s->server->redis, "DEL %s:%s", s->prefix, keys[i]);
        raw_do(s->server->redis, "SET %s:%s damage", s->prefix, keys[i]);
        redis_server_digest(s->server, before);
        assert_err(muster_failed_replay(s->client, FILTER(.queue = "q"), NULL), MUSTER_E_REDIS);
        assert_err(muster_failed_replay(s->client, FILTER(.queue = "q", .entries = one, .n_entries = 1), NULL),
                   MUSTER_E_REDIS);
        if (!strstr(muster_client_error(s->client), keys[i]))
            fail_msg("%s is not named: %s", keys[i], muster_client_error(s->client));
        redis_server_digest(s->server, after);
        assert_string_equal(before, after);
    }
    raw_do(s->server->redis, "FLUSHALL");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_entry_shows_whose_it_was_and_why),
        live_test(the_empty_task_fails_with_the_default_group_and_no_message),
        live_test(a_workers_failure_names_the_worker),
        live_test(the_newest_come_first_and_the_filter_restricts),
        live_test(a_long_list_is_seen_whole),
        live_test(what_the_offset_leaves_out_is_not_read),
        live_test(behind_the_last_place_there_is_nothing),
        live_test(entries_are_found_by_their_names),
        live_test(what_is_no_entry_is_passed_over_and_said),
        live_test(groups_are_counted_by_queue),
        live_test(replay_puts_the_oldest_first_to_the_end_of_the_queue),
        live_test(replay_hands_over_to_idle_workers),
        live_test(what_fails_again_at_once_is_replayed_once),
        live_test(only_a_group_is_replayed_or_dropped),
        live_test(a_group_is_moved_whole_while_others_move_theirs),
        live_test(entries_go_by_name_each_once_and_the_oldest_first),
        live_test(an_entry_that_is_not_there_is_said_and_the_others_are_seen_to),
        live_test(more_entries_than_one_call_holds_all_go),
        live_test(what_is_not_allowed_is_refused_before_it_is_sent),
        live_test(a_key_of_a_wrong_type_changes_nothing),
    };
    return scene_run(tests, argc, argv);
}
