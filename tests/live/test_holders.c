/* SPDX-License-Identifier: MIT
 *
 * Leases with a holder's name: who lists them sees it, every end forgets it, and failing the name ends all of its
 * leases at once. Then the tasks are back in their order, and none of it counts against them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "jobs.h"
#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "taken.h"

#define AN_HOUR 3600000

static struct taken take_as(struct scene *s, const char *queue, const char *holder, size_t n)
{
    struct taken taken = {0};
    const struct muster_take_options o = {.size = sizeof o, .n = n, .lease_ms = AN_HOUR, .holder = holder};
    assert_ok(muster_lease_take_as(s->client, queue, &o, taken_add, &taken));
    return taken;
}

static int64_t listed(struct scene *s, const char *holder)
{
    return raw_int(s->server->redis, "ZCARD %s:holds:%s", s->prefix, holder);
}

/* Nothing is left of any name. */
static void assert_forgotten(struct scene *s, const char *queue, const char *holder)
{
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:holds:%s %s:holders:%s", s->prefix, holder, s->prefix, queue),
                     0);
}

static void assert_fails(struct scene *s, const char *holder, uint64_t expected)
{
    uint64_t given_back;
    assert_ok(muster_worker_fail(s->client, holder, &given_back));
    assert_int_equal(given_back, expected);
    assert_int_equal(listed(s, holder), 0);
}

/* ---- the list ---- */

struct seen {
    size_t n;
    char holders[64];
};

static int see(const struct muster_process_info *p, void *arg)
{
    struct seen *seen = arg;
    size_t len = strlen(seen->holders);
    seen->n++;
    snprintf(seen->holders + len, sizeof seen->holders - len, "%s ", p->holder ? p->holder : "-");
    return 0;
}

static struct seen list(struct scene *s, const char *holder)
{
    struct seen seen = {0};
    const struct muster_process_filter f = {.size = sizeof f, .holder = holder};
    assert_ok(muster_process_list(s->client, &f, see, &seen));
    return seen;
}

static void the_list_of_processes_shows_and_chooses_holders(void **state)
{
    struct scene *s = *state;
    struct seen taken = {0};
    const struct muster_take_options o = {.size = sizeof o, .holder = "a"};
    scene_enqueue_n(s, "q", "t", 4);
    assert_ok(muster_lease_take_as(s->client, "q", &o, see, &taken));
    assert_string_equal(taken.holders, "a ");
    take_as(s, "q", "b", 2);
    take_as(s, "q", NULL, 1);
    assert_int_equal(list(s, NULL).n, 4);
    assert_string_equal(list(s, "a").holders, "a ");
    assert_string_equal(list(s, "b").holders, "b b ");
    assert_int_equal(list(s, "nobody").n, 0);
    checked_assert_clean(s);
}

static void a_take_without_options_takes_one_for_half_a_minute(void **state)
{
    struct scene *s = *state;
    struct taken taken = {0};
    scene_enqueue_n(s, "q", "t", 2);
    assert_ok(muster_lease_take_as(s->client, "q", NULL, taken_add, &taken));
    assert_int_equal(taken.n, 1);
    assert_int_equal(taken.rows[0].ends_at_ms / 1000 - taken.rows[0].started_at_ms / 1000, 30);
}

static void a_name_is_that_of_a_worker(void **state)
{
    struct scene *s = *state;
    static const char *const names[] = {"", ".lease", "a b", "a:b"};
    for (size_t i = 0; i < N_OF(names); i++) {
        struct taken taken = {0};
        const struct muster_take_options o = {.size = sizeof o, .holder = names[i]};
        assert_err(muster_lease_take_as(s->client, "q", &o, taken_add, &taken), MUSTER_E_INVALID);
        assert_non_null(strstr(muster_client_error(s->client), "holder"));
    }
}

/* What a name costs is paid by those who have one. */
static void without_a_name_a_take_and_an_end_cost_what_they_did(void **state)
{
    static const char *const commands[] = {"hset", "hget", "hdel", "zadd", "zrem", "exists"};
    struct scene *s = *state;
    struct taken taken;
    int64_t calls[3][N_OF(commands)];
    for (int round = 0; round < 3; round++) { /* the first one brings what the queue keeps */
        scene_enqueue(s, "q", "t");
        for (size_t i = 0; i < N_OF(commands); i++)
            calls[round][i] = -redis_server_calls(s->server, commands[i]);
        taken = take_as(s, "q", round == 2 ? "h" : NULL, 1);
        assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
        for (size_t i = 0; i < N_OF(commands); i++)
            calls[round][i] += redis_server_calls(s->server, commands[i]);
    }
    /* Who holds it, and what the name holds: looked for and written at the take, read and removed at the end. */
    static const int64_t more[N_OF(commands)] = {1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < N_OF(commands); i++)
        if (calls[2][i] - calls[1][i] != more[i])
            fail_msg("%s: %d without a name, %d with one", commands[i], (int)calls[1][i], (int)calls[2][i]);
}

/* ---- every end forgets the name ---- */

static void finish(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_lease_finish(s->client, row->id, NULL));
}

static void give_back(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_lease_give_back(s->client, row->id));
}

static void retry(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_lease_retry(s->client, row->id, 0));
}

static void fail_it(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_lease_fail(s->client, row->id, NULL, NULL));
}

/* Its end comes, and somebody looks. */
static void let_lapse(struct scene *s, const struct taken_row *row)
{
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 1};
    assert_ok(muster_lease_extend(s->client, row->id, &o));
    await_server_ms(s, server_now_ms(s) + 1);
    assert_ok(muster_client_sweep(s->client, NULL));
}

static void cancel_and_give_back(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_process_cancel(s->client, row->id));
    assert_int_equal(listed(s, "h"), 1); /* it runs still */
    assert_err(muster_lease_give_back(s->client, row->id), MUSTER_E_CANCELLED);
}

static void delete_and_lapse(struct scene *s, const struct taken_row *row)
{
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_int_equal(listed(s, "h"), 1);
    char token[TOKEN_LEN + 1];
    token_format(token, row->token);
    raw_do(s->server->redis, "ZADD %s:leases:q 1 %s", s->prefix, token);
    raw_do(s->server->redis, "HSET %s:queue:q due 1", s->prefix);
    struct taken none = {0};
    assert_err(take_n(s, "q", 1, AN_HOUR, &none), MUSTER_E_NOT_FOUND);
}

static void each_end_forgets_the_name(void **state)
{
    static void (*const ends[])(struct scene * s, const struct taken_row *row) = {
        finish, give_back, retry, fail_it, let_lapse, cancel_and_give_back, delete_and_lapse};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ends); i++) {
        scene_enqueue(s, "q", "t");
        const struct taken taken = take_as(s, "q", "h", 1);
        assert_int_equal(listed(s, "h"), 1);
        const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 2 * AN_HOUR, .progress = "half"};
        assert_ok(muster_lease_extend(s->client, taken.rows[0].id, &o));
        assert_int_equal(list(s, "h").n, 1); /* an extension keeps it */
        ends[i](s, &taken.rows[0]);
        assert_forgotten(s, "q", "h");
        checked_assert_clean(s);
        raw_do(s->server->redis, "DEL %s:queues:q %s:returned:q %s:home:-:q %s:suspects:q", s->prefix, s->prefix,
               s->prefix, s->prefix);
        raw_do(s->server->redis, "HDEL %s:queue:q returned", s->prefix);
    }
}

static void a_job_forgets_it_too_when_it_ends_goes_on_or_is_replaced(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 4; i++) {
        job_put(s, "q", "j", NULL);
        const struct taken taken = take_as(s, "q", "h", 1);
        const struct muster_finish_options next = {.size = sizeof next, .next = "other"};
        if (i == 0) {
            assert_ok(muster_lease_finish(s->client, taken.rows[0].id, &next));
            assert_ok(muster_job_cancel(s->client, &(const char *){"j"}, 1, 0, NULL, NULL));
        } else if (i == 1) {
            job_put(s, "q", "j", "replace", "1");
            assert_int_equal(take_as(s, "q", NULL, 1).n, 1);
            assert_ok(muster_job_cancel(s->client, &(const char *){"j"}, 1, 0, NULL, NULL));
        } else if (i == 2) {
            assert_fails(s, "h", 1);
            assert_ok(muster_job_cancel(s->client, &(const char *){"j"}, 1, 0, NULL, NULL));
        } else {
            assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
        }
        assert_forgotten(s, "q", "h");
    }
    checked_assert_clean(s);
}

static void a_take_that_was_not_heard_is_given_back_with_its_name(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct muster_client *c;
    struct taken taken = {0};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .url = proxy.url, .prefix = s->prefix};
    const struct muster_take_options as = {.size = sizeof as, .n = 3, .holder = "h"};
    assert_ok(muster_client_new(&c, &o));
    assert_err(muster_lease_take_as(c, "q", &as, taken_add, &taken), MUSTER_E_NOT_FOUND); /* Redis knows the script */
    scene_enqueue_n(s, "q", "t", 3);
    proxy_trap(&proxy, lua_scripts[SCRIPT_TAKE].sha1, PROXY_REPLIES);
    assert_err(muster_lease_take_as(c, "q", &as, taken_add, &taken), MUSTER_E_CONN);
    assert_int_equal(listed(s, "h"), 3);
    muster_client_free(c);
    proxy_stop(&proxy);
    assert_forgotten(s, "q", "h");
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    checked_assert_clean(s);
}

/* ---- failing a holder ---- */

static void its_tasks_are_back_in_their_order_and_nothing_counts(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 5);
    scene_enqueue_n(s, "other", "o", 2);
    take_as(s, "q", "h", 2);
    take_as(s, "other", "h", 2);
    const struct taken kept = take_as(s, "q", "else", 1);
    take_as(s, "q", "h", 1);
    assert_fails(s, "h", 5);
    assert_queue_holds(s, "q", "t0 t1 t3 t4 ");
    assert_queue_holds(s, "other", "o0 o1 ");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:suspects:q %s:suspects:other", s->prefix, s->prefix), 0);
    assert_ok(muster_lease_finish(s->client, kept.rows[0].id, NULL));
    assert_err(muster_worker_fail(s->client, "h", NULL), MUSTER_E_NOT_FOUND);
    checked_assert_clean(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* Its lapse would have counted, and would have moved it to the failed list in the end. */
static void a_suspect_has_not_begun(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    let_lapse(s, &take_as(s, "q", "h", 1).rows[0]);
    for (int i = 0; i < 5; i++) {
        take_as(s, "q", "h", 1);
        assert_fails(s, "h", 1);
    }
    char *entry = raw_string(s->server->redis, "HVALS %s:suspects:q", s->prefix);
    assert_string_equal(entry, "0\n");
    free(entry);
    checked_assert_clean(s);
}

static void what_has_lapsed_by_then_counts_as_a_lapse(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 2);
    const struct taken taken = take_as(s, "q", "h", 2);
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 1};
    assert_ok(muster_lease_extend(s->client, taken.rows[0].id, &o));
    await_server_ms(s, server_now_ms(s) + 1);
    assert_fails(s, "h", 1);
    assert_queue_holds(s, "q", "t0 t1 ");
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:suspects:q", s->prefix), 1);
    checked_assert_clean(s);
}

static void what_was_cancelled_is_gone_instead(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(muster_process_cancel(s->client, take_as(s, "q", "h", 3).rows[1].id));
    assert_fails(s, "h", 2);
    assert_queue_holds(s, "q", "t0 t2 ");
    checked_assert_clean(s);
}

static void more_than_one_script_may_end_go_in_steps(void **state)
{
    struct scene *s = *state;
    const size_t n = 1500;
    scene_enqueue_n(s, "q", "t", (int)n);
    scene_enqueue_n(s, "other", "o", (int)n);
    for (size_t i = 0; i < n; i += 250) {
        take_as(s, "q", "h", 250);
        take_as(s, "other", "h", 250);
    }
    assert_int_equal(listed(s, "h"), 2 * n);
    assert_fails(s, "h", 2 * n);
    assert_int_equal(scene_waiting(s, "q"), n);
    assert_int_equal(scene_waiting(s, "other"), n);
    assert_int_equal(take_as(s, "q", NULL, 1).rows[0].task[1], '0');
}

static void large_tasks_go_in_steps(void **state)
{
    struct scene *s = *state;
    const size_t len = 3 << 20;
    char *task = calloc(1, len);
    for (int i = 0; i < 5; i++)
        assert_ok(muster_task_enqueue(s->client, "q", task, len, NULL));
    free(task);
    for (int i = 0; i < 5; i++)
        take_as(s, "q", "h", 1);
    int64_t before = redis_server_calls(s->server, "hstrlen");
    assert_fails(s, "h", 5);
    assert_true(redis_server_calls(s->server, "hstrlen") - before >= 5 + 4);
    assert_int_equal(scene_waiting(s, "q"), 5);
}

static void a_worker_of_that_name_is_failed_with_it(void **state)
{
    struct scene *s = *state;
    uint64_t given_back;
    live_worker_new(s, &(struct worker_spec){.id = "both", .hands = 1, .queues = {{"held", 0}}});
    scene_await_idle(s, "held", "both");
    scene_enqueue_n(s, "q", "t", 2);
    take_as(s, "q", "both", 2);
    assert_ok(muster_worker_fail(s->client, "both", &given_back));
    assert_int_equal(given_back, 2);
    assert_forgotten(s, "q", "both");
    scene_await_events(s, MUSTER_EVENT_LOST, "both", 1);
}

static void work_that_comes_back_goes_to_an_idle_worker_at_once(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    take_as(s, "q", "h", 1);
    live_worker_new(s, &(struct worker_spec){.id = "w", .hands = 1, .queues = {{"q", 0}}});
    scene_await_idle(s, "q", "w");
    assert_fails(s, "h", 1);
    scene_await_starts(s, 1);
}

/* A key of one queue has a wrong type: only its leases stay. */
static void a_damaged_queue_holds_up_no_other(void **state)
{
    struct scene *s = *state;
    uint64_t given_back;
    scene_enqueue_n(s, "bad", "b", 2);
    scene_enqueue_n(s, "q", "t", 2);
    take_as(s, "bad", "h", 1);
    take_as(s, "q", "h", 1);
    take_as(s, "bad", "h", 1);
    take_as(s, "q", "h", 1);
    raw_do(s->server->redis, "SET %s:failed:bad x", s->prefix);
    assert_err(muster_worker_fail(s->client, "h", &given_back), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(s->client), "failed:bad"));
    assert_int_equal(given_back, 2);
    assert_queue_holds(s, "q", "t0 t1 ");
    assert_int_equal(listed(s, "h"), 2);
    raw_do(s->server->redis, "DEL %s:failed:bad", s->prefix);
    assert_fails(s, "h", 2);
    assert_queue_holds(s, "bad", "b0 b1 ");
    checked_assert_clean(s);
}

/* By hand, or by a program that ends leases without a script. */
static void what_is_listed_and_not_there_is_forgotten(void **state)
{
    struct scene *s = *state;
    uint64_t given_back;
    scene_enqueue(s, "q", "t");
    take_as(s, "q", "h", 1);
    raw_do(s->server->redis, "ZADD %s:holds:h 0 00000000001:q 0 00000000002:nothing 0 ! 0 00000000001 0 00000000001q",
           s->prefix);
    assert_ok(muster_worker_fail(s->client, "h", &given_back));
    assert_int_equal(given_back, 1);
    assert_forgotten(s, "q", "h");
}

/* ---- after the end ---- */

static int see_failure(const struct muster_failure *f, void *arg)
{
    char *text = arg, *end = strchr(f->process, ':');
    sprintf(text + strlen(text), "%s of %s (%s) by %.*s ", f->group, f->job ? "a job" : "a task",
            f->holder ? f->holder : "-", (int)(end - f->process), f->process);
    return strcmp(f->worker, MUSTER_LEASE_ID);
}

/* The entry of each kind keeps the process' id, and the name beside it. */
static void an_entry_that_failed_has_the_name(void **state)
{
    struct scene *s = *state;
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    char text[256] = "";
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_fail(s->client, take_as(s, "q", NULL, 1).rows[0].id, "nobody", NULL));
    scene_enqueue(s, "q", "t");
    fail_it(s, &take_as(s, "q", "h", 1).rows[0]);
    assert_ok(muster_task_enqueue_unique(s->client, "q", "u", 1, NULL));
    fail_it(s, &take_as(s, "q", "h", 1).rows[0]);
    job_put(s, "q", "j", NULL);
    fail_it(s, &take_as(s, "q", "h", 1).rows[0]);
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 1", s->prefix);
    scene_enqueue(s, "q", "poison");
    for (int i = 0; i < 2; i++)
        let_lapse(s, &take_as(s, "q", "h", 1).rows[0]);
    assert_ok(muster_failed_list(s->client, &all, see_failure, text));
    assert_string_equal(text, "crashed of a task (h) by .lease failed of a job (h) by .lease "
                              "failed of a task (h) by .lease failed of a task (h) by .lease "
                              "nobody of a task (-) by .lease ");
    uint64_t n;
    assert_ok(muster_failed_replay(s->client, &all, &n));
    assert_int_equal(n, 5);
    checked_assert_clean(s);
}

static int see_job(const struct muster_job *job, void *arg)
{
    sprintf(arg, "%s %s", job->worker, job->holder);
    return 0;
}

static void a_job_that_runs_shows_the_name(void **state)
{
    struct scene *s = *state;
    char text[64];
    job_put(s, "q", "j", NULL);
    const struct taken taken = take_as(s, "q", "h", 1);
    assert_ok(muster_job_get(s->client, &(const char *){"j"}, 1, see_job, text));
    assert_string_equal(text, ".lease h");
    give_back(s, &taken.rows[0]);
    assert_ok(muster_job_get(s->client, &(const char *){"j"}, 1, see_job, text));
    assert_string_equal(text, " ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(the_list_of_processes_shows_and_chooses_holders),
        live_test(a_take_without_options_takes_one_for_half_a_minute),
        live_test(a_name_is_that_of_a_worker),
        live_test(without_a_name_a_take_and_an_end_cost_what_they_did),
        live_test(each_end_forgets_the_name),
        live_test(a_job_forgets_it_too_when_it_ends_goes_on_or_is_replaced),
        live_test(a_take_that_was_not_heard_is_given_back_with_its_name),
        live_test(its_tasks_are_back_in_their_order_and_nothing_counts),
        live_test(a_suspect_has_not_begun),
        live_test(what_has_lapsed_by_then_counts_as_a_lapse),
        live_test(what_was_cancelled_is_gone_instead),
        live_test(more_than_one_script_may_end_go_in_steps),
        live_test(large_tasks_go_in_steps),
        live_test(a_worker_of_that_name_is_failed_with_it),
        live_test(work_that_comes_back_goes_to_an_idle_worker_at_once),
        live_test(a_damaged_queue_holds_up_no_other),
        live_test(what_is_listed_and_not_there_is_forgotten),
        live_test(an_entry_that_failed_has_the_name),
        live_test(a_job_that_runs_shows_the_name),
    };
    return scene_run(tests, argc, argv);
}
