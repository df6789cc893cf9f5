/* SPDX-License-Identifier: MIT
 *
 * What commands print: their standard output as the result, the end of their standard error as the message of a
 * failure. tests/cli/test_work_output.sh proves what is passed through.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs.h"
#include "live_worker.h"
#include "worker/worker.h"

/* Its ttl is longer than any halt of this machine: a worker that was swept would run its commands again. */
static struct live_worker *serve_shell(struct scene *s, int hands, const char *script, struct muster_command extra)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 60000, .hands = hands});
    extra.size = sizeof extra;
    extra.argv = argv;
    assert_ok(muster_worker_serve_command(w->worker, "q", &extra));
    return w;
}

#define AS_RESULT .on_stdout = MUSTER_STDOUT_RESULT

struct wanted {
    const char *bytes;
    size_t len;
    bool is_seen;
};

static int compare_result(const struct muster_job *job, void *arg)
{
    struct wanted *w = arg;
    assert_non_null(job->result.data);
    assert_int_equal(job->result.len, w->len);
    assert_memory_equal(job->result.data, w->bytes, w->len);
    w->is_seen = true;
    return 0;
}

static void assert_result(struct scene *s, const char *id, const char *bytes, size_t len)
{
    struct wanted w = {bytes, len, false};
    assert_ok(muster_job_get(s->client, &id, 1, compare_result, &w));
    assert_true(w.is_seen);
}

/* The job runs the data as a script. */
static void run_job(struct scene *s, const char *id, const char *script, const char *state)
{
    job_put(s, "q", id, "data", script, "retries", "0");
    job_await(s, id, "state", state);
}

/* ---- results ---- */

static void what_a_command_prints_becomes_the_result_byte_by_byte(void **state)
{
    struct scene *s = *state;
    serve_shell(s, 1, "exec sh", (struct muster_command){AS_RESULT});
    run_job(s, "words", "echo two; echo lines", "complete");
    assert_result(s, "words", "two\nlines\n", 10);
    run_job(s, "bytes", "printf '\\000\\377\\n\\000'", "complete");
    assert_result(s, "bytes", "\0\377\n\0", 4);
    run_job(s, "nothing", "exit 0", "complete");
    assert_result(s, "nothing", "", 0);
    run_job(s, "failed", "echo no result; exit 1", "failed");
    job_assert(s, "failed", "result", "");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_CUT, NULL, NULL), 0);
}

static void a_result_that_is_too_long_is_cut_off_and_told(void **state)
{
    struct scene *s = *state;
    serve_shell(s, 1, "exec sh", (struct muster_command){AS_RESULT, .result_max = 5});
    run_job(s, "fits", "printf 12345", "complete");
    assert_result(s, "fits", "12345", 5);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_CUT, NULL, NULL), 0);
    run_job(s, "longer", "printf 123; printf 456", "complete");
    assert_result(s, "longer", "12345", 5);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_CUT, NULL, NULL), 1);
    run_job(s, "much", "head -c 3000000 /dev/zero", "complete");
    assert_result(s, "much", "\0\0\0\0\0", 5);
}

static void without_a_bound_of_its_own_a_result_has_64_kib(void **state)
{
    struct scene *s = *state;
    char *zeroes = calloc(1, MUSTER_RESULT_DEFAULT);
    serve_shell(s, 1, "exec sh", (struct muster_command){AS_RESULT});
    run_job(s, "all", "head -c 65536 /dev/zero", "complete");
    assert_result(s, "all", zeroes, 65536);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_CUT, NULL, NULL), 0);
    run_job(s, "more", "head -c 65537 /dev/zero", "complete");
    assert_result(s, "more", zeroes, 65536);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_CUT, NULL, NULL), 1);
    free(zeroes);
}

/* ---- messages ---- */

static void the_last_that_a_command_said_is_the_message_of_its_failure(void **state)
{
    struct scene *s = *state;
    serve_shell(s, 1, "exec sh", (struct muster_command){0});
    run_job(s, "said", "echo begins >&2; printf '\\033[31mno such host\\033[0m' >&2; exit 3", "failed");
    job_assert(s, "said", "group", "exit-3");
    job_assert(s, "said", "message", "begins\nno such host");
    run_job(s, "killed", "echo dies >&2; kill -9 $$", "failed");
    job_assert(s, "killed", "group", "signal-9");
    job_assert(s, "killed", "message", "dies");
    run_job(s, "silent", "exit 4", "failed");
    job_assert(s, "silent", "message", "sh ended with exit status 4");
    run_job(s, "much", "seq 100000 >&2; exit 5", "failed");
    char *message = raw_string(s->server->redis, "HGET %s:job:much message", s->prefix);
    assert_in_range(strlen(message), 1000, 1024);
    assert_string_equal(message + strlen(message) - 13, "\n99999\n100000");
    free(message);
}

static void a_message_that_was_not_asked_for_is_the_exit_status(void **state)
{
    struct scene *s = *state;
    serve_shell(s, 1, "sh 2>/dev/null", (struct muster_command){.on_stderr = MUSTER_STDERR_PASS});
    run_job(s, "said", "echo said >&2; exit 3", "failed");
    job_assert(s, "said", "message", "sh ended with exit status 3");
}

static void status_75_keeps_why_a_job_is_retried(void **state)
{
    struct scene *s = *state;
    serve_shell(s, 1, "echo busy >&2; exit 75", (struct muster_command){0});
    job_put(s, "q", "again", "retries", "1", "backoff", "3600000");
    job_await(s, "again", "state", "scheduled");
    job_assert(s, "again", "group", "exit-75");
    job_assert(s, "again", "message", "busy");
    run_job(s, "never", "", "failed");
    job_assert(s, "never", "group", "exit-75");
    job_assert(s, "never", "message", "busy");
}

/* ---- several, and those that outlive their parent ---- */

static void commands_side_by_side_have_pipes_of_their_own(void **state)
{
    struct scene *s = *state;
    char id[8], script[160], words[8];
    serve_shell(s, 8, "exec sh", (struct muster_command){AS_RESULT});
    for (int i = 0; i < 40; i++) {
        snprintf(id, sizeof id, "j%d", i);
        snprintf(script, sizeof script, "printf o%d; printf e%d >&2; sleep 0.0%d; exit %d", i, i, i % 7, i % 2);
        job_put(s, "q", id, "data", script, "retries", "0");
    }
    for (int i = 0; i < 40; i++) {
        snprintf(id, sizeof id, "j%d", i);
        snprintf(words, sizeof words, "%c%d", i % 2 ? 'e' : 'o', i);
        job_await(s, id, "state", i % 2 ? "failed" : "complete");
        job_assert(s, id, i % 2 ? "message" : "result", words);
    }
}

static bool is_there(void *arg)
{
    return access(arg, F_OK) == 0;
}

/* It holds both pipes open, waits until its parent's end has counted, and writes: it must not be killed for that. */
static void what_a_command_leaves_running_holds_nothing_up_and_may_write(void **state)
{
    struct scene *s = *state;
    char script[600], ended[120], alive[120];
    snprintf(ended, sizeof ended, "%s/ended", s->server->dir);
    snprintf(alive, sizeof alive, "%s/alive", s->server->dir);
    snprintf(script, sizeof script,
             "setsid sh -c 'until [ -e %s ]; do sleep 0.01; done; head -c 200000 /dev/zero; head -c 20000 /dev/zero |"
             " tr \"\\\\0\" \"\\\\n\" >&2 && echo >%s' & echo result; echo message >&2; exit $(cat)",
             ended, alive);
    serve_shell(s, 1, script, (struct muster_command){AS_RESULT});
    run_job(s, "done", "0", "complete");
    assert_result(s, "done", "result\n", 7);
    FILE *file = fopen(ended, "w");
    assert_non_null(file);
    fclose(file);
    wait_on(s->base, is_there, alive, SOON_MS);
    unlink(ended);
    unlink(alive);
    run_job(s, "failed", "7", "failed");
    job_assert(s, "failed", "message", "message");
    file = fopen(ended, "w");
    assert_non_null(file);
    fclose(file);
    wait_on(s->base, is_there, alive, SOON_MS);
}

/* A worker with a base of the program's: nothing of it keeps that loop from its end. */
static void a_worker_that_has_stopped_reads_no_more(void **state)
{
    struct scene *s = *state;
    char script[300], gone[120];
    snprintf(gone, sizeof gone, "%s/gone", s->server->dir);
    snprintf(script, sizeof script,
             "setsid sh -c 'trap \"\" PIPE; while printf \"\\\\n\" >&2; do sleep 0.01; done; echo >%s' &", gone);
    struct live_worker *w = serve_shell(s, 1, script, (struct muster_command){0});
    run_job(s, "done", "", "complete");
    live_worker_stop(s, w, 0);
    wait_on(s->base, is_there, gone, SOON_MS);
}

/* Each child needs a descriptor, and a pipe must not take it away: some fail with the message of their status. */
static void too_few_descriptors_cost_messages_but_no_child(void **state)
{
    struct scene *s = *state;
    struct rlimit before, few;
    char script[400], id[8];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){140, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    snprintf(script, sizeof script,
             "echo said >&2; : >%s/x-$$; until [ $(ls %s | grep -c ^x-) -ge 35 ]; do sleep 0.05; done; exit 1",
             s->server->dir, s->server->dir);
    serve_shell(s, 35, script, (struct muster_command){0});
    for (int i = 0; i < 35; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", id, "retries", "0");
    }
    size_t said = 0;
    for (int i = 0; i < 35; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_await(s, id, "state", "failed");
        char *message = raw_string(s->server->redis, "HGET %s:job:%s message", s->prefix, id);
        said += strcmp(message, "said") == 0;
        assert_true(strcmp(message, "said") == 0 || strcmp(message, "sh ended with exit status 1") == 0);
        free(message);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(said, 1, 34);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, NULL, NULL), 0);
}

/* What 80 commands have left running holds their results' pipes. It takes no more of the worker's descriptors than it
 * may, costs nobody a retry, and holds up no command that needs none. */
static void what_is_left_of_results_is_bounded_and_fails_nobody(void **state)
{
    struct scene *s = *state;
    struct rlimit before, few;
    char script[300], lock[120], id[8];
    const char *const argv[] = {"true", NULL};
    const struct muster_command plain = {.size = sizeof plain, .argv = argv, .on_stderr = MUSTER_STDERR_PASS};
    snprintf(lock, sizeof lock, "%s/lock", s->server->dir);
    snprintf(script, sizeof script, "flock -s %s true & echo result", lock);
    int fd = open(lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){128, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct live_worker *w =
        serve_shell(s, 1, script, (struct muster_command){AS_RESULT, .on_stderr = MUSTER_STDERR_PASS});
    assert_ok(muster_worker_serve_command(w->worker, "plain", &plain));
    for (int i = 0; i < 80; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", id, "retries", "0");
    }
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    assert_non_null(strstr(muster_worker_error(w->worker), "left running"));
    job_put(s, "plain", "innocent", "retries", "0");
    job_await(s, "innocent", "state", "complete");
    assert_in_range(w->worker->outputs.n, 1, 64);
    assert_int_equal(close(fd), 0);
    for (int i = 0; i < 80; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_await(s, id, "state", "complete");
        job_assert(s, id, "retried", "");
        job_assert(s, id, "result", "result\n");
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* ---- what is refused ---- */

static void what_cannot_be_meant_is_refused(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {"true", NULL};
    const struct muster_command wrong[] = {
        {.on_stdout = (enum muster_on_stdout)2},
        {.on_stderr = (enum muster_on_stderr)2},
        {.result_max = 1},
        {AS_RESULT, .result_max = MUSTER_TASK_MAX_DEFAULT + 1},
    };
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1"});
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct muster_command command = wrong[i];
        command.size = sizeof command;
        command.argv = argv;
        assert_err(muster_worker_serve_command(w->worker, "q", &command), MUSTER_E_INVALID);
        assert_true(strncmp(muster_worker_error(w->worker), "on_std", 6) == 0 ||
                    strncmp(muster_worker_error(w->worker), "result_max", 10) == 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_a_command_prints_becomes_the_result_byte_by_byte),
        live_test(a_result_that_is_too_long_is_cut_off_and_told),
        live_test(without_a_bound_of_its_own_a_result_has_64_kib),
        live_test(the_last_that_a_command_said_is_the_message_of_its_failure),
        live_test(a_message_that_was_not_asked_for_is_the_exit_status),
        live_test(status_75_keeps_why_a_job_is_retried),
        live_test(commands_side_by_side_have_pipes_of_their_own),
        live_test(what_a_command_leaves_running_holds_nothing_up_and_may_write),
        live_test(a_worker_that_has_stopped_reads_no_more),
        live_test(too_few_descriptors_cost_messages_but_no_child),
        live_test(what_is_left_of_results_is_bounded_and_fails_nobody),
        live_test(what_cannot_be_meant_is_refused),
    };
    return scene_run(tests, argc, argv);
}
