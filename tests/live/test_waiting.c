/* SPDX-License-Identifier: MIT
 *
 * "Waiting" is one number, whoever says it: tasks and jobs that can be taken, also of a queue that is paused or at its
 * limit, and nothing that is delayed or depends. And what waits is what a look shows.
 */
#include <stdio.h>
#include <string.h>

#include "job_look.h"
#include "taken.h"

static uint64_t length_of(struct scene *s, const char *queue)
{
    uint64_t waiting = 99;
    assert_ok(muster_queue_length(s->client, queue, &waiting));
    return waiting;
}

static int count_row(const struct muster_task *task, void *arg)
{
    uint64_t *n = arg;
    assert_int_equal(task->position, *n);
    ++*n;
    return 0;
}

static void assert_all_say(struct scene *s, const char *queue, uint64_t waiting)
{
    uint64_t seen = 0, none = 99;
    assert_int_equal(length_of(s, queue), waiting);
    assert_int_equal(queue_row_of(s, queue).waiting, waiting);
    assert_ok(muster_task_peek(s->client, queue, 0, UINT64_MAX, count_row, &seen));
    assert_int_equal(seen, waiting);
    assert_ok(muster_task_enqueue_many(s->client, queue, NULL, 0, NULL, &none));
    assert_int_equal(none, waiting);
}

/* Three jobs and a task wait; a scheduled job, one that depends, a recurring one and a delayed task do not. */
static void fill(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b", .priority = -1));
    job_put(s, "q", JOB_SPEC(.id = "c", .priority = 7));
    job_put(s, "q", JOB_SPEC(.id = "later", .delay_ms = 3600000));
    job_put(s, "q", JOB_SPEC(.id = "after", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "again", .every_ms = 60000, .offset_ms = 60000));
}

static void jobs_and_tasks_wait_alike(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "delayed");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "delayed"), 3600000));
    assert_all_say(s, "q", 0);
    fill(s);
    scene_enqueue(s, "q", "t");
    assert_all_say(s, "q", 4);
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_all_say(s, "q", 4);
    assert_ok(muster_queue_resume(s->client, "q"));
    const int64_t one = 1;
    assert_ok(muster_config_set(s->client, "q", "max_running", &one));
    struct taken taken;
    assert_ok(take_n(s, "q", 1, 3600000, &taken));
    assert_err(take_n(s, "q", 1, 3600000, &taken), MUSTER_E_NOT_FOUND);
    assert_all_say(s, "q", 3);
}

/* Each way in which a client enqueues: by script, plainly, several, under a request id and in chunks. */
static void each_way_to_enqueue_says_the_same(void **state)
{
    struct scene *s = *state;
    static struct muster_bytes many[MUSTER_ENQUEUE_ATOMIC_TASKS + 1];
    const struct muster_enqueue_options request = {.size = sizeof request, .request_id = "r"};
    uint64_t waiting = 0;
    fill(s);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_ok(muster_task_enqueue(s->client, "q", "t", 1, &waiting));
        assert_int_equal(waiting, 3 + i);
    }
    assert_ok(muster_task_enqueue_many(s->client, "q", many, 2, NULL, &waiting));
    assert_int_equal(waiting, 8);
    for (int i = 0; i < 2; i++) {
        assert_ok(muster_task_enqueue_many(s->client, "q", many, 1, &request, &waiting));
        assert_int_equal(waiting, 9);
    }
    assert_ok(muster_task_enqueue_many(s->client, "q", many, N_OF(many), NULL, &waiting));
    assert_int_equal(waiting, 9 + N_OF(many));
    assert_all_say(s, "q", 9 + N_OF(many));
}

static void a_damaged_part_is_an_error_of_the_length(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 99;
    scene_enqueue(s, "q", "t");
    raw_do(s->server->redis, "SET %s:waiting:q text", s->prefix);
    assert_err(muster_queue_length(s->client, "q", &waiting), MUSTER_E_REDIS);
    assert_int_equal(waiting, 0);
    assert_int_equal(length_of(s, "other"), 0);
}

/* ---- peek ---- */

static int append_row(const struct muster_task *task, void *arg)
{
    fprintf(arg, "%d %.*s%s ", (int)task->position, (int)task->len, (const char *)task->data, task->job ? "*" : "");
    return 0;
}

static void assert_rows(struct scene *s, uint64_t from, uint64_t n, const char *rows)
{
    char text[512] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    int err = muster_task_peek(s->client, "q", from, n, append_row, out);
    fclose(out);
    assert_ok(err);
    assert_string_equal(text, rows);
}

static void a_look_shows_jobs_in_their_places(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "late", .data = BYTES("L"), .priority = 1));
    job_put(s, "q", JOB_SPEC(.id = "even", .data = BYTES("E")));
    job_put(s, "q", JOB_SPEC(.id = "soon", .data = BYTES("S"), .priority = -1));
    job_put(s, "q", JOB_SPEC(.id = "first", .data = BYTES("F"), .priority = -2));
    scene_enqueue_n(s, "q", "t", 3);
    assert_rows(s, 0, 100, "0 F* 1 S* 2 t0 3 t1 4 t2 5 E* 6 L* ");
    assert_rows(s, 1, 2, "1 S* 2 t0 ");
    assert_rows(s, 3, 3, "3 t1 4 t2 5 E* ");
    assert_rows(s, 5, 1, "5 E* ");
    assert_rows(s, 6, 9, "6 L* ");
    assert_rows(s, 7, 9, "");
    assert_rows(s, UINT64_MAX, 1, "");
}

static void a_look_at_many_jobs_goes_on_from_page_to_page(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", JOB_SPEC(.id = id, .priority = i < 20 ? -1 : 0));
    }
    scene_enqueue_n(s, "q", "t", 40);
    for (uint64_t from = 0; from <= 90; from++) {
        uint64_t seen = from;
        assert_ok(muster_task_peek(s->client, "q", from, UINT64_MAX, count_row, &seen));
        assert_int_equal(seen, 90);
    }
}

static void a_job_without_a_record_is_left_out_of_a_look(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("A")));
    job_put(s, "q", JOB_SPEC(.id = "b", .data = BYTES("B")));
    raw_do(s->server->redis, "DEL %s:job:a", s->prefix);
    assert_rows(s, 0, 9, "0 B* ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(jobs_and_tasks_wait_alike),
        live_test(each_way_to_enqueue_says_the_same),
        live_test(a_damaged_part_is_an_error_of_the_length),
        live_test(a_look_shows_jobs_in_their_places),
        live_test(a_look_at_many_jobs_goes_on_from_page_to_page),
        live_test(a_job_without_a_record_is_left_out_of_a_look),
    };
    return scene_run(tests, argc, argv);
}
