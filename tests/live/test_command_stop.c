/* SPDX-License-Identifier: MIT
 *
 * A command ends when it must: for each reason to stop, also one after the other; wherever it has moved; and whatever
 * it does about SIGTERM. What cannot be ended is told, and holds nothing up.
 */
#include <errno.h>
#include <hiredis/async.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_worker.h"
#include "worker/worker.h"

#define LONG_MS (3600 * 1000)

/* ---- in place of the signals: those of the worker to its children are not allowed ---- */

static bool signals_are_denied;

int __real_kill(pid_t pid, int signo);
int __real_pidfd_send_signal(int pidfd, int signo, siginfo_t *info, unsigned flags);
int __wrap_kill(pid_t pid, int signo);
int __wrap_pidfd_send_signal(int pidfd, int signo, siginfo_t *info, unsigned flags);

static int deny(void)
{
    errno = EPERM;
    return -1;
}

int __wrap_kill(pid_t pid, int signo)
{
    return signals_are_denied ? deny() : __real_kill(pid, signo);
}

int __wrap_pidfd_send_signal(int pidfd, int signo, siginfo_t *info, unsigned flags)
{
    return signals_are_denied ? deny() : __real_pidfd_send_signal(pidfd, signo, info, flags);
}

/* ---- commands that stay ---- */

/* A child that writes its pid to a file of the scene's directory, and stays. */
struct stayer {
    char script[512], path[96], go[96];
    pid_t pid;
};

static void stayer_init(struct scene *s, struct stayer *stayer, const char *before)
{
    static int n;
    snprintf(stayer->path, sizeof stayer->path, "%s/pid-%d", s->server->dir, n++);
    snprintf(stayer->script, sizeof stayer->script, "%s echo $$ > %s.new && mv %s.new %s; while :; do sleep 0.05; done",
             before, stayer->path, stayer->path, stayer->path);
    stayer->pid = 0;
}

static bool stays(void *arg)
{
    struct stayer *stayer = arg;
    FILE *f = fopen(stayer->path, "r");
    if (f && fscanf(f, "%d", &stayer->pid) != 1)
        stayer->pid = 0;
    if (f)
        fclose(f);
    return stayer->pid > 0;
}

static bool is_gone(void *arg)
{
    return __real_kill(((struct stayer *)arg)->pid, 0) != 0 && errno == ESRCH;
}

static void await_gone(struct scene *s, struct stayer *stayer)
{
    wait_on(s->base, is_gone, stayer, SOON_MS);
}

/* A worker that runs it on a task. */
static struct live_worker *serve_stayer(struct scene *s, struct stayer *stayer, const char *const *argv, int ttl_ms,
                                        struct muster_command extra)
{
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = ttl_ms});
    extra.size = sizeof extra;
    extra.argv = argv;
    assert_ok(muster_worker_serve_command(w->worker, "q", &extra));
    scene_enqueue(s, "q", "t");
    wait_on(s->base, stays, stayer, SOON_MS);
    return w;
}

static struct live_worker *run_shell(struct scene *s, struct stayer *stayer, const char *before, int ttl_ms,
                                     struct muster_command extra)
{
    stayer_init(s, stayer, before);
    const char *const argv[] = {"sh", "-c", stayer->script, NULL};
    return serve_stayer(s, stayer, argv, ttl_ms, extra);
}

/* This program itself, which joins the group of its parent. */
static struct live_worker *run_leaver(struct scene *s, struct stayer *stayer, const char *how,
                                      struct muster_command extra)
{
    stayer_init(s, stayer, "");
    const char *const argv[] = {"/proc/self/exe", how, stayer->path, NULL};
    return serve_stayer(s, stayer, argv, 60000, extra);
}

static int be_leaver(const char *how, const char *path)
{
    char new[128];
    setpgid(0, getpgid(getppid()));
    if (strcmp(how, "leaves-and-ignores") == 0)
        signal(SIGTERM, SIG_IGN);
    snprintf(new, sizeof new, "%s.new", path);
    FILE *f = fopen(new, "w");
    if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0 || rename(new, path) != 0)
        return EXIT_FAILURE;
    for (;;)
        pause();
}

static bool is_leaver(const char *argument)
{
    return argument && (strcmp(argument, "leaves") == 0 || strcmp(argument, "leaves-and-ignores") == 0);
}

/* ---- one reason ---- */

static void stop_ends_the_child_and_gives_the_task_back(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_shell(s, &stayer, "", 600, (struct muster_command){0});
    live_worker_stop(s, w, 0);
    assert_int_equal(scene_waiting(s, "q"), 1);
    await_gone(s, &stayer);
}

static void a_child_that_ignores_sigterm_is_killed_after_the_grace(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_shell(s, &stayer, "trap '' TERM;", 600, (struct muster_command){.grace_ms = 200});
    assert_ok(muster_worker_stop(w->worker, 0));
    await_gone(s, &stayer);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void free_kills_the_child(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_shell(s, &stayer, "trap '' TERM;", 600, (struct muster_command){0});
    live_worker_free(s, w);
    await_gone(s, &stayer);
}

/* While the child runs, the loop goes on: its worker is heard far beyond its ttl. */
static void a_long_command_does_not_delay_the_heartbeat(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    run_shell(s, &stayer, "", 600, (struct muster_command){0});
    run_loop(s->base, 1500);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:alive:w1", s->prefix), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, NULL, NULL), 0);
    assert_int_equal(kill(stayer.pid, 0), 0);
}

/* ---- a second reason ---- */

static const enum muster_stop_reason stronger[] = {MUSTER_STOP_CANCELLED, MUSTER_STOP_LOST, MUSTER_STOP_LIMIT,
                                                   MUSTER_STOP_DRAIN};

/* It was given an hour to move; no reason that comes later waits for that. */
static void each_reason_overtakes_a_move(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(stronger); i++) {
        struct stayer stayer;
        struct live_worker *w =
            run_shell(s, &stayer, "trap '' TERM;", 60000, (struct muster_command){.move_ms = LONG_MS, .grace_ms = 100});
        process_tell_stop(process_first(w->worker, IS_RUNNING), MUSTER_STOP_MOVE);
        process_tell_stop(process_first(w->worker, IS_RUNNING), stronger[i]);
        await_gone(s, &stayer);
        live_worker_free(s, w);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* It does not hear of a weaker reason, which had more time. */
static void a_move_changes_nothing_about_another_reason(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w =
        run_shell(s, &stayer, "trap '' TERM;", 60000, (struct muster_command){.move_ms = LONG_MS, .grace_ms = 100});
    process_tell_stop(process_first(w->worker, IS_RUNNING), MUSTER_STOP_LIMIT);
    process_tell_stop(process_first(w->worker, IS_RUNNING), MUSTER_STOP_MOVE);
    await_gone(s, &stayer);
}

/* ---- another group ---- */

static void a_child_that_has_left_its_group_is_told_for_each_reason(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(stronger); i++) {
        struct stayer stayer;
        struct live_worker *w = run_leaver(s, &stayer, "leaves", (struct muster_command){.grace_ms = LONG_MS});
        process_tell_stop(process_first(w->worker, IS_RUNNING), stronger[i]);
        await_gone(s, &stayer);
        live_worker_free(s, w);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void a_child_that_has_left_its_group_and_ignores_sigterm_is_killed(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_leaver(s, &stayer, "leaves-and-ignores", (struct muster_command){.grace_ms = 100});
    live_worker_stop(s, w, 0);
    await_gone(s, &stayer);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void free_kills_a_child_that_has_left_its_group(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_leaver(s, &stayer, "leaves-and-ignores", (struct muster_command){0});
    live_worker_free(s, w);
    await_gone(s, &stayer);
}

/* ---- the registration is lost, or Redis, and the worker is to stop ---- */

/* A command that cleans up when it is told to stop, until the test says that it has. */
static void cleaner_init(struct scene *s, struct stayer *stayer)
{
    char trap[160];
    static int n;
    snprintf(trap, sizeof trap, "trap 'until test -e %s/go-%d; do sleep 0.02; done; exit 1' TERM;", s->server->dir,
             ++n);
    stayer_init(s, stayer, trap);
    snprintf(stayer->go, sizeof stayer->go, "%s/go-%d", s->server->dir, n);
}

static const struct muster_command has_long_grace = {.grace_ms = LONG_MS};

static struct live_worker *run_cleaner(struct scene *s, struct stayer *stayer)
{
    cleaner_init(s, stayer);
    const char *const argv[] = {"sh", "-c", stayer->script, NULL};
    return serve_stayer(s, stayer, argv, 900, has_long_grace);
}

static void let_it_end(const struct stayer *stayer)
{
    FILE *f = fopen(stayer->go, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* The worker waits for it, and then stops with this error, and these words. */
static void assert_waits(struct scene *s, struct live_worker *w, struct stayer *stayer, int err, const char *words)
{
    raw_do(s->server->redis, "PING");
    run_loop(s->base, 100);
    assert_false(w->has_stopped);
    assert_false(is_gone(stayer));
    let_it_end(stayer);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_true(is_gone(stayer));
    assert_err(w->stop_err, err);
    if (words && !strstr(muster_worker_error(w->worker), words))
        fail_msg("'%s' does not say '%s'", muster_worker_error(w->worker), words);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:worker:w1", s->prefix), 0);
}

static bool drains(void *arg)
{
    return ((struct live_worker *)arg)->worker->state == WORKER_DRAINING;
}

static void fail_worker(struct scene *s)
{
    uint64_t given_back;
    assert_ok(muster_worker_fail(s->client, "w1", &given_back));
    assert_int_equal(given_back, 1);
    scene_await_events(s, MUSTER_EVENT_LOST, "w1", 1);
}

static void a_draining_worker_that_is_lost_leaves_its_command_the_grace(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_cleaner(s, &stayer);
    assert_ok(muster_worker_stop(w->worker, LONG_MS));
    wait_on(s->base, drains, w, SOON_MS);
    fail_worker(s);
    assert_waits(s, w, &stayer, MUSTER_E_GONE, "in other hands");
}

static void a_worker_that_registers_anew_and_is_to_stop_leaves_its_command_the_grace(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_cleaner(s, &stayer);
    w->worker->registration.not_before_ms = INT64_MAX; /* it is still about to */
    fail_worker(s);
    assert_int_equal(w->worker->state, WORKER_REGISTERING);
    assert_ok(muster_worker_stop(w->worker, LONG_MS));
    assert_waits(s, w, &stayer, MUSTER_OK, NULL);
}

static void a_worker_that_has_no_connection_any_more_leaves_its_command_the_grace(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    cleaner_init(s, &stayer);
    struct live_worker w = {.journal = s->journal};
    const struct muster_worker_options o = {.size = sizeof o,
                                            .prefix = s->prefix,
                                            .id = "w1",
                                            .base = s->base,
                                            .ttl_ms = 60000,
                                            .data = redisAsyncConnectUnix(s->server->socket),
                                            .subscription = redisAsyncConnectUnix(s->server->socket),
                                            .on_event = live_worker_note,
                                            .arg = &w};
    const char *const argv[] = {"sh", "-c", stayer.script, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv, .grace_ms = LONG_MS};
    assert_ok(muster_worker_new(&w.worker, &o));
    assert_ok(muster_worker_start(w.worker));
    assert_ok(muster_worker_serve_command(w.worker, "q", &command));
    scene_enqueue(s, "q", "t");
    wait_on(s->base, stays, &stayer, SOON_MS);
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    run_loop(s->base, 100);
    assert_false(w.has_stopped);
    let_it_end(&stayer);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_true(is_gone(&stayer));
    assert_err(w.stop_err, MUSTER_E_CONN);
    muster_worker_free(w.worker);
}

/* ---- why it has stopped ---- */

static char stopped_text[TELL_ERROR_SIZE];

static void keep_text(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    if (e->type == MUSTER_EVENT_STOPPED)
        snprintf(stopped_text, sizeof stopped_text, "%s", e->text);
}

/* What calls are refused, and what else goes wrong until it has ended, is another matter. */
static void the_reason_of_an_end_is_told_whatever_comes_after_it(void **state)
{
    struct scene *s = *state;
    char path[96];
    snprintf(path, sizeof path, "%s/program", s->server->dir);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("#!/no/such/interpreter\n", file) >= 0 && fclose(file) == 0 && chmod(path, 0755) == 0);
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                                      .ttl_ms = 60000,
                                                                      .hands = 2,
                                                                      .answer = MUSTER_LATER,
                                                                      .queues = {{"held", 0}},
                                                                      .on_event = keep_text});
    const char *const argv[] = {path, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    scene_enqueue(s, "held", "t");
    scene_await_starts(s, 1);
    scene_enqueue(s, "q", "t");
    wait_on(s->base, drains, w, SOON_MS);
    assert_err(muster_worker_serve(w->worker, "held", 0, live_worker_handle, w), MUSTER_E_EXISTS);
    assert_non_null(strstr(muster_worker_error(w->worker), "already"));
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_err(w->stop_err, MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(stopped_text, "cannot be run"));
    assert_err(muster_worker_start(w->worker), MUSTER_E_STATE);
    assert_string_equal(muster_worker_error(w->worker), stopped_text);
}

/* ---- another user's ---- */

/* The worker waits, because the task must not begin elsewhere; it says why, once. */
static void a_child_that_takes_no_signal_is_told_and_waited_for(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_shell(s, &stayer, "", 60000, (struct muster_command){.grace_ms = 1});
    signals_are_denied = true;
    assert_ok(muster_worker_stop(w->worker, 0));
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    assert_non_null(strstr(muster_worker_error(w->worker), "takes no signal"));
    run_loop(s->base, 200);
    assert_false(w->has_stopped);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, NULL, NULL), 1);
    signals_are_denied = false;
    assert_int_equal(kill(stayer.pid, SIGKILL), 0);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void free_does_not_wait_for_ever_for_a_child_that_takes_no_signal(void **state)
{
    struct scene *s = *state;
    struct stayer stayer;
    struct live_worker *w = run_shell(s, &stayer, "", 60000, (struct muster_command){0});
    signals_are_denied = true;
    live_worker_free(s, w);
    signals_are_denied = false;
    assert_int_equal(kill(stayer.pid, SIGKILL), 0);
    assert_int_equal(waitpid(stayer.pid, NULL, 0), stayer.pid);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(stop_ends_the_child_and_gives_the_task_back),
        live_test(a_child_that_ignores_sigterm_is_killed_after_the_grace),
        live_test(free_kills_the_child),
        live_test(a_long_command_does_not_delay_the_heartbeat),
        live_test(each_reason_overtakes_a_move),
        live_test(a_move_changes_nothing_about_another_reason),
        live_test(a_child_that_has_left_its_group_is_told_for_each_reason),
        live_test(a_child_that_has_left_its_group_and_ignores_sigterm_is_killed),
        live_test(free_kills_a_child_that_has_left_its_group),
        live_test(a_draining_worker_that_is_lost_leaves_its_command_the_grace),
        live_test(a_worker_that_registers_anew_and_is_to_stop_leaves_its_command_the_grace),
        live_test(a_worker_that_has_no_connection_any_more_leaves_its_command_the_grace),
        live_test(the_reason_of_an_end_is_told_whatever_comes_after_it),
        live_test(a_child_that_takes_no_signal_is_told_and_waited_for),
        live_test(free_does_not_wait_for_ever_for_a_child_that_takes_no_signal),
    };
    if (argc == 3 && is_leaver(argv[1]))
        return be_leaver(argv[1], argv[2]);
    return scene_run(tests, argc, argv);
}
