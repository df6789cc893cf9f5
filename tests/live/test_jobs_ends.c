/* SPDX-License-Identifier: MIT
 *
 * Jobs under leases: taken with their records, mixed with plain tasks, and ended in every way that a process can end;
 * the failed list with jobs on it, and the list of processes.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "taken.h"

#define AN_HOUR 3600000
#define SHORT 30

#define FINISH(...) (&(struct muster_finish_options){.size = sizeof(struct muster_finish_options), __VA_ARGS__})
#define EXTEND(...) (&(struct muster_extend_options){.size = sizeof(struct muster_extend_options), __VA_ARGS__})
#define FAILED(...) (&(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), __VA_ARGS__})

/* ---- taking ---- */

static int note_what(const struct muster_process_info *p, void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), "%s%.*s ", p->job ? "job:" : "", (int)p->len, p->task ? (const char *)p->task : "");
    assert_true(!p->job == !p->record);
    assert_null(muster_process_id_check(p->id));
    assert_in_range(p->ends_at_ms, p->started_at_ms + AN_HOUR - 1000, p->started_at_ms + AN_HOUR + 1000);
    return 0;
}

static void tasks_and_jobs_come_out_in_turn_between_those_of_other_priorities(void **state)
{
    struct scene *s = *state;
    char text[256] = "";
    size_t jobs = 0, tasks = 0;
    job_put(s, "q", JOB_SPEC(.id = "last", .data = BYTES("last"), .priority = 1));
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", JOB_SPEC(.id = id, .data = {id, strlen(id)}));
    }
    scene_enqueue_n(s, "q", "t", 3);
    job_put(s, "q", JOB_SPEC(.id = "first", .data = BYTES("first"), .priority = -1));
    assert_ok(muster_lease_take(s->client, "q", 100, AN_HOUR, 0, note_what, text));
    assert_memory_equal(text, "job:first ", 10);
    assert_string_equal(text + strlen(text) - 9, "job:last ");
    for (const char *at = text + 10; *at; at = strchr(at, ' ') + 1) { /* each kind in its own order */
        char expected[16];
        bool is_job = !strncmp(at, "job:", 4);
        if (strncmp(at, "job:last", 8) == 0)
            break;
        snprintf(expected, sizeof expected, is_job ? "job:j%zu " : "t%zu ", is_job ? jobs++ : tasks++);
        assert_memory_equal(at, expected, strlen(expected));
    }
    assert_int_equal(jobs, 3);
    assert_int_equal(tasks, 3);
    assert_int_equal(queue_row_of(s, "q").running, 8);
}

static int stop_at_first(const struct muster_process_info *p, void *arg)
{
    (void)p;
    ++*(int *)arg;
    return 1;
}

static void what_is_not_handed_out_is_leased_all_the_same(void **state)
{
    struct scene *s = *state;
    int n = 0;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    assert_ok(muster_lease_take(s->client, "q", 2, AN_HOUR, 0, stop_at_first, &n));
    assert_int_equal(n, 1);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_RUNNING), 2);
}

static int note_process(const struct muster_process_info *p, void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), "%s:%s=%.*s%s ", p->job ? p->job : "", p->progress, (int)p->len,
            p->task ? (const char *)p->task : "", p->cancelled ? "!" : "");
    assert_null(p->record);
    return 0;
}

static void processes_are_listed_with_their_jobs_and_data(void **state)
{
    struct scene *s = *state;
    char text[256] = "";
    const struct muster_bytes wanted = BYTES("data");
    const struct muster_process_filter f = {.size = sizeof f, .queue = "q", .task = &wanted};
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("data"), .priority = -1));
    job_put(s, "q", JOB_SPEC(.id = "b", .data = BYTES("other"), .priority = -1));
    const char *a = job_take(s, "q", "a");
    job_take(s, "q", "b");
    assert_ok(muster_lease_extend(s->client, a, EXTEND(.lease_ms = AN_HOUR, .progress = "half")));
    assert_ok(muster_process_list(s->client, NULL, note_process, text));
    assert_true(!strcmp(text, "a:half=data b:=other ") || !strcmp(text, "b:=other a:half=data "));
    *text = '\0';
    assert_ok(muster_process_list(s->client, &f, note_process, text));
    assert_string_equal(text, "a:half=data ");
}

/* Its data went with it. A new job of that id has its own. */
static void the_process_of_a_cancelled_job_is_listed_without_data(void **state)
{
    struct scene *s = *state;
    char text[256] = "";
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("data")));
    job_take(s, "q", "a");
    assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
    assert_ok(muster_process_list(s->client, NULL, note_process, text));
    assert_string_equal(text, "a:=! ");
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("new")));
    job_take(s, "q", "a");
    *text = '\0';
    assert_ok(muster_process_list(s->client, NULL, note_process, text));
    assert_true(!strcmp(text, "a:=! a:=new ") || !strcmp(text, "a:=new a:=! "));
}

/* ---- finish ---- */

static void a_finish_may_bring_a_result_that_the_record_keeps(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    const char *process = job_take(s, "q", "a");
    assert_ok(muster_lease_finish(s->client, process, FINISH(.result = &(struct muster_bytes)BYTES("42"))));
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_COMPLETE);
    assert_true(job.has_result);
    assert_string_equal(job.result, "42");
    assert_string_equal(job.worker, "");
    assert_string_equal(job.history, "put taken=.lease completed=.lease ");
    assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_LOST);
    job_put(s, "q", JOB_SPEC(.id = "b"));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "b"), NULL));
    assert_false(job_look(s, "b").has_result);
}

static void a_finish_leads_into_a_next_queue(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "other", .priority = 9));
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("d")));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"),
                                  FINISH(.next = "r", .result = &(struct muster_bytes)BYTES("1"))));
    struct job_seen job = job_look(s, "a");
    assert_string_equal(job.queue, "r");
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_string_equal(job.result, "1");
    assert_string_equal(job.history, "put taken=.lease advanced=r put=q ");
    int64_t before_ms = server_now_ms(s);
    assert_ok(muster_lease_finish(s->client, job_take(s, "r", "a"), FINISH(.next = "r", .delay_ms = AN_HOUR)));
    job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_in_range(job.due_at_ms, before_ms + AN_HOUR, server_now_ms(s) + AN_HOUR);
    job_put(s, "r", JOB_SPEC(.id = "a", .replace = 1, .delay_ms = MUSTER_ZERO));
    assert_ok(muster_lease_finish(s->client, job_take(s, "r", "a"),
                                  FINISH(.next = "q", .after = IDS("other", "nobody"), .n_after = 2)));
    job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_DEPENDS);
    assert_string_equal(job.after, "other ");
}

static void on_its_way_a_job_does_not_wait_for_itself(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "every", .every_ms = AN_HOUR, .offset_ms = AN_HOUR));
    const char *process = job_take(s, "q", "a");
    for (size_t i = 0; i < 3; i++) {
        const char *on = ((const char *const[]){"a", "b", "every"})[i];
        assert_err(muster_lease_finish(s->client, process, FINISH(.next = "r", .after = &on, .n_after = 1)),
                   MUSTER_E_INVALID);
        assert_words(s, "itself");
    }
    assert_string_equal(job_look(s, "a").process, process);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_job_state(s, "b", MUSTER_JOB_WAITING);
}

static void nor_when_the_queue_that_it_leaves_is_deleted(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "r", JOB_SPEC(.id = "every", .every_ms = AN_HOUR, .offset_ms = AN_HOUR));
    const char *process = job_take(s, "q", "a");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_err(muster_lease_finish(s->client, process, FINISH(.next = "r", .after = IDS("every"), .n_after = 1)),
               MUSTER_E_INVALID);
    assert_string_equal(job_look(s, "a").process, process);
    checked_assert_clean(s);
    assert_ok(muster_lease_finish(s->client, process, FINISH(.next = "r")));
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
}

static void what_makes_no_next_queue_is_refused(void **state)
{
    struct scene *s = *state;
    static const char *many[MUSTER_JOB_AFTER_MAX + 1];
    for (size_t i = 0; i < N_OF(many); i++)
        many[i] = "id";
    scene_enqueue(s, "q", "plain");
    const char *plain = take_one(s, "q", "plain");
    assert_err(muster_lease_finish(s->client, plain, FINISH(.next = "r")), MUSTER_E_STATE);
    assert_words(s, "plain task");
    job_put(s, "q", JOB_SPEC(.id = "a"));
    const char *process = job_take(s, "q", "a");
    assert_err(muster_lease_finish(s->client, process, FINISH(.next = "")), MUSTER_E_INVALID);
    assert_err(muster_lease_finish(s->client, process, FINISH(.delay_ms = 5)), MUSTER_E_INVALID);
    assert_err(muster_lease_finish(s->client, process, FINISH(.after = IDS("b"), .n_after = 1)), MUSTER_E_INVALID);
    assert_err(muster_lease_finish(s->client, process, FINISH(.next = "r", .delay_ms = -1)), MUSTER_E_INVALID);
    assert_err(muster_lease_finish(s->client, process, FINISH(.next = "r", .after = IDS("a\nb"), .n_after = 1)),
               MUSTER_E_INVALID);
    assert_err(muster_lease_finish(s->client, process, FINISH(.next = "r", .after = many, .n_after = N_OF(many))),
               MUSTER_E_TOO_BIG);
    assert_err(muster_lease_finish(s->client, "w:00000000001:q", FINISH(.next = "r")), MUSTER_E_LOST);
    assert_job_state(s, "a", MUSTER_JOB_RUNNING);
    assert_ok(muster_lease_finish(s->client, plain, NULL));
}

/* ---- back, retry, fail ---- */

static void a_job_that_is_given_back_is_where_it_was(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    assert_ok(muster_lease_give_back(s->client, job_take(s, "q", "a")));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a b ");
    assert_int_equal(job_look(s, "a").retried + job_look(s, "a").crashes, 0);
}

static void a_job_has_as_many_retries_as_it_was_given(void **state)
{
    struct scene *s = *state;
    const struct muster_backoff backoff = {.delay_ms = AN_HOUR, .exponential = 1};
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = 2, .backoff = &backoff));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), 0));
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    int64_t before_ms = server_now_ms(s);
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), -1));
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_int_equal(job.retried, 2);
    assert_in_range(job.due_at_ms, before_ms + 2 * AN_HOUR, server_now_ms(s) + 2 * AN_HOUR);
    job_put(s, "q", JOB_SPEC(.id = "b", .retries = 1, .data = BYTES("b")));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "b"), 0));
    const struct muster_lease_end last[] = {
        {.size = sizeof *last, .process = job_take(s, "q", "b"), .outcome = MUSTER_RETRY}};
    int told;
    assert_err(muster_lease_end_many(s->client, last, 1, &told), MUSTER_E_EXHAUSTED);
    assert_int_equal(told, MUSTER_E_EXHAUSTED);
    assert_words(s, "it has failed for good");
    assert_string_equal(job_look(s, "b").group, "failed-retries");
    assert_err(muster_lease_retry(s->client, "w:00000000001:q", -2), MUSTER_E_INVALID);
    assert_err(muster_lease_retry(s->client, "w:00000000001:q", INT64_MAX / 4096), MUSTER_E_LOST);
    assert_err(muster_lease_retry(s->client, "w:00000000001:q", INT64_MAX / 4096 + 1), MUSTER_E_INVALID);
    assert_err(muster_lease_retry(s->client, "w:00000000001:q", INT64_MAX), MUSTER_E_INVALID);
}

static void a_job_without_retries_fails_at_its_first(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = MUSTER_ZERO));
    assert_err(muster_lease_retry(s->client, job_take(s, "q", "a"), -1), MUSTER_E_EXHAUSTED);
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_FAILED);
    assert_string_equal(job.group, "failed-retries");
}

static void a_retry_comes_due_by_the_clock_of_redis(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), SHORT));
    await_server_ms(s, job_look(s, "a").due_at_ms);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    assert_string_equal(job_look(s, "a").history, "put taken=.lease retried ready taken=.lease completed=.lease ");
}

static void a_lease_that_lapses_makes_a_suspect_and_three_more_fail_the_job(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    for (int i = 0; i <= 3; i++) {
        assert_ok(take_n(s, "q", 1, SHORT, &taken));
        await_server_ms(s, taken.rows[0].ends_at_ms);
        assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
        assert_int_equal(job_look(s, "a").crashes, i);
    }
    assert_job_state(s, "a", MUSTER_JOB_FAILED);
    assert_string_equal(job_look(s, "a").group, "crashed");
}

/* ---- extending ---- */

static void new_data_are_what_the_next_taker_gets(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old")));
    const char *process = job_take(s, "q", "a");
    assert_ok(muster_lease_extend(s->client, process, EXTEND(.data = &(struct muster_bytes)BYTES("new"))));
    assert_string_equal(job_look(s, "a").data, "new");
    assert_ok(muster_lease_give_back(s->client, process));
    process = take_one(s, "q", "new");
    assert_ok(muster_lease_extend(s->client, process, EXTEND(.data = &(struct muster_bytes){NULL, 0})));
    assert_string_equal(job_look(s, "a").data, "");
    assert_err(muster_lease_extend(s->client, process, EXTEND(.data = &(struct muster_bytes){NULL, 3})),
               MUSTER_E_INVALID);
    scene_enqueue(s, "q", "plain");
    assert_err(
        muster_lease_extend(s->client, take_one(s, "q", "plain"), EXTEND(.data = &(struct muster_bytes)BYTES("x"))),
        MUSTER_E_STATE);
    assert_words(s, "plain task");
}

static void a_jobs_lease_is_extended(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_ok(take_n(s, "q", 1, 1000, &taken));
    assert_ok(muster_lease_extend(s->client, taken.rows[0].id, EXTEND(.lease_ms = AN_HOUR)));
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_err(take_n(s, "q", 1, AN_HOUR, &(struct taken){0}), MUSTER_E_NOT_FOUND);
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
}

/* ---- the failed list ---- */

static int note_failure(const struct muster_failure *f, void *arg)
{
    char *text = arg;
    sprintf(text + strlen(text), "%s=%.*s(%s) ", f->job ? f->job : "", (int)f->len,
            f->task ? (const char *)f->task : "", f->group);
    assert_true(!*f->process || !muster_process_id_check(f->process));
    return 0;
}

static void jobs_are_on_the_failed_list_replayed_and_dropped(void **state)
{
    struct scene *s = *state;
    char text[256] = "";
    uint64_t n;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("da"), .retries = 3));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), 0));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), "g1", "why"));
    scene_enqueue(s, "q", "plain");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "plain"), "g2", NULL));
    job_put(s, "q", JOB_SPEC(.id = "b", .data = BYTES("db")));
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("b"), .n_after = 1));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "b"), "g2", NULL));
    assert_string_equal(job_look(s, "a").message, "why");
    assert_ok(muster_failed_list(s->client, FAILED(.queue = "q"), note_failure, text));
    assert_string_equal(text, "b=db(g2) =plain(g2) a=da(g1) ");
    assert_ok(muster_failed_replay(s->client, FAILED(.queue = "q", .group = "g1"), &n));
    assert_int_equal(n, 1);
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_int_equal(job.retried, 0);
    assert_string_equal(job.group, "");
    assert_ok(muster_failed_drop(s->client, FAILED(.queue = "q"), &n));
    assert_false(job_is_there(s, "b"));
    job = job_look(s, "c");
    assert_int_equal(job.state, MUSTER_JOB_FAILED);
    assert_string_equal(job.group, "dependency");
    *text = '\0';
    assert_ok(muster_failed_list(s->client, FAILED(.queue = "q"), note_failure, text));
    assert_string_equal(text, "c=(dependency) ");
}

static void a_job_that_failed_is_cancelled_off_the_list(void **state)
{
    struct scene *s = *state;
    char text[64] = "";
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), NULL, NULL));
    assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
    assert_ok(muster_failed_list(s->client, FAILED(.queue = "q"), note_failure, text));
    assert_string_equal(text, "");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failures:q", s->prefix), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(tasks_and_jobs_come_out_in_turn_between_those_of_other_priorities),
        live_test(what_is_not_handed_out_is_leased_all_the_same),
        live_test(processes_are_listed_with_their_jobs_and_data),
        live_test(the_process_of_a_cancelled_job_is_listed_without_data),
        live_test(a_finish_may_bring_a_result_that_the_record_keeps),
        live_test(a_finish_leads_into_a_next_queue),
        live_test(on_its_way_a_job_does_not_wait_for_itself),
        live_test(nor_when_the_queue_that_it_leaves_is_deleted),
        live_test(what_makes_no_next_queue_is_refused),
        live_test(a_job_that_is_given_back_is_where_it_was),
        live_test(a_job_has_as_many_retries_as_it_was_given),
        live_test(a_job_without_retries_fails_at_its_first),
        live_test(a_retry_comes_due_by_the_clock_of_redis),
        live_test(a_lease_that_lapses_makes_a_suspect_and_three_more_fail_the_job),
        live_test(new_data_are_what_the_next_taker_gets),
        live_test(a_jobs_lease_is_extended),
        live_test(jobs_are_on_the_failed_list_replayed_and_dropped),
        live_test(a_job_that_failed_is_cancelled_off_the_list),
    };
    return scene_run(tests, argc, argv);
}
