/* SPDX-License-Identifier: MIT
 *
 * Reading a job's record as Redis answers it: each field arrives where it belongs, and a malformed one is refused or
 * read as nothing.
 */
#include "protocol/job_record.h"

#include <string.h>

#include "made_reply.h"

#define TOKEN "0000000000v"

static void each_field_goes_where_it_belongs(void **state)
{
    const redisReply *r = LIST(
        TEXT("queue"), TEXT("q"), TEXT("state"), TEXT("scheduled"), TEXT("place"), TEXT(TOKEN), TEXT("data"),
        TEXT("a\0b"), TEXT("priority"), TEXT("-7"), TEXT("retries"), TEXT("5"), TEXT("retried"), TEXT("2"),
        TEXT("crashes"), TEXT("1"), TEXT("put"), TEXT("1000"), TEXT("since"), TEXT("2000"), TEXT("due"), TEXT("3000"),
        TEXT("limit"), TEXT("4000"), TEXT("every"), TEXT("5000"), TEXT("made"), TEXT("9"), TEXT("backlog"), TEXT("3"),
        TEXT("backoff"), TEXT("10"), TEXT("backoff_max"), TEXT("80"), TEXT("backoff_kind"), TEXT("exponential"),
        TEXT("jitter"), TEXT("25"), TEXT("tags"), TEXT("red\nblue"), TEXT("tracked"), TEXT("1"), TEXT("group"),
        TEXT("g"), TEXT("message"), TEXT("why"), TEXT("result"), TEXT(""), TEXT("unknown"), TEXT("x"));
    struct job_record record;
    const struct muster_job *job = &record.job;
    (void)state;
    assert_ok(job_record_read(&record, "id", r));
    assert_string_equal(job->id, "id");
    assert_string_equal(job->queue, "q");
    assert_int_equal(job->state, MUSTER_JOB_SCHEDULED);
    assert_int_equal(job->data.len, 3);
    assert_int_equal(job->priority, -7);
    assert_int_equal(job->retries, 5);
    assert_int_equal(job->retried, 2);
    assert_int_equal(job->crashes, 1);
    assert_int_equal(job->put_at_ms, 1000);
    assert_int_equal(job->since_ms, 2000);
    assert_int_equal(job->due_at_ms, 3000);
    assert_int_equal(job->limit_ms, 4000);
    assert_int_equal(job->every_ms, 5000);
    assert_int_equal(job->made, 9);
    assert_int_equal(job->backlog, 3);
    assert_int_equal(job->backoff.delay_ms, 10);
    assert_int_equal(job->backoff.max_ms, 80);
    assert_true(job->backoff.exponential);
    assert_int_equal(job->backoff.jitter_percent, 25);
    assert_int_equal(job->n_tags, 2);
    assert_string_equal(job->tags[0], "red");
    assert_string_equal(job->tags[1], "blue");
    assert_true(job->tracked);
    assert_string_equal(job->group, "g");
    assert_int_equal(job->message.len, 3);
    assert_non_null(job->result.data);
    assert_int_equal(job->result.len, 0);
    assert_string_equal(job->worker, "");
    assert_string_equal(job->process, "");
    job_record_clear(&record);
}

static void a_running_job_has_a_process(void **state)
{
    struct job_record record;
    (void)state;
    assert_ok(job_record_read(&record, "id",
                              LIST(TEXT("queue"), TEXT("a:b"), TEXT("state"), TEXT("running"), TEXT("worker"),
                                   TEXT("w1"), TEXT("token"), TEXT(TOKEN))));
    assert_string_equal(record.job.process, "w1:" TOKEN ":a:b");
    job_record_clear(&record);
    assert_ok(job_record_read(&record, "id",
                              LIST(TEXT("queue"), TEXT("q"), TEXT("state"), TEXT("running"), TEXT("worker"), TEXT("w1"),
                                   TEXT("token"), TEXT("short"))));
    assert_string_equal(record.job.process, "");
    job_record_clear(&record);
}

static void what_is_no_record_is_refused(void **state)
{
    const redisReply *const bad[] = {
        NULL,
        NIL,
        INTEGER(0),
        TEXT("state"),
        EMPTY_LIST,
        LIST(TEXT("queue"), TEXT("q")),
        LIST(TEXT("state")),
        LIST(TEXT("state"), TEXT("asleep")),
        LIST(TEXT("state"), TEXT("")),
        LIST(TEXT("state"), INTEGER(1)),
        LIST(TEXT("state"), NIL),
        ERROR("ERR x"),
    };
    struct job_record record;
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++)
        if (job_record_read(&record, "id", bad[i]) != MUSTER_E_REDIS)
            fail_msg("record %zu was read", i);
}

static void a_malformed_field_reads_as_nothing(void **state)
{
    struct job_record record;
    (void)state;
    assert_ok(
        job_record_read(&record, "id",
                        LIST(TEXT("state"), TEXT("waiting"), TEXT("queue"), INTEGER(3), TEXT("priority"), TEXT("high"),
                             TEXT("put"), TEXT(""), TEXT("data"), NIL, TEXT("tags"), TEXT(""), TEXT("retries"))));
    assert_string_equal(record.job.queue, "");
    assert_int_equal(record.job.priority, 0);
    assert_int_equal(record.job.put_at_ms, 0);
    assert_int_equal(record.job.data.len, 0);
    assert_int_equal(record.job.n_tags, 0);
    job_record_clear(&record);
}

/* The reply may go; the record reads like that of a running job. */
static void a_taken_record_is_a_copy(void **state)
{
    struct job_record record;
    char data[] = "bytes", worker[] = "w1", queue[] = "q", id[] = "id";
    redisReply value = {.type = REDIS_REPLY_STRING, .str = data, .len = 5};
    (void)state;
    assert_ok(job_record_take(
        &record, id,
        LIST(TEXT("state"), TEXT("waiting"), TEXT("queue"), TEXT("q"), TEXT("since"), TEXT("1"), TEXT("data"), &value),
        worker, TOKEN, queue));
    memset(data, 'x', sizeof data - 1);
    memset(worker, 'x', sizeof worker - 1);
    memset(queue, 'x', sizeof queue - 1);
    memset(id, 'x', sizeof id - 1);
    assert_string_equal(record.job.id, "id");
    assert_memory_equal(record.job.data.data, "bytes", 5);
    assert_string_equal(record.job.worker, "w1");
    assert_string_equal(record.job.process, "w1:" TOKEN ":q");
    assert_int_equal(record.job.state, MUSTER_JOB_RUNNING);
    assert_null(record.job.result.data);
    job_record_clear(&record);
    job_record_clear(&record);
}

static void each_state_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++)
        assert_int_equal(muster_job_state_of(muster_job_state_name((enum muster_job_state)i)), i);
    assert_string_equal(muster_job_state_name(MUSTER_JOB_STATE_COUNT), "unknown");
    assert_int_equal(muster_job_state_of("unknown"), -1);
    assert_int_equal(muster_job_state_of(NULL), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_goes_where_it_belongs), cmocka_unit_test(a_running_job_has_a_process),
        cmocka_unit_test(what_is_no_record_is_refused),     cmocka_unit_test(a_malformed_field_reads_as_nothing),
        cmocka_unit_test(a_taken_record_is_a_copy),         cmocka_unit_test(each_state_has_a_name_of_its_own),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
