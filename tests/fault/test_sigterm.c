/* SPDX-License-Identifier: MIT
 *
 * SIGTERM under load: processes with one to four hands work through a stream of tasks. One after the other is told to
 * end at a random moment and replaced. Each exits with 0, nothing is lost, nothing runs twice, and no key of the worker
 * is left.
 *
 * The processes are written as a program would be: a loop of the worker's own, threads, and a signal handler.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "child.h"
#include "invariant.h"

#define PROCESSES 4
#define SIGTERMS 60
#define SIGTERMS_LONG 500
#define TTL_MS 3000
#define BACKLOG_MAX 100
#define BATCH 40

struct program {
    pid_t pid;
    char id[16];
};

struct bench {
    struct scene *scene;
    struct program programs[PROCESSES];
    int n_programs, n_tasks;
};

/* ---- the child ---- */

static struct muster_worker *stoppable;

static void on_sigterm(int signal)
{
    (void)signal;
    muster_worker_stop(stoppable, -1);
}

/* A task takes 0 to 3 ms. */
static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    struct scene *s = arg;
    journal_process(s->journal, JOURNAL_START, 0, p);
    nanosleep(&(struct timespec){.tv_nsec = (long)(muster_process_token(p) % 4) * 1000000}, NULL);
    journal_process(s->journal, JOURNAL_END, MUSTER_FINISH, p);
    return MUSTER_FINISH;
}

static void note(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct scene *s = arg;
    journal_event(s->journal, w, e, 0);
}

static void be_program(struct scene *s, const char *id, int hands)
{
    sigset_t term;
    const struct muster_worker_options o = {
        .size = sizeof o,
        .url = s->server->url,
        .prefix = s->prefix,
        .id = id,
        .ttl_ms = TTL_MS,
        .threads = hands,
        .on_event = note,
        .arg = s,
    };
    if (muster_worker_new(&stoppable, &o) || muster_worker_start(stoppable) ||
        muster_worker_serve(stoppable, "q", 0, handle, s))
        _exit(2);
    signal(SIGTERM, on_sigterm);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    int err = muster_worker_run(stoppable);
    muster_worker_free(stoppable);
    _exit(err ? 1 : 0);
}

/* ---- the test ---- */

/* SIGTERM is held back until the child has its handler. */
static void start_program(struct bench *b, struct program *p)
{
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    int hands = 1 + b->n_programs % 4;
    snprintf(p->id, sizeof p->id, "w%d.%d", b->n_programs++, hands);
    p->pid = child_fork();
    if (p->pid == 0)
        be_program(b->scene, p->id, hands);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static const char keys_of[] = "local found, cursor = {}, '0'\n"
                              "repeat\n"
                              "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':*', 'COUNT', 1000)\n"
                              "  cursor = page[1]\n"
                              "  for _, key in ipairs(page[2]) do\n"
                              "    local of_it = string.find(key .. ':', ':' .. ARGV[1] .. ':', 1, true)\n"
                              "    local is_set = redis.call('TYPE', key).ok == 'zset'\n"
                              "    if of_it or is_set and redis.call('ZSCORE', key, ARGV[1]) then\n"
                              "      found[#found + 1] = key\n"
                              "    end\n"
                              "  end\n"
                              "until cursor == '0'\n"
                              "return table.concat(found, ' ')\n";

static void assert_no_trace(struct scene *s, const char *id)
{
    char *found = raw_string(s->server->redis, "EVAL %s 1 %s %s", keys_of, s->prefix, id);
    bool good = !*found;
    if (!good)
        print_error("%s is still in %s\n", id, found);
    free(found);
    assert_true(good);
}

static int end_program(struct bench *b, struct program *p)
{
    int64_t before = now_ms();
    kill(p->pid, SIGTERM);
    int status = child_reap(p->pid, 2 * SOON_MS);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("%s ended with wait status %#x", p->id, (unsigned)status);
    assert_no_trace(b->scene, p->id);
    return (int)(now_ms() - before);
}

/* More than is done until the SIGTERM, but not without end. */
static void feed(struct bench *b)
{
    struct scene *s = b->scene;
    if (scene_waiting(s, "q") >= BACKLOG_MAX)
        return;
    for (int i = 0; i < BATCH; i++) {
        char task[16];
        snprintf(task, sizeof task, "t%d", b->n_tasks++);
        scene_enqueue(s, "q", task);
    }
}

static void sigterms_under_load(void **state)
{
    struct bench b = {.scene = *state};
    struct scene *s = b.scene;
    int n = getenv("MUSTER_FAULT_SECONDS") ? SIGTERMS_LONG : SIGTERMS, worst = 0, total = 0;
    srand(1);
    for (int i = 0; i < PROCESSES; i++)
        start_program(&b, &b.programs[i]);
    for (int i = 0; i < n; i++) {
        feed(&b);
        run_loop(s->base, rand() % 8);
        struct program *p = &b.programs[rand() % PROCESSES];
        int took = end_program(&b, p);
        worst = took > worst ? took : worst;
        total += took;
        start_program(&b, p);
    }
    scene_await_waiting(s, "q", 0);
    for (int i = 0; i < PROCESSES; i++)
        end_program(&b, &b.programs[i]);
    scene_assert_quiet(s);
    struct audit a = audit_finished(s, "t", (size_t)b.n_tasks);
    print_message("%d SIGTERMs: ended after %d ms on average, %d ms at worst; %zu tasks, %zu ran again\n", n, total / n,
                  worst, a.tasks, a.again);
    assert_int_equal(a.again, 0);
    assert_int_equal(a.uncounted, 0);
    invariant_assert(s->server->redis, s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(sigterms_under_load)};
    return scene_run(tests, argc, argv);
}
