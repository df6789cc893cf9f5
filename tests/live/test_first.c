/* SPDX-License-Identifier: MIT
 *
 * The command as process 1 of a container, and as a subreaper: the orphans of its commands are reaped, each command's
 * exit status is its own, and signals mean what they mean elsewhere.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "scene.h"

#define TASKS 30
#define TEXT_MAX 4096

enum where { ELSEWHERE, SUBREAPER, PROCESS_1 };
static const char *const where_names[] = {"elsewhere", "a subreaper", "process 1"};
static const enum where firsts[] = {SUBREAPER, PROCESS_1};

struct command {
    struct scene *scene;
    enum where where;
    pid_t pid;
    char said[120];
    const char *ready; /* what it says then */
};

/* ---- the process ---- */

/* As a user without rights it needs a namespace of users around it. */
static pid_t fork_process_1(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid < 0)
        pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    return pid;
}

static void become(const struct command *c, const char *const *argv)
{
    int said = open(c->said, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (c->where == SUBREAPER)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    setenv("MUSTER_URL", c->scene->server->url, 1);
    setenv("MUSTER_PREFIX", c->scene->prefix, 1);
    execv(MUSTER_COMMAND, (char *const *)argv);
    _exit(127);
}

static bool is_ready(void *arg)
{
    const struct command *c = arg;
    char text[TEXT_MAX];
    FILE *f = fopen(c->said, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return strstr(text, c->ready) != NULL;
}

/* False: this machine has no process 1 for us. */
static bool begin(struct command *c, struct scene *s, enum where where, const char *ready, const char *const *argv)
{
    *c = (struct command){.scene = s, .where = where, .ready = ready};
    snprintf(c->said, sizeof c->said, "%s/said", s->server->dir);
    unlink(c->said);
    c->pid = where == PROCESS_1 ? fork_process_1() : child_fork();
    if (c->pid == 0)
        become(c, argv);
    if (c->pid < 0)
        return false;
    wait_until(is_ready, c, 2 * SOON_MS);
    return true;
}
#define begin_command(c, s, where, ready, ...) \
    begin(c, s, where, ready, (const char *const[]){"muster", __VA_ARGS__, NULL})

/* Its exit code, as a shell has it. */
static int end(struct command *c)
{
    int status;
    if (!child_has_ended(c->pid, 2 * SOON_MS, &status)) {
        child_kill(&c->pid);
        fail_msg("%s: it did not end", where_names[c->where]);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- orphans ---- */

static bool is_child_of(const char *pid, pid_t parent)
{
    char path[300], line[512];
    int ppid = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "r");
    const char *after = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (f)
        fclose(f);
    return after && sscanf(after, ") %*c %d", &ppid) == 1 && ppid == (int)parent;
}

/* Zombies, too. */
static int children_of(pid_t parent)
{
    int n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *e; (e = readdir(proc)) != NULL;)
        n += *e->d_name >= '1' && *e->d_name <= '9' && is_child_of(e->d_name, parent);
    closedir(proc);
    return n;
}

static bool has_one_child(void *arg)
{
    return children_of(((struct command *)arg)->pid) == 1;
}

static int add_group(const struct muster_failed_group *g, void *arg)
{
    char *text = arg;
    snprintf(text + strlen(text), 80 - strlen(text), "%s:%d ", g->group, (int)g->n);
    return 0;
}

static bool all_have_ended(void *arg)
{
    struct scene *s = arg;
    return scene_waiting(s, "q") == 0 && raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix) == 0;
}

/* Each command leaves somebody who outlives it. */
static void orphans_are_reaped_and_each_command_keeps_its_status(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(firsts); i++) {
        struct command c;
        char groups[80] = "";
        if (!begin_command(&c, s, firsts[i], "takes tasks", "work", "q", "-c", "4", "--id", "w", "--log", "text", "--",
                           "sh", "-c", "sleep 0.1 & exit $(cat)"))
            continue;
        for (int k = 0; k < TASKS; k++)
            scene_enqueue(s, "q", k % 3 == 0 ? "0" : k % 3 == 1 ? "1" : "7");
        wait_until(all_have_ended, s, 2 * SOON_MS);
        wait_until(has_one_child, &c, SOON_MS);
        assert_ok(muster_failed_groups(s->client, "q", add_group, groups));
        if (!strstr(groups, "exit-1:10 ") || !strstr(groups, "exit-7:10 "))
            fail_msg("%s: %s", where_names[firsts[i]], groups);
        kill(c.pid, SIGTERM);
        assert_int_equal(end(&c), 0);
        assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    }
}

/* ---- signals ---- */

static int code_of_signal(struct scene *s, enum where where, int signo, bool works)
{
    struct command c;
    bool is_there = works ? begin_command(&c, s, where, "takes tasks", "work", "q", "--print")
                          : begin_command(&c, s, where, "listens", "events");
    if (!is_there)
        return -1;
    kill(c.pid, signo);
    return end(&c);
}

/* `work` has handlers, `events` has none; the kernel keeps from process 1 what has none. */
static void a_signal_means_what_it_means_elsewhere(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t k = 0; k < 2 * N_OF(signals); k++) {
        const int signo = signals[k / 2], code = code_of_signal(*state, ELSEWHERE, signo, k % 2);
        for (size_t i = 0; i < N_OF(firsts); i++) {
            int here = code_of_signal(*state, firsts[i], signo, k % 2);
            if (here >= 0 && here != code)
                fail_msg("%s ends by signal %d with %d, elsewhere with %d", where_names[firsts[i]], signo, here, code);
        }
    }
}

/* Not only handed over: what has not begun is given back by a stop. */
static bool is_begun(void *arg)
{
    return access(arg, F_OK) == 0;
}

/* Two would give the task back. */
static void one_signal_is_one(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(firsts); i++) {
        struct command c;
        char go[120], begun[128];
        snprintf(go, sizeof go, "%s/go", s->server->dir);
        snprintf(begun, sizeof begun, "%s.begun", go);
        unlink(go);
        unlink(begun);
        setenv("GO", go, 1);
        setenv("MUSTER_TRACE", "state", 1);
        if (!begin_command(&c, s, firsts[i], "takes tasks", "work", "q", "--id", "w", "--drain", "1h", "--", "sh", "-c",
                           ": >\"$GO.begun\"; while ! test -e \"$GO\"; do sleep 0.02; done"))
            continue;
        scene_enqueue(s, "q", "task");
        wait_until(is_begun, begun, SOON_MS);
        kill(c.pid, SIGTERM);
        c.ready = "-> draining";
        wait_until(is_ready, &c, SOON_MS);
        close(open(go, O_CREAT | O_WRONLY, 0600));
        assert_int_equal(end(&c), 0);
        assert_int_equal(scene_waiting(s, "q"), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(orphans_are_reaped_and_each_command_keeps_its_status),
        live_test(a_signal_means_what_it_means_elsewhere),
        live_test(one_signal_is_one),
    };
    return scene_run(tests, argc, argv);
}
