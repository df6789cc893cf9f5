/* SPDX-License-Identifier: MIT
 *
 * Child processes. They are kept in a table, so that they end with this process, however it ends, and so that every
 * wait notices when one of them has ended unexpectedly.
 */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define CHILDREN_MAX 32

static volatile pid_t children[CHILDREN_MAX];

static void forget(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == pid)
            children[i] = 0;
}

static void remember(pid_t pid)
{
    size_t i = 0;
    while (i < CHILDREN_MAX && children[i])
        i++;
    if (i == CHILDREN_MAX)
        fail("more than %d children", CHILDREN_MAX);
    children[i] = pid;
}

_Noreturn static void become_child(void (*fn)(void *arg), void *arg, int from_parent, pid_t parent)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        signal(handled[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it ended before the line above */
        _exit(0);
    dup2(from_parent, CHILD_FD);
    closefrom(CHILD_FD + 1);
    fn(arg);
    _exit(0);
}

/* Signals wait meanwhile: their handler must find the child in the table. */
pid_t child_start(void (*fn)(void *arg), void *arg, int *to_child)
{
    int ends[2];
    sigset_t all, before;
    pid_t parent = getpid();
    if (pipe(ends))
        fail("no pipe: %s", strerror(errno));
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        become_child(fn, arg, ends[0], parent);
    if (pid > 0)
        remember(pid);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        fail("no process: %s", strerror(errno));
    close(ends[0]);
    if (to_child)
        *to_child = ends[1];
    else
        close(ends[1]);
    return pid;
}

void child_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    forget(pid);
}

struct end {
    pid_t pid;
    int status;
};

static bool has_ended(void *arg)
{
    struct end *end = arg;
    return waitpid(end->pid, &end->status, WNOHANG) == end->pid;
}

void child_wait(pid_t pid)
{
    struct end end = {.pid = pid};
    await(has_ended, &end, "a process has ended");
    forget(pid);
    if (end.status)
        fail("a process of the benchmark ended with wait status %d", end.status);
}

/* Reaps none: their ends are left to child_wait() and child_kill(). */
void child_check(void)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        siginfo_t info = {0};
        pid_t pid = children[i];
        if (pid && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid &&
            info.si_status != 0)
            fail("a process of the benchmark died");
    }
}

void child_kill_all(void)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        pid_t pid = children[i];
        if (pid) {
            children[i] = 0;
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
}
