/* SPDX-License-Identifier: MIT
 *
 * Which calls a job accepts in which state, and from whom: ends that come too late, dependencies, limits, what starts
 * again from zero and when, and the rules of recurring jobs.
 */
#include <stdio.h>
#include <string.h>

#include "job_look.h"
#include "script_call.h"
#include "taken.h"

#define AN_HOUR 3600000
#define SHORT 30

#define FINISH(...) (&(struct muster_finish_options){.size = sizeof(struct muster_finish_options), __VA_ARGS__})
#define EXTEND(...) (&(struct muster_extend_options){.size = sizeof(struct muster_extend_options), __VA_ARGS__})
#define FAILED(...) (&(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), __VA_ARGS__})

static void put(struct scene *s, const char *id)
{
    job_put(s, "q", JOB_SPEC(.id = id));
}

static void finish(struct scene *s, const char *queue, const char *id)
{
    assert_ok(muster_lease_finish(s->client, job_take(s, queue, id), NULL));
}

static void set(struct scene *s, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, "q", name, &value));
}

/* ---- which end counts ---- */

static void assert_is_lost(struct scene *s, const char *process)
{
    struct muster_client *c = s->client;
    assert_err(muster_lease_finish(c, process, NULL), MUSTER_E_LOST);
    assert_err(muster_lease_finish(c, process, FINISH(.next = "r")), MUSTER_E_LOST);
    assert_err(muster_lease_give_back(c, process), MUSTER_E_LOST);
    assert_err(muster_lease_retry(c, process, 0), MUSTER_E_LOST);
    assert_err(muster_lease_retry(c, process, AN_HOUR), MUSTER_E_LOST);
    assert_err(muster_lease_fail(c, process, "late", NULL), MUSTER_E_LOST);
    assert_err(muster_process_cancel(c, process), MUSTER_E_LOST);
    assert_err(muster_lease_extend(c, process, EXTEND(.lease_ms = AN_HOUR)), MUSTER_E_LOST);
    assert_err(muster_lease_extend(c, process, EXTEND(.data = &(struct muster_bytes)BYTES("late"))), MUSTER_E_LOST);
}

enum way {
    FINISHED,
    SENT_ON,
    GIVEN_BACK,
    RETRIED,
    RETRIED_LATER,
    USED_UP,
    GAVE_UP,
    LAPSED,
    REPLACED,
    MOVED,
    CANCELLED,
    DELETED,
    N_WAYS
};

static void lose(struct scene *s, enum way way, const char *process)
{
    struct muster_client *c = s->client;
    switch (way) {
    case FINISHED:
        assert_ok(muster_lease_finish(c, process, NULL));
        break;
    case SENT_ON:
        assert_ok(muster_lease_finish(c, process, FINISH(.next = "q")));
        break;
    case GIVEN_BACK:
        assert_ok(muster_lease_give_back(c, process));
        break;
    case RETRIED:
        assert_ok(muster_lease_retry(c, process, 0));
        break;
    case RETRIED_LATER:
        assert_ok(muster_lease_retry(c, process, SHORT));
        break;
    case USED_UP:
        assert_ok(muster_lease_retry(c, process, 0));
        assert_err(muster_lease_retry(c, job_take(s, "q", "a"), 0), MUSTER_E_EXHAUSTED);
        break;
    case GAVE_UP:
        assert_ok(muster_lease_fail(c, process, "g", NULL));
        break;
    case LAPSED:
        assert_ok(muster_lease_extend(c, process, EXTEND(.lease_ms = 1)));
        await_server_ms(s, server_now_ms(s) + 2);
        break;
    case REPLACED:
        job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
        break;
    case MOVED:
        job_put(s, "r", JOB_SPEC(.id = "a", .replace = 1));
        break;
    case CANCELLED:
        assert_ok(muster_job_cancel(c, N_IDS("a"), 0, NULL, NULL));
        assert_err(muster_lease_give_back(c, process), MUSTER_E_CANCELLED);
        break;
    case DELETED:
        assert_ok(muster_queue_delete(c, "q", NULL, NULL));
        assert_err(muster_lease_give_back(c, process), MUSTER_E_CANCELLED);
        break;
    case N_WAYS:
        break;
    }
}

/* The former process cannot end the job: neither while nobody has it, nor when somebody has it again. */
static void whatever_became_of_a_job_its_former_process_is_lost(void **state)
{
    struct scene *s = *state;
    for (int way = 0; way < N_WAYS; way++) {
        print_message("  %d\n", way);
        job_put(s, "q", JOB_SPEC(.id = "a", .retries = 1));
        const char *process = job_take(s, "q", "a");
        lose(s, (enum way)way, process);
        assert_is_lost(s, process);
        if (!job_is_there(s, "a"))
            continue;
        struct job_seen job = job_look(s, "a");
        if (job.state == MUSTER_JOB_FAILED)
            assert_ok(muster_failed_replay(s->client, FAILED(.queue = "q"), NULL));
        else if (job.state == MUSTER_JOB_SCHEDULED)
            await_server_ms(s, job.due_at_ms);
        else if (job.state == MUSTER_JOB_COMPLETE)
            put(s, "a");
        const char *again = job_take(s, way == MOVED ? "r" : "q", "a");
        assert_is_lost(s, process);
        assert_string_equal(job_look(s, "a").process, again);
        assert_string_equal(job_look(s, "a").data, "");
        assert_ok(muster_lease_finish(s->client, again, NULL));
    }
}

/* A process' id is right only as a whole. */
static void with_a_wrong_worker_or_queue_or_token_nothing_is_ended(void **state)
{
    struct scene *s = *state;
    char wrong[3][PROCESS_ID_MAX];
    put(s, "a");
    put(s, "b");
    const char *a = job_take(s, "q", "a"), *token = strchr(a, ':') + 1;
    snprintf(wrong[0], sizeof wrong[0], "w:%s", token);
    snprintf(wrong[1], sizeof wrong[1], ".lease:%.11s:r", token);
    snprintf(wrong[2], sizeof wrong[2], ".lease:0000000000%c:q", token[10]);
    for (size_t i = 0; i < N_OF(wrong); i++)
        assert_is_lost(s, wrong[i]);
    assert_string_equal(job_look(s, "a").process, a);
    assert_job_state(s, "b", MUSTER_JOB_WAITING);
    assert_ok(muster_lease_finish(s->client, a, NULL));
}

static void a_cancelled_job_is_neither_extended_nor_finished(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    const char *process = job_take(s, "q", "a");
    assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
    assert_err(muster_lease_extend(s->client, process, EXTEND(.lease_ms = AN_HOUR)), MUSTER_E_STATE);
    assert_err(muster_lease_extend(s->client, process, EXTEND(.data = &(struct muster_bytes)BYTES("x"))),
               MUSTER_E_STATE);
    put(s, "a");
    assert_err(muster_lease_extend(s->client, process, EXTEND(.data = &(struct muster_bytes)BYTES("x"))),
               MUSTER_E_STATE);
    assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_CANCELLED);
    assert_string_equal(job_look(s, "a").data, "");
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
}

/* ---- what starts again from zero ---- */

static void a_replacement_or_a_next_queue_starts_retries_from_zero(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = 1));
    for (int i = 0; i < 2; i++) {
        assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), 0));
        assert_int_equal(job_look(s, "a").retried, 1);
        if (i == 0)
            assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), FINISH(.next = "q")));
        else
            job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
        assert_int_equal(job_look(s, "a").retried, 0);
        assert_int_equal(job_look(s, "a").retries, 1);
    }
}

/* A failure that was overcome is history. */
static void a_finish_forgets_the_retries_reason(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    char token[12];
    snprintf(token, sizeof token, "%.11s", strchr(job_take(s, "q", "a"), ':') + 1);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "0", "why", "because"));
    assert_string_equal(job_look(s, "a").group, "why");
    assert_string_equal(job_look(s, "a").message, "because");
    finish(s, "q", "a");
    assert_string_equal(job_look(s, "a").group, "");
    assert_string_equal(job_look(s, "a").message, "");
    assert_non_null(strstr(job_look(s, "a").history, "retried=why "));
}

static void a_part_of_a_group_is_replayed_the_oldest_first(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    char id[8];
    for (int i = 0; i < 25; i++) {
        snprintf(id, sizeof id, "j%d", i);
        put(s, id);
        assert_ok(muster_lease_fail(s->client, job_take(s, "q", id), i % 2 ? "odd" : "even", NULL));
    }
    assert_ok(muster_failed_replay(s->client, FAILED(.queue = "q", .group = "even", .n = 3), &n));
    assert_int_equal(n, 3);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "j0 j2 j4 ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 22);
}

/* ---- dependencies ---- */

static void new_dependencies_take_the_place_of_the_old(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "c", .replace = 1, .priority = 3));
    assert_string_equal(job_look(s, "c").after, "a ");
    job_put(s, "q", JOB_SPEC(.id = "c", .replace = 1, .after = IDS("b"), .n_after = 1));
    assert_string_equal(job_look(s, "c").after, "b ");
    assert_string_equal(job_look(s, "a").before, "");
    finish(s, "q", "a");
    assert_job_state(s, "c", MUSTER_JOB_DEPENDS);
    finish(s, "q", "b");
    assert_job_state(s, "c", MUSTER_JOB_WAITING);
    put(s, "d");
    job_put(s, "q", JOB_SPEC(.id = "c", .replace = 1, .after = IDS("d"), .n_after = 1)); /* one that waited already */
    assert_job_state(s, "c", MUSTER_JOB_DEPENDS);
    finish(s, "q", "d");
    finish(s, "q", "c");
}

static void only_a_job_that_depends_gets_more_dependencies(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"waiting", "running", "failed", "complete", "scheduled", "recurring"};
    job_put(s, "far", JOB_SPEC(.id = "far"));
    for (size_t i = 0; i < 4; i++) {
        put(s, ids[i]);
        const char *process = i > 0 ? job_take(s, "q", ids[i]) : "";
        if (i == 2)
            assert_ok(muster_lease_fail(s->client, process, NULL, NULL));
        if (i == 3)
            assert_ok(muster_lease_finish(s->client, process, NULL));
        if (i == 0)
            assert_ok(muster_job_change(s->client, ids[0], JOB_CHANGE(.priority = 9)));
    }
    job_put(s, "q", JOB_SPEC(.id = "scheduled", .delay_ms = AN_HOUR));
    job_put(s, "q", JOB_SPEC(.id = "recurring", .every_ms = AN_HOUR, .offset_ms = AN_HOUR));
    for (size_t i = 0; i < N_OF(ids); i++) {
        assert_err(muster_job_change(s->client, ids[i], JOB_CHANGE(.after = IDS("far"), .n_after = 1)), MUSTER_E_STATE);
        assert_words(s, ids[i]); /* its state, which is its id here */
        assert_string_equal(muster_job_state_name(job_look(s, ids[i]).state), ids[i]);
    }
    assert_string_equal(job_look(s, "far").before, "");
}

static void on_its_way_a_job_waits_for_others_and_then_for_its_time(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"),
                                  FINISH(.next = "r", .delay_ms = AN_HOUR, .after = IDS("b", "gone"), .n_after = 2)));
    assert_job_state(s, "a", MUSTER_JOB_DEPENDS);
    finish(s, "q", "b");
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_in_range(job.due_at_ms, server_now_ms(s) + AN_HOUR - 5000, server_now_ms(s) + AN_HOUR);
}

/* However a job comes into a queue, the queue is on the list. */
static void a_queue_is_known_by_whatever_comes_into_it(void **state)
{
    struct scene *s = *state;
    static const char *const queues[] = {"put", "next", "moved", "replaced", "later", "every"};
    job_put(s, "put", JOB_SPEC(.id = "a"));
    put(s, "b");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "b"), FINISH(.next = "next")));
    put(s, "c");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.queue = "moved")));
    put(s, "d");
    job_put(s, "replaced", JOB_SPEC(.id = "d", .replace = 1));
    job_put(s, "q", JOB_SPEC(.id = "e", .delay_ms = AN_HOUR));
    assert_ok(muster_job_change(s->client, "e", JOB_CHANGE(.queue = "later")));
    job_put(s, "q", JOB_SPEC(.id = "f", .every_ms = AN_HOUR, .offset_ms = AN_HOUR));
    assert_ok(muster_job_change(s->client, "f", JOB_CHANGE(.queue = "every")));
    for (size_t i = 0; i < N_OF(queues); i++) {
        struct muster_queue_info row = queue_row_of(s, queues[i]);
        assert_int_equal(row.waiting + row.delayed + row.recurring, 1);
    }
}

/* ---- a limit over all ---- */

static size_t takes(struct scene *s, size_t n, struct taken *out)
{
    int err = take_n(s, "q", n, AN_HOUR, out);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    return err ? 0 : out->n;
}

static void a_lower_limit_takes_nothing_away_and_each_end_frees_a_place(void **state)
{
    struct scene *s = *state;
    struct taken taken, one;
    for (int i = 0; i < 15; i++) {
        char id[8];
        snprintf(id, sizeof id, "j%02d", i);
        put(s, id);
    }
    set(s, "max_running", 5);
    assert_int_equal(takes(s, 9, &taken), 5);
    set(s, "max_running", 1);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_RUNNING), 5);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(takes(s, 9, &one), 0);
        assert_ok(muster_lease_finish(s->client, taken.rows[i].id, NULL));
    }
    assert_int_equal(takes(s, 9, &one), 0);
    const char *process = taken.rows[4].id;
    for (int way = 0; way < 6; way++) {
        switch (way) {
        case 0:
            assert_ok(muster_lease_fail(s->client, process, NULL, NULL));
            break;
        case 1:
            assert_ok(muster_lease_retry(s->client, process, AN_HOUR));
            break;
        case 2:
            assert_ok(muster_lease_retry(s->client, process, 0));
            break;
        case 3:
            lose(s, LAPSED, process);
            break;
        case 4:
            assert_ok(muster_process_cancel(s->client, process));
            assert_int_equal(takes(s, 9, &taken), 0); /* still in somebody's hands */
            assert_err(muster_lease_give_back(s->client, process), MUSTER_E_CANCELLED);
            break;
        case 5:
            assert_ok(muster_lease_finish(s->client, process, FINISH(.next = "r")));
            break;
        }
        assert_int_equal(takes(s, 9, &one), 1);
        process = one.rows[0].id;
    }
    set(s, "max_running", 3);
    assert_int_equal(takes(s, 9, &taken), 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_became_of_a_job_its_former_process_is_lost),
        live_test(with_a_wrong_worker_or_queue_or_token_nothing_is_ended),
        live_test(a_cancelled_job_is_neither_extended_nor_finished),
        live_test(a_replacement_or_a_next_queue_starts_retries_from_zero),
        live_test(a_finish_forgets_the_retries_reason),
        live_test(a_part_of_a_group_is_replayed_the_oldest_first),
        live_test(new_dependencies_take_the_place_of_the_old),
        live_test(only_a_job_that_depends_gets_more_dependencies),
        live_test(on_its_way_a_job_waits_for_others_and_then_for_its_time),
        live_test(a_queue_is_known_by_whatever_comes_into_it),
        live_test(a_lower_limit_takes_nothing_away_and_each_end_frees_a_place),
    };
    return scene_run(tests, argc, argv);
}
