/* SPDX-License-Identifier: MIT
 *
 * Unique tasks: refused while an equal one is alive, and otherwise tasks to all who meet them. Whatever shows, cancels,
 * ends, fails, replays or drops tasks treats them as tasks; and nothing of one stays after its end.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "live_worker.h"
#include "taken.h"

#define MINUTE 60000

static const char *put(struct scene *s, const char *queue, const char *task)
{
    static char id[MUSTER_JOB_ID_MAX + 1];
    assert_ok(muster_task_enqueue_unique(s->client, queue, task, strlen(task), id));
    return id;
}

static void assert_refused(struct scene *s, const char *queue, const char *task, const char *state)
{
    assert_err(muster_task_enqueue_unique(s->client, queue, task, strlen(task), NULL), MUSTER_E_EXISTS);
    assert_words(s, state);
}

/* What has the task's id does not do its work. */
static void assert_in_the_way(struct scene *s, const char *queue, const char *task, const char *words)
{
    char id[MUSTER_JOB_ID_MAX + 1] = "none";
    assert_err(muster_task_enqueue_unique(s->client, queue, task, strlen(task), id), MUSTER_E_STATE);
    assert_string_equal(id, "");
    assert_words(s, words);
}

static void assert_row(struct scene *s, const char *queue, struct muster_queue_info wanted)
{
    struct muster_queue_info row = queue_row_of(s, queue);
    assert_int_equal(row.waiting, wanted.waiting);
    assert_int_equal(row.running, wanted.running);
    assert_int_equal(row.delayed, wanted.delayed);
    assert_int_equal(row.failed, wanted.failed);
    assert_int_equal(row.complete, 0);
    assert_int_equal(row.cancelled, wanted.cancelled);
}
#define assert_queue(s, queue, ...) assert_row(s, queue, (struct muster_queue_info){__VA_ARGS__})

/* There are no other keys than those that a plain task leaves behind, and for a while what a caller took last. */
static void assert_nothing_stays(struct scene *s)
{
    static const char *const kept[] = {"queue:q", "names", "due", "token", "format", "config"};
    struct redisReply *page = raw(s->server->redis, "SCAN 0 MATCH %s:* COUNT 1000000", s->prefix), *keys;
    assert_string_equal(page->element[0]->str, "0");
    keys = page->element[1];
    assert_true(keys->elements > 0);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str + strlen(s->prefix) + 1;
        bool is_kept = strncmp(key, "take:", strlen("take:")) == 0;
        for (size_t k = 0; k < N_OF(kept); k++)
            is_kept |= strcmp(key, kept[k]) == 0;
        if (!is_kept)
            fail_msg("%s stays", key);
    }
    freeReplyObject(page);
    checked_assert_clean(s);
}

/* ---- refused while an equal one is alive ---- */

static void an_equal_task_is_enqueued_once_while_it_lives(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1], twin[MUSTER_JOB_ID_MAX + 1], other[MUSTER_JOB_ID_MAX + 1];
    assert_ok(muster_task_enqueue_unique(s->client, "q", "a\0b", 3, id));
    assert_int_equal(strlen(id), 40);
    assert_int_equal(strspn(id, "0123456789abcdef"), 40);
    assert_err(muster_task_enqueue_unique(s->client, "q", "a\0b", 3, twin), MUSTER_E_EXISTS);
    assert_string_equal(twin, id);
    assert_words(s, "waiting");
    assert_words(s, id);
    assert_ok(muster_task_enqueue_unique(s->client, "q", "a\0c", 3, other));
    assert_string_not_equal(other, id);
    assert_ok(muster_task_enqueue_unique(s->client, "q1", "a\0b", 3, other));
    assert_string_not_equal(other, id);
    struct taken taken;
    assert_ok(take_n(s, "q", 1, MINUTE, &taken));
    assert_err(muster_task_enqueue_unique(s->client, "q", "a\0b", 3, NULL), MUSTER_E_EXISTS);
    assert_words(s, "running");
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
    assert_ok(muster_task_enqueue_unique(s->client, "q", "a\0b", 3, twin));
    assert_string_equal(twin, id);
    scene_enqueue(s, "q", "a");
    assert_int_equal(queue_row_of(s, "q").waiting, 3);
}

/* The length stands before the name, so that no two of these run together. */
static void twins_are_of_one_queue_and_one_text(void **state)
{
    struct scene *s = *state;
    put(s, "1:a", "b");
    put(s, "1:ab", "");
    put(s, "a", "b");
    put(s, "ab", "");
    assert_err(muster_task_enqueue_unique(s->client, "", "b", 1, NULL), MUSTER_E_INVALID);
}

static void one_that_failed_or_was_cancelled_is_accepted_again(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), NULL, NULL));
    assert_ok(muster_job_cancel(s->client, IDS(put(s, "q", "t")), 1, 0, NULL, NULL));
    put(s, "q", "t");
    assert_ok(muster_task_cancel(s->client, "q", "t", 1, NULL, NULL));
    put(s, "q", "t");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    put(s, "q", "t");
    checked_assert_clean(s);
}

/* That an equal one is alive would promise that somebody does it. */
static void one_whose_followers_are_still_let_go_is_in_the_way(void **state)
{
    enum { MORE_THAN_A_STEP = 401 };
    struct scene *s = *state;
    struct taken taken;
    char id[MUSTER_JOB_ID_MAX + 1], follower[8];
    snprintf(id, sizeof id, "%s", put(s, "q", "t"));
    for (int i = 0; i < MORE_THAN_A_STEP; i++) {
        snprintf(follower, sizeof follower, "f%d", i);
        job_put(s, "other", JOB_SPEC(.id = follower, .after = IDS(id), .n_after = 1));
    }
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    assert_in_the_way(s, "q", "t", "still let go");
    assert_ok(take_n(s, "other", 1, MINUTE, &taken)); /* which goes on with it */
    assert_string_equal(put(s, "q", "t"), id);
}

static void a_job_that_happens_to_have_its_id_is_another_matter(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1];
    uint64_t waiting;
    snprintf(id, sizeof id, "%s", put(s, "q", "t"));
    job_not_put(s, "q", JOB_SPEC(.id = id), MUSTER_E_EXISTS, "a unique task");
    job_not_put(s, "q", JOB_SPEC(.id = id, .replace = 1), MUSTER_E_EXISTS, "a unique task");
    assert_ok(muster_job_cancel(s->client, IDS(id), 1, 0, NULL, NULL));
    job_put(s, "q", JOB_SPEC(.id = id, .data = BYTES("t")));
    assert_in_the_way(s, "q", "t", "of a job which is none");
    assert_ok(muster_task_cancel(s->client, "q", "t", 1, &waiting, NULL));
    assert_int_equal(waiting, 0);
    assert_job_state(s, id, MUSTER_JOB_WAITING);
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", id), NULL, NULL));
    assert_in_the_way(s, "q", "t", "of a job which is none");
    assert_job_state(s, id, MUSTER_JOB_FAILED);
    assert_ok(muster_job_cancel(s->client, IDS(id), 1, 0, NULL, NULL));
    put(s, "q", "t");
}

/* ---- it is a task to those who look ---- */

static int note_process(const struct muster_process_info *p, void *arg)
{
    assert_null(p->job);
    assert_null(p->record);
    assert_int_equal(p->len, 1);
    assert_memory_equal(p->task, "t", 1);
    ++*(int *)arg;
    return 0;
}

static int note_row(const struct muster_task *task, void *arg)
{
    assert_null(task->job);
    assert_memory_equal(task->data, "t", 1);
    ++*(int *)arg;
    return 0;
}

static void it_looks_like_a_task(void **state)
{
    struct scene *s = *state;
    const struct muster_bytes t = {"t", 1};
    const struct muster_process_filter same = {.size = sizeof same, .task = &t};
    uint64_t length;
    int seen = 0;
    put(s, "q", "t");
    assert_ok(muster_queue_length(s->client, "q", &length));
    assert_int_equal(length, 1);
    assert_ok(muster_task_peek(s->client, "q", 0, 9, note_row, &seen));
    assert_int_equal(seen, 1);
    assert_ok(muster_lease_take(s->client, "q", 1, MINUTE, 0, note_process, &seen));
    assert_ok(muster_process_list(s->client, &same, note_process, &seen));
    assert_int_equal(seen, 3);
}

static void they_come_out_in_their_order_in_turn_with_other_tasks(void **state)
{
    struct scene *s = *state;
    char order[8] = "";
    for (int i = 0; i < 6; i++)
        put(s, "q", (const char[]){(char)('0' + i), '\0'});
    for (int i = 0; i < 6; i++) {
        struct taken taken;
        assert_ok(take_n(s, "q", 1, MINUTE, &taken));
        strcat(order, taken.rows[0].task);
    }
    assert_string_equal(order, "012345");
}

/* ---- cancelled by its bytes ---- */

static void cancel(struct scene *s, uint64_t wanted_waiting, uint64_t wanted_running)
{
    uint64_t waiting = 99, running = 99;
    assert_ok(muster_task_cancel(s->client, "q", "t", 1, &waiting, &running));
    assert_int_equal(waiting, wanted_waiting);
    assert_int_equal(running, wanted_running);
}

static void a_cancel_by_bytes_finds_it_wherever_it_is(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    scene_enqueue(s, "q", "t");
    cancel(s, 2, 0);
    assert_queue(s, "q", .cancelled = 2);

    put(s, "q", "t");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), MINUTE));
    assert_queue(s, "q", .delayed = 1, .cancelled = 2);
    cancel(s, 1, 0);
    assert_queue(s, "q", .cancelled = 3);

    put(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    cancel(s, 0, 1);
    cancel(s, 0, 1);
    assert_in_the_way(s, "q", "t", "when it is let go it is dropped");
    assert_err(muster_lease_give_back(s->client, process), MUSTER_E_CANCELLED);
    assert_queue(s, "q", .cancelled = 4);
    cancel(s, 0, 0);

    put(s, "other", "t");
    cancel(s, 0, 0);
    assert_queue(s, "other", .waiting = 1);
}

static void a_deleted_queue_does_not_count_it_as_cancelled(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_in_the_way(s, "q", "t", "when it is let go it is dropped");
    assert_err(muster_lease_fail(s->client, process, NULL, NULL), MUSTER_E_CANCELLED);
    assert_queue(s, "q", .waiting = 0);
    assert_nothing_stays(s);
}

/* ---- its end ---- */

static void nothing_stays_of_one_that_is_finished(void **state)
{
    struct scene *s = *state;
    const struct muster_bytes done = BYTES("done");
    const struct muster_finish_options o = {.size = sizeof o, .result = &done};
    put(s, "q", "t");
    put(s, "q", "u");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "u"), &o));
    assert_nothing_stays(s);
}

static void nothing_stays_of_one_that_is_cancelled(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), 0));
    assert_ok(muster_lease_give_back(s->client, take_one(s, "q", "t")));
    cancel(s, 1, 0);
    assert_nothing_stays(s);
}

static void it_is_retried_as_often_as_its_handler_says(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    for (int i = 0; i < 20; i++) {
        assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), i % 2));
        await_server_ms(s, server_now_ms(s) + 1);
    }
    assert_refused(s, "q", "t", "");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    assert_nothing_stays(s);
}

/* Its lease lapses: so it is a suspect, which is taken alone. */
static void let_lapse(struct scene *s)
{
    char *process = strdup(take_one(s, "q", "t"));
    const struct muster_extend_options soon = {.size = sizeof soon, .lease_ms = 1};
    assert_ok(muster_lease_extend(s->client, process, &soon));
    await_server_ms(s, server_now_ms(s) + 2);
    assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_LOST);
    free(process);
}

/* As that of any task: its next process begins anew. */
static void a_retry_ends_the_suspicion_and_its_deaths_count_no_more(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    for (int i = 0; i < 10; i++) {
        let_lapse(s);
        let_lapse(s);
        assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), i % 2));
        await_server_ms(s, server_now_ms(s) + 1);
    }
    scene_enqueue(s, "q", "u");
    struct taken taken = {0};
    assert_ok(muster_lease_take(s->client, "q", 2, MINUTE, 0, taken_add, &taken));
    assert_int_equal(taken.n, 2);
}

static void a_retry_cannot_say_why_as_with_any_task(void **state)
{
    struct scene *s = *state;
    put(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    assert_err(muster_lease_retry_as(s->client, process, 0, "group", "message"), MUSTER_E_STATE);
    assert_ok(muster_lease_retry(s->client, process, 0));
    assert_refused(s, "q", "t", "waiting");
}

static bool is_delayed(void *arg)
{
    return queue_row_of(arg, "q").delayed == 1;
}

static enum muster_outcome try_again(struct muster_process *p, void *arg)
{
    (void)arg;
    return muster_process_job(p) ? MUSTER_FAIL : MUSTER_RETRY;
}

static void a_worker_retries_it_after_the_delay_of_a_task(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .handler = try_again, .queues = {{"q", 0}}});
    put(s, "q", "t");
    assert_true(wait_for(s->base, is_delayed, s, SOON_MS));
    cancel(s, 1, 0);
}

/* What only jobs have is refused. */
static void it_is_no_job_to_those_who_change_jobs(void **state)
{
    struct scene *s = *state;
    const struct muster_bytes data = BYTES("other");
    const struct muster_finish_options next = {.size = sizeof next, .next = "n"};
    const struct muster_extend_options extend = {.size = sizeof extend, .data = &data};
    char id[MUSTER_JOB_ID_MAX + 1];
    snprintf(id, sizeof id, "%s", put(s, "q", "t"));
    assert_err(muster_job_change(s->client, id, JOB_CHANGE(.queue = "n")), MUSTER_E_STATE);
    assert_words(s, "a unique task");
    const char *process = take_one(s, "q", "t");
    assert_err(muster_lease_finish(s->client, process, &next), MUSTER_E_STATE);
    assert_err(muster_lease_extend(s->client, process, &extend), MUSTER_E_STATE);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_nothing_stays(s);
}

static void jobs_may_wait_for_it(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1];
    for (int fails = 0; fails < 2; fails++) {
        snprintf(id, sizeof id, "%s", put(s, "q", "t"));
        job_put(s, "p", JOB_SPEC(.id = fails ? "b" : "a", .after = IDS(id), .n_after = 1));
        const char *process = take_one(s, "q", "t");
        assert_ok(fails ? muster_lease_fail(s->client, process, NULL, NULL)
                        : muster_lease_finish(s->client, process, NULL));
    }
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    assert_job_state(s, "b", MUSTER_JOB_FAILED);
    assert_string_equal(job_look(s, "b").group, "dependency");
    checked_assert_clean(s);
}

/* ---- its failure ---- */

static int note_failure(const struct muster_failure *f, void *arg)
{
    assert_null(f->job);
    assert_int_equal(f->len, 1);
    assert_memory_equal(f->task, "t", 1);
    assert_string_equal(f->worker, MUSTER_LEASE_ID);
    snprintf(arg, 64, "%s %s %.*s", f->entry, f->group, (int)f->message.len, (const char *)f->message.data);
    return 0;
}

#define Q (&(const struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "q"})

static void it_fails_as_a_task_and_its_replay_is_unique_again(void **state)
{
    struct scene *s = *state;
    char entry[64] = "";
    uint64_t n = 0;
    put(s, "q", "t");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), "g", "why"));
    assert_queue(s, "q", .failed = 1);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 0);
    assert_ok(muster_failed_list(s->client, Q, note_failure, entry));
    assert_string_equal(entry + 11, " g why");
    checked_assert_clean(s);
    assert_ok(muster_failed_replay(s->client, Q, &n));
    assert_int_equal(n, 1);
    assert_queue(s, "q", .waiting = 1);
    assert_refused(s, "q", "t", "waiting");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    assert_nothing_stays(s);
}

static void a_failure_stays_on_the_list_while_its_equal_is_alive(void **state)
{
    struct scene *s = *state;
    char entry[64] = "";
    uint64_t n = 99;
    put(s, "q", "t");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), "g", NULL));
    put(s, "q", "t");
    assert_ok(muster_failed_replay(s->client, Q, &n));
    assert_int_equal(n, 0);
    assert_ok(muster_failed_list(s->client, Q, note_failure, entry));
    entry[11] = '\0';
    const char *const names[] = {entry};
    const struct muster_failed_filter named = {.size = sizeof named, .queue = "q", .entries = names, .n_entries = 1};
    assert_err(muster_failed_replay(s->client, &named, &n), MUSTER_E_NOT_FOUND);
    assert_queue(s, "q", .waiting = 1, .failed = 1);
    assert_ok(muster_failed_drop(s->client, &named, &n));
    assert_int_equal(n, 1);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    assert_nothing_stays(s);
}

static void each_failure_is_an_entry_of_its_own(void **state)
{
    struct scene *s = *state;
    uint64_t n = 0;
    for (int i = 0; i < 3; i++) {
        put(s, "q", "t");
        assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), "g", NULL));
    }
    assert_queue(s, "q", .failed = 3);
    assert_ok(muster_failed_replay(s->client, Q, &n));
    assert_int_equal(n, 1);
    assert_queue(s, "q", .waiting = 1, .failed = 2);
    checked_assert_clean(s);
}

/* Lets a lease lapse, again and again, until the task is taken for poison. */
static void poison_fails_as_a_task(void **state)
{
    struct scene *s = *state;
    char entry[64] = "";
    put(s, "q", "t");
    for (int i = 0; i < 20 && queue_row_of(s, "q").failed == 0; i++) {
        struct taken taken;
        if (take_n(s, "q", 1, 1, &taken) == MUSTER_OK)
            await_server_ms(s, taken.rows[0].ends_at_ms + 1);
    }
    assert_queue(s, "q", .failed = 1);
    assert_ok(muster_failed_list(s->client, Q, note_failure, entry));
    assert_non_null(strstr(entry, " crashed "));
    put(s, "q", "t");
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_equal_task_is_enqueued_once_while_it_lives),
        live_test(twins_are_of_one_queue_and_one_text),
        live_test(one_that_failed_or_was_cancelled_is_accepted_again),
        live_test(one_whose_followers_are_still_let_go_is_in_the_way),
        live_test(a_job_that_happens_to_have_its_id_is_another_matter),
        live_test(it_looks_like_a_task),
        live_test(they_come_out_in_their_order_in_turn_with_other_tasks),
        live_test(a_cancel_by_bytes_finds_it_wherever_it_is),
        live_test(a_deleted_queue_does_not_count_it_as_cancelled),
        live_test(nothing_stays_of_one_that_is_finished),
        live_test(nothing_stays_of_one_that_is_cancelled),
        live_test(it_is_retried_as_often_as_its_handler_says),
        live_test(a_retry_ends_the_suspicion_and_its_deaths_count_no_more),
        live_test(a_retry_cannot_say_why_as_with_any_task),
        live_test(a_worker_retries_it_after_the_delay_of_a_task),
        live_test(it_is_no_job_to_those_who_change_jobs),
        live_test(jobs_may_wait_for_it),
        live_test(it_fails_as_a_task_and_its_replay_is_unique_again),
        live_test(a_failure_stays_on_the_list_while_its_equal_is_alive),
        live_test(each_failure_is_an_entry_of_its_own),
        live_test(poison_fails_as_a_task),
    };
    return scene_run(tests, argc, argv);
}
