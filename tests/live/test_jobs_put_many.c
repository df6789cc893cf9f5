/* SPDX-License-Identifier: MIT
 *
 * Putting many jobs in a call: all of them or none, in chunks where they are many, once under a request id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "taken.h"

enum { MANY = 250, CHUNK = 100 };

/* "j0" to "j<n-1>". */
struct jobs {
    char names[MANY][24], ids[MANY][MUSTER_JOB_ID_MAX + 1];
    struct muster_job_spec specs[MANY];
    const struct muster_job_spec *pointers[MANY];
    size_t put, refused;
};

static struct jobs *make_jobs(size_t n)
{
    static struct jobs j;
    j = (struct jobs){.put = 77};
    for (size_t i = 0; i < n; i++) {
        snprintf(j.names[i], sizeof j.names[i], "j%zu", i);
        j.specs[i] = (struct muster_job_spec){
            .size = sizeof *j.specs, .id = j.names[i], .data = {j.names[i], strlen(j.names[i])}};
        j.pointers[i] = &j.specs[i];
    }
    return &j;
}

static int put_under(struct scene *s, struct jobs *j, size_t n, const char *request_id)
{
    const struct muster_job_put_options o = {
        .size = sizeof o, .request_id = request_id, .ids = j->ids, .refused = &j->refused};
    return muster_job_put_many(s->client, "q", j->pointers, n, &o, &j->put);
}

static int put_n(struct scene *s, struct jobs *j, size_t n)
{
    return put_under(s, j, n, NULL);
}

static void assert_put(const struct jobs *j, size_t n)
{
    assert_int_equal(j->put, n);
}

static void assert_waiting(struct scene *s, uint64_t n)
{
    assert_int_equal(job_count(s, "q", MUSTER_JOB_WAITING), n);
}

/* ---- all or none ---- */

static void many_jobs_are_put_in_their_order_each_as_its_spec_says(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(5);
    j->specs[1].id = NULL;
    j->specs[2].priority = -1;
    j->specs[3].delay_ms = 3600000;
    j->specs[3].tags = IDS("red", "blue");
    j->specs[3].n_tags = 2;
    j->specs[4].retries = 9;
    assert_ok(put_n(s, j, 5));
    assert_put(j, 5);
    assert_string_equal(j->ids[0], "j0");
    assert_int_equal(strlen(j->ids[1]), 32);
    char expected[256];
    snprintf(expected, sizeof expected, "j2 j0 %s j4 ", j->ids[1]);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), expected);
    assert_string_equal(job_look(s, "j3").tags, "blue red ");
    assert_string_equal(job_look(s, "j3").data, "j3");
    assert_string_equal(job_look(s, "j3").history, "put ");
    assert_int_equal(job_look(s, "j3").state, MUSTER_JOB_SCHEDULED);
    assert_int_equal(job_look(s, "j4").retries, 9);
    assert_int_equal(job_look(s, "j0").retries, MUSTER_JOB_RETRIES_DEFAULT);
    struct muster_stats stats = {.size = sizeof stats};
    assert_ok(muster_stats_get(s->client, "q", -1, &stats));
    assert_int_equal(stats.put, 5);
    assert_int_equal(j->refused, 0);
    assert_ok(put_n(s, j, 0));
    assert_put(j, 0);
}

static void one_that_cannot_be_put_keeps_all_others_out(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(MUSTER_JOB_PUT_ATOMIC_JOBS);
    job_put(s, "other", JOB_SPEC(.id = "j150"));
    assert_err(put_n(s, j, MUSTER_JOB_PUT_ATOMIC_JOBS), MUSTER_E_EXISTS);
    assert_put(j, 0);
    assert_words(s, "job 151 of 200: the job 'j150' is waiting");
    assert_int_equal(j->refused, 151);
    assert_waiting(s, 0);
    assert_false(job_is_there(s, "j0"));
    j->specs[150].replace = 1;
    assert_ok(put_n(s, j, MUSTER_JOB_PUT_ATOMIC_JOBS));
    assert_waiting(s, MUSTER_JOB_PUT_ATOMIC_JOBS);
    assert_string_equal(job_look(s, "j150").queue, "q");
}

static void a_spec_is_looked_at_before_anything_is_sent(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(MANY);
    j->specs[249].retries = -1;
    assert_err(put_n(s, j, MANY), MUSTER_E_INVALID);
    assert_words(s, "job 250 of 250 ('j249'): ");
    assert_put(j, 0);
    j->specs[249].retries = 0;
    j->specs[249].id = "j7";
    j->specs[249].replace = 1;
    assert_err(put_n(s, j, MANY), MUSTER_E_EXISTS);
    assert_words(s, "job 250 of 250 ('j7'): the id is another job's of this call");
    assert_int_equal(j->refused, 250);
    j->pointers[3] = NULL;
    assert_err(put_n(s, j, MANY), MUSTER_E_INVALID);
    assert_words(s, "job 4 of 250: ");
    assert_waiting(s, 0);
}

static void a_schedule_that_has_no_time_is_named_and_a_call_without_jobs_names_none(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(3);
    j->specs[1].cron = "0 0 * * *";
    j->specs[1].until_ms = 1000;
    assert_err(put_n(s, j, 3), MUSTER_E_INVALID);
    assert_put(j, 0);
    assert_words(s, "job 2 of 3 ('j1'): ");
    assert_words(s, "nothing was put");
    assert_int_equal(j->refused, 2);
    assert_ok(put_n(s, j, 0));
    assert_int_equal(j->refused, 0);
    assert_waiting(s, 0);
}

/* ---- jobs of one call that wait for each other ---- */

static void an_earlier_job_of_the_call_counts_as_existing(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(3);
    j->specs[1].after = IDS("j0");
    j->specs[1].n_after = 1;
    j->specs[2].after = IDS("j0", "j1");
    j->specs[2].n_after = 2;
    assert_ok(put_n(s, j, 3));
    assert_string_equal(job_look(s, "j2").after, "j0 j1 ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "j0 ");
    for (int i = 0; i < 3; i++)
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", j->names[i]), NULL));
    j->specs[0].every_ms = 60000;
    assert_err(put_n(s, j, 3), MUSTER_E_INVALID);
    assert_words(s, "job 2 of 3: one of the jobs 'j1' and 'j0' would wait for itself, or for a recurring job");
    assert_job_state(s, "j0", MUSTER_JOB_COMPLETE);
}

/* x waits for y, which has failed; a new y would wait for x. */
static void no_circle_is_closed_within_a_call(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(2);
    job_put(s, "q", JOB_SPEC(.id = "j1"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "j1"), "g", ""));
    j->specs[0].after = IDS("j1");
    j->specs[1].after = IDS("j0");
    j->specs[0].n_after = j->specs[1].n_after = 1;
    assert_err(put_n(s, j, 2), MUSTER_E_INVALID);
    assert_words(s, "job 2 of 2: ");
    assert_false(job_is_there(s, "j0"));
    assert_job_state(s, "j1", MUSTER_JOB_FAILED);
}

/* j0 waits for j1. The call turns it round, in this order, which is no circle. */
static void what_a_call_changes_no_longer_stands_in_its_way(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(3);
    job_put(s, "q", JOB_SPEC(.id = "j1", .delay_ms = 3600000));
    job_put(s, "q", JOB_SPEC(.id = "j2", .delay_ms = 3600000));
    job_put(s, "q", JOB_SPEC(.id = "j0", .after = IDS("j1"), .n_after = 1));
    j->specs[0].after = IDS("j2");
    j->specs[1].after = IDS("j0");
    j->specs[0].n_after = j->specs[1].n_after = 1;
    j->specs[0].replace = j->specs[1].replace = 1;
    assert_ok(put_n(s, j, 2));
    assert_string_equal(job_look(s, "j0").after, "j2 ");
    assert_string_equal(job_look(s, "j1").after, "j0 ");
}

/* ---- in chunks ---- */

static void more_than_one_script_takes_go_in_chunks_and_it_is_said_where_they_stopped(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(MANY);
    job_put(s, "other", JOB_SPEC(.id = "j230"));
    assert_err(put_n(s, j, MANY), MUSTER_E_EXISTS);
    assert_put(j, 2 * (size_t)CHUNK);
    assert_words(s, "job 231 of 250: the job 'j230' is waiting");
    assert_int_equal(j->refused, 231);
    assert_words(s, "the 200 before it are put");
    assert_waiting(s, 2 * (uint64_t)CHUNK);
    assert_true(job_is_there(s, "j199"));
    assert_false(job_is_there(s, "j200"));
}

/* Which one it is, is known only where it goes alone. */
static void one_that_redis_does_not_take_for_its_size_is_named(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(5);
    static char large[2 * 1024 * 1024];
    j->specs[2].data = j->specs[4].data = (struct muster_bytes){large, sizeof large};
    raw_do(s->server->redis, "CONFIG SET proto-max-bulk-len 1mb");
    int err = put_n(s, j, 5);
    raw_do(s->server->redis, "CONFIG SET proto-max-bulk-len 512mb");
    assert_err(err, MUSTER_E_TOO_BIG);
    assert_put(j, 2);
    assert_int_equal(j->refused, 3);
    assert_words(s, "job 3 of 5: its data of 2097152 bytes: ");
    assert_words(s, "the 2 before it are put");
    assert_waiting(s, 2);
}

static int stop_at_second(const struct muster_progress *progress, void *arg)
{
    struct muster_progress *last = arg;
    *last = *progress;
    return progress->done >= 2 * (uint64_t)CHUNK;
}

static void a_put_of_many_tells_how_far_it_is_and_stops_where_it_is_told_to(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(MANY);
    struct muster_progress last = {0};
    muster_client_set_progress(s->client, stop_at_second, &last);
    assert_err(put_n(s, j, MANY), MUSTER_E_STOPPED);
    muster_client_set_progress(s->client, NULL, NULL);
    assert_put(j, 2 * (size_t)CHUNK);
    assert_int_equal(last.total, MANY);
    assert_waiting(s, 2 * (uint64_t)CHUNK);
}

/* ---- under a request id ---- */

static void a_request_that_is_sent_again_puts_nothing_again(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(3);
    j->specs[1].id = NULL;
    assert_ok(put_under(s, j, 3, "r"));
    assert_string_equal(j->ids[1], "r:2");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "j0"), NULL));
    assert_ok(put_under(s, j, 3, "r"));
    assert_put(j, 3);
    assert_job_state(s, "j0", MUSTER_JOB_COMPLETE);
    assert_waiting(s, 2);
    j->specs[2].priority = 1;
    assert_err(put_under(s, j, 3, "r"), MUSTER_E_EXISTS);
    assert_words(s, "the request 'r' had other content before");
    assert_int_equal(job_look(s, "j2").priority, 0);
}

static void a_request_goes_on_where_it_was_stopped(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(MANY);
    job_put(s, "other", JOB_SPEC(.id = "j230"));
    assert_err(put_under(s, j, MANY, "r"), MUSTER_E_EXISTS);
    assert_put(j, 2 * (size_t)CHUNK);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "j0"), NULL));
    assert_ok(muster_job_cancel(s->client, IDS("j230"), 1, 0, NULL, NULL));
    assert_ok(put_under(s, j, MANY, "r"));
    assert_put(j, MANY);
    assert_waiting(s, MANY - 1);
    assert_job_state(s, "j0", MUSTER_JOB_COMPLETE);
}

static void a_request_id_that_names_jobs_leaves_room_for_their_numbers(void **state)
{
    struct scene *s = *state;
    struct jobs *j = make_jobs(1);
    char id[201];
    memset(id, 'r', 200);
    id[200] = '\0';
    assert_ok(put_under(s, j, 1, id));
    j->specs[0].id = NULL;
    assert_err(put_under(s, j, 1, id), MUSTER_E_INVALID);
    assert_words(s, "too long");
    assert_err(put_under(s, j, 1, ""), MUSTER_E_INVALID);
    assert_waiting(s, 1);
}

/* ---- what it costs ---- */

static int64_t n_commands(struct scene *s)
{
    char *info = raw_string(s->server->redis, "INFO stats");
    const char *line = info ? strstr(info, "total_commands_processed:") : NULL;
    assert_non_null(line);
    int64_t n = strtoll(strchr(line, ':') + 1, NULL, 10);
    free(info);
    return n;
}

static void a_hundred_jobs_take_two_commands_each(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "first"));
    int64_t before = n_commands(s);
    assert_ok(put_n(s, make_jobs(CHUNK), CHUNK));
    int64_t n = n_commands(s) - before;
    if (n > 2 * CHUNK + 40)
        fail_msg("a hundred jobs took %lld commands", (long long)n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(many_jobs_are_put_in_their_order_each_as_its_spec_says),
        live_test(one_that_cannot_be_put_keeps_all_others_out),
        live_test(a_spec_is_looked_at_before_anything_is_sent),
        live_test(a_schedule_that_has_no_time_is_named_and_a_call_without_jobs_names_none),
        live_test(an_earlier_job_of_the_call_counts_as_existing),
        live_test(no_circle_is_closed_within_a_call),
        live_test(what_a_call_changes_no_longer_stands_in_its_way),
        live_test(more_than_one_script_takes_go_in_chunks_and_it_is_said_where_they_stopped),
        live_test(one_that_redis_does_not_take_for_its_size_is_named),
        live_test(a_put_of_many_tells_how_far_it_is_and_stops_where_it_is_told_to),
        live_test(a_request_that_is_sent_again_puts_nothing_again),
        live_test(a_request_goes_on_where_it_was_stopped),
        live_test(a_request_id_that_names_jobs_leaves_room_for_their_numbers),
        live_test(a_hundred_jobs_take_two_commands_each),
    };
    return scene_run(tests, argc, argv);
}
