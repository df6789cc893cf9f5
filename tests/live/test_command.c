/* SPDX-License-Identifier: MIT
 *
 * Commands as handlers: what the child gets, what its exit status means, and that none is left behind.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs.h"
#include "live_worker.h"
#include "worker/worker.h"

/* A worker "w1" that serves "q" with `sh -c <script> sh <argument>`. */
static struct live_worker *serve_shell(struct scene *s, const char *script, const char *argument,
                                       struct muster_command extra)
{
    const char *const argv[] = {"sh", "-c", script, "sh", argument, NULL};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600});
    extra.size = sizeof extra;
    extra.argv = argv;
    assert_ok(muster_worker_serve_command(w->worker, "q", &extra));
    return w;
}

static void await_finished(struct scene *s)
{
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    scene_assert_quiet(s);
}

static int64_t failed(struct scene *s)
{
    return raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix);
}

static bool failed_list_names(struct scene *s, const char *word)
{
    char *list = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    bool named = strstr(list, word) != NULL;
    if (!named)
        print_error("the failed list does not name %s: %s\n", word, list);
    free(list);
    return named;
}

/* ---- what the child gets ---- */

static void the_child_gets_the_task_and_its_names(void **state)
{
    struct scene *s = *state;
    serve_shell(s,
                "test \"$MUSTER_QUEUE\" = q && test \"$MUSTER_WORKER\" = w1 && test -n \"$MUSTER_TOKEN\" &&"
                " test \"$MUSTER_PROCESS\" = \"w1:$MUSTER_TOKEN:q\" && test \"$(cat)\" = 'the task'",
                NULL, (struct muster_command){0});
    scene_enqueue(s, "q", "the task");
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

static void tasks_of_any_size_reach_standard_input(void **state)
{
    struct scene *s = *state;
    const size_t len = 1024 * 1024;
    char *data = calloc(1, len);
    serve_shell(s, "n=$(wc -c) && { test $n -eq 0 || test $n -eq 1048576; }", NULL, (struct muster_command){0});
    int err = muster_task_enqueue(s->client, "q", data, len, NULL);
    free(data);
    assert_ok(err);
    assert_ok(muster_task_enqueue(s->client, "q", NULL, 0, NULL));
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

static void a_child_need_not_read_its_input(void **state)
{
    struct scene *s = *state;
    const size_t len = 1024 * 1024;
    char *data = calloc(1, len);
    serve_shell(s, "exit 0", NULL, (struct muster_command){0});
    int err = muster_task_enqueue(s->client, "q", data, len, NULL);
    free(data);
    assert_ok(err);
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

static void each_occurrence_of_the_marker_is_replaced_by_the_task(void **state)
{
    struct scene *s = *state;
    serve_shell(s, "test \"$1\" = 'say a $b \"c\" and a $b \"c\"'", "say {} and {}",
                (struct muster_command){.replace = "{}"});
    scene_enqueue(s, "q", "a $b \"c\"");
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

static void a_task_with_a_nul_cannot_replace_the_marker(void **state)
{
    struct scene *s = *state;
    serve_shell(s, "exit 0", "{}", (struct muster_command){.replace = "{}"});
    assert_ok(muster_task_enqueue(s->client, "q", "a\0b", 3, NULL));
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_true(failed_list_names(s, "bad-argument"));
}

/* ---- what its end means ---- */

static void any_other_exit_status_fails_the_task_in_its_group(void **state)
{
    struct scene *s = *state;
    const struct {
        const char *task, *group;
    } cases[] = {{"exit 1", "exit-1"},     {"exit 74", "exit-74"},     {"exit 126", "exit-126"},
                 {"exit 127", "exit-127"}, {"kill -9 $$", "signal-9"}, {"kill -15 $$", "signal-15"}};
    serve_shell(s, "eval \"$(cat)\"", NULL, (struct muster_command){0});
    for (size_t i = 0; i < N_OF(cases); i++) {
        scene_enqueue(s, "q", cases[i].task);
        raw_await(s->server->redis, s->base, (int64_t)i + 1, "ZCARD %s:failed:q", s->prefix);
        assert_true(failed_list_names(s, cases[i].group));
    }
    scene_assert_quiet(s);
}

static void exit_75_retries_the_task_after_the_delay(void **state)
{
    struct scene *s = *state;
    char script[256];
    snprintf(script, sizeof script, "test -e %s/seen || { : > %s/seen; exit 75; }", s->server->dir, s->server->dir);
    serve_shell(s, script, NULL, (struct muster_command){.retry_delay_ms = 300});
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:delayed:q", s->prefix);
    raw_await(s->server->redis, s->base, 0, "ZCARD %s:delayed:q", s->prefix);
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

/* The path of a program "program" in the server's directory, with this content. */
static const char *make_program(struct scene *s, const char *content)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/program", s->server->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static struct live_worker *serve_program(struct scene *s, const char *path)
{
    const char *const argv[] = {path, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv, .retry_delay_ms = 50};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600});
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    return w;
}

static void stops_because(struct scene *s, struct live_worker *w, size_t n, const char *words)
{
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", n);
    assert_int_equal(w->stop_err, MUSTER_E_NOT_FOUND);
    if (!strstr(muster_worker_error(w->worker), words))
        fail_msg("'%s' does not say '%s'", muster_worker_error(w->worker), words);
    assert_int_equal(scene_waiting(s, "q"), 1);
    live_worker_free(s, w);
}

/* It is there when the worker serves, but no longer, or not alone, when a task comes. */
static void a_program_that_cannot_be_executed_stops_the_worker_and_the_task_stays(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = serve_program(s, make_program(s, "#!/no/such/interpreter\n"));
    scene_await_idle(s, "q", "w1");
    scene_enqueue(s, "q", "t");
    stops_because(s, w, 1, "program cannot be run: No such file or directory");
    w = serve_program(s, make_program(s, "neither a script nor a program\n"));
    stops_because(s, w, 2, "program cannot be run: Exec format error");
    assert_int_equal(failed(s), 0);
}

/* What comes behind a reason would have no room where that is said for each hand. */
static void for_several_hands_it_is_said_once(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {make_program(s, "#!/no/such/interpreter\n"), NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    scene_enqueue_n(s, "q", "t", 4);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600, .hands = 4});
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    const char *why = muster_worker_error(w->worker), *said = strstr(why, "cannot be run");
    assert_non_null(said);
    if (strstr(said + 1, "cannot be run"))
        fail_msg("it is said again: %s", why);
    assert_int_equal(scene_waiting(s, "q"), 4);
}

/* The task has no part in it, with or without a place for it among the arguments. */
static void an_environment_that_is_too_long_stops_the_worker_and_the_task_stays(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {"true", "{}", NULL};
    const size_t len = 256 * 1024;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    assert_return_code(setenv("MUSTER_TEST_LONG", text, 1), 0);
    free(text);
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < 2; i++) {
        struct muster_command command = {.size = sizeof command, .argv = argv, .replace = i ? "{}" : NULL};
        struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600});
        assert_ok(muster_worker_serve_command(w->worker, "q", &command));
        stops_because(s, w, i + 1, "true cannot be run: Argument list too long");
    }
    assert_return_code(unsetenv("MUSTER_TEST_LONG"), 0);
    assert_int_equal(failed(s), 0);
}

static void a_task_that_is_too_long_for_an_argument_fails_alone(void **state)
{
    struct scene *s = *state;
    const size_t len = 256 * 1024;
    char *data = malloc(len);
    memset(data, 'x', len);
    serve_shell(s, "exit 0", "{}", (struct muster_command){.replace = "{}"});
    int err = muster_task_enqueue(s->client, "q", data, len, NULL);
    free(data);
    assert_ok(err);
    scene_enqueue(s, "q", "t");
    await_finished(s);
    assert_int_equal(failed(s), 1);
    assert_true(failed_list_names(s, "bad-argument"));
}

/* It costs the work nothing, whatever it is: a task, or a job without a retry. */
static void a_program_that_is_being_written_is_tried_again(void **state)
{
    struct scene *s = *state;
    const char *path = make_program(s, "#!/bin/sh\n");
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    serve_program(s, path);
    scene_await_idle(s, "q", "w1");
    scene_enqueue(s, "q", "t");
    job_put(s, "q", "a", "retries", "0");
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    assert_int_equal(close(fd), 0);
    job_await(s, "a", "state", "complete");
    await_finished(s);
    assert_int_equal(failed(s), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 0);
}

static void a_program_that_is_not_there_is_not_served(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1"});
    const char *programs[] = {"no-such-program-anywhere", "/no/such/program", s->server->dir};
    for (size_t i = 0; i < N_OF(programs); i++) {
        const char *const argv[] = {programs[i], NULL};
        const struct muster_command command = {.size = sizeof command, .argv = argv};
        assert_err(muster_worker_serve_command(w->worker, "q", &command), MUSTER_E_NOT_FOUND);
    }
}

/* ---- jobs ---- */

/* The child gets the job's id, and never one that the worker has inherited. */
static void the_child_of_a_job_knows_it_and_its_attempt(void **state)
{
    struct scene *s = *state;
    setenv("MUSTER_JOB", "inherited", 1);
    serve_shell(s,
                "if test \"$(cat)\" = task; then test -z \"$MUSTER_JOB$MUSTER_ATTEMPT\"; exit; fi;"
                " test \"$MUSTER_JOB\" = a && test \"$MUSTER_ATTEMPT\" = 2",
                NULL, (struct muster_command){0});
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "retried", "1");
    scene_enqueue(s, "q", "task");
    await_finished(s);
    unsetenv("MUSTER_JOB");
    assert_int_equal(failed(s), 0);
}

/* Where a task would fail, a job has retries of its own. The reason of its last failure is kept. */
static void any_other_end_retries_a_job_by_its_own_settings(void **state)
{
    struct scene *s = *state;
    serve_shell(s, "case $MUSTER_ATTEMPT in 1) exit 3;; 2) kill -9 $$;; 3) exit 0;; esac", NULL,
                (struct muster_command){.retry_delay_ms = 3600000});
    job_put(s, "q", "a", "backoff", "300");
    job_await(s, "a", "retried", "1");
    job_assert(s, "a", "group", "exit-3");
    job_assert(s, "a", "message", "sh ended with exit status 3");
    job_await(s, "a", "retried", "2");
    job_assert(s, "a", "group", "signal-9");
    job_await(s, "a", "state", "complete");
    assert_int_equal(failed(s), 0);
}

static void a_job_whose_command_never_succeeds_has_used_up_its_retries(void **state)
{
    struct scene *s = *state;
    serve_shell(s, "exit 1", NULL, (struct muster_command){0});
    job_put(s, "q", "a", "retries", "2");
    job_await(s, "a", "state", "failed");
    job_assert(s, "a", "group", "exit-1");
    job_assert(s, "a", "message", "sh ended with exit status 1 (all 2 retries are used up)");
    assert_int_equal(failed(s), 1);
}

static void assert_history_has(struct scene *s, const char *id, const char *text)
{
    char *lines = raw_string(s->server->redis, "LRANGE %s:history:%s 0 -1", s->prefix, id);
    bool has = strstr(lines, text) != NULL;
    if (!has)
        print_error("the history of %s lacks '%s': %s\n", id, text, lines);
    free(lines);
    assert_true(has);
}

static void exit_75_retries_a_job_after_its_own_backoff(void **state)
{
    struct scene *s = *state;
    serve_shell(s, "test $MUSTER_ATTEMPT = 2 || exit 75", NULL, (struct muster_command){.retry_delay_ms = 3600000});
    job_put(s, "q", "a", "backoff", "20");
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "retried", "1");
    job_put(s, "q", "b", "backoff", "3600000");
    job_await(s, "b", "state", "scheduled");
    assert_history_has(s, "b", "\tretried\texit-75");
}

/* Whatever the system lacks, a job that has no retry left is none the worse for it, and is told once. The worker takes
 * nothing for a moment; then it has as many hands as before. */
static void what_the_system_lacks_costs_a_job_nothing(void **state)
{
    struct scene *s = *state;
    struct rlimit before, none;
    struct live_worker *w = serve_shell(s, "true", NULL, (struct muster_command){0});
    w->worker->max_tasks = 1; /* which it does not count for */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){3, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    job_put(s, "q", "a", "retries", "0");
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w1 held", s->prefix);
    job_await(s, "a", "state", "running"); /* once more, and once more without a word */
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w1 held", s->prefix);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "retried", "");
    job_assert(s, "a", "group", "");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, NULL, NULL), 1);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
}

enum { WRITTEN_HANDS = 4 };

static bool has_begun_often(void *worker)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(worker, &stats));
    return stats.started >= 5 * WRITTEN_HANDS;
}

/* It is known only to the child that it cannot become its program. Of several that try at once, the one that fails first may
 * have been made last. */
static void a_program_that_somebody_writes_costs_a_job_nothing(void **state)
{
    struct scene *s = *state;
    static const char program[] = "#!/bin/sh\n", *const ids[WRITTEN_HANDS] = {"a", "b", "c", "d"};
    char path[200];
    const char *const argv[] = {path, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600, .hands = WRITTEN_HANDS});
    snprintf(path, sizeof path, "%s/program", s->server->dir);
    int writer = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    assert_int_equal(write(writer, program, sizeof program - 1), sizeof program - 1);
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    for (int i = 0; i < WRITTEN_HANDS; i++)
        job_put(s, "q", ids[i], "retries", "0");
    wait_on(s->base, has_begun_often, w->worker, SOON_MS);
    assert_int_equal(close(writer), 0);
    for (int i = 0; i < WRITTEN_HANDS; i++) {
        job_await(s, ids[i], "state", "complete");
        job_assert(s, ids[i], "retried", "");
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, NULL, NULL), 1);
}

/* ---- several, and their end ---- */

static void hands_run_commands_side_by_side(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600, .hands = 3});
    /* Each waits for the two others: with fewer at once none of them would ever end. */
    char script[240];
    snprintf(script, sizeof script,
             "cd %s && : > side-$$ && until test $(ls | grep -c ^side-) -ge 3; do sleep 0.01; done", s->server->dir);
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    await_finished(s);
    assert_int_equal(failed(s), 0);
}

/* ---- a signal before it is there ---- */

static volatile sig_atomic_t strikes;

static void strike(void)
{
    if (strikes)
        raise(SIGTERM);
}

static void leave_at_once(int signo)
{
    (void)signo;
    _exit(0);
}

/* The program has a handler for SIGTERM, and the child is told to stop when it is still a copy of the program. */
static void a_signal_that_comes_before_the_command_ends_it(void **state)
{
    struct scene *s = *state;
    struct sigaction before, own = {.sa_handler = leave_at_once};
    assert_int_equal(pthread_atfork(NULL, NULL, strike), 0);
    serve_shell(s, "exit 0", NULL, (struct muster_command){0});
    assert_int_equal(sigaction(SIGTERM, &own, &before), 0);
    strikes = 1;
    scene_enqueue(s, "q", "t");
    await_finished(s);
    strikes = 0;
    sigaction(SIGTERM, &before, NULL);
    assert_int_equal(failed(s), 1);
    assert_true(failed_list_names(s, "signal-15"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(the_child_gets_the_task_and_its_names),
        live_test(tasks_of_any_size_reach_standard_input),
        live_test(a_child_need_not_read_its_input),
        live_test(each_occurrence_of_the_marker_is_replaced_by_the_task),
        live_test(a_task_with_a_nul_cannot_replace_the_marker),
        live_test(any_other_exit_status_fails_the_task_in_its_group),
        live_test(exit_75_retries_the_task_after_the_delay),
        live_test(a_program_that_cannot_be_executed_stops_the_worker_and_the_task_stays),
        live_test(for_several_hands_it_is_said_once),
        live_test(an_environment_that_is_too_long_stops_the_worker_and_the_task_stays),
        live_test(a_task_that_is_too_long_for_an_argument_fails_alone),
        live_test(a_program_that_is_being_written_is_tried_again),
        live_test(a_program_that_is_not_there_is_not_served),
        live_test(the_child_of_a_job_knows_it_and_its_attempt),
        live_test(any_other_end_retries_a_job_by_its_own_settings),
        live_test(a_job_whose_command_never_succeeds_has_used_up_its_retries),
        live_test(exit_75_retries_a_job_after_its_own_backoff),
        live_test(what_the_system_lacks_costs_a_job_nothing),
        live_test(a_program_that_somebody_writes_costs_a_job_nothing),
        live_test(hands_run_commands_side_by_side),
        live_test(a_signal_that_comes_before_the_command_ends_it),
    };
    return scene_run(tests, argc, argv);
}
