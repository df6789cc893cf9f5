/* SPDX-License-Identifier: MIT
 *
 * Child processes of a test.
 *
 * The kernel's parent-death signal is the only thing that works when the test program is killed by SIGKILL, as a test
 * runner does at its time limit.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "testing.h"
#include "wait.h"

pid_t child_fork(void)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        fail_msg("fork failed");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        /* The parent may have died before the signal was asked for. */
        if (getppid() != parent)
            _exit(1);
    }
    return pid;
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

bool child_has_ended(pid_t pid, int deadline_ms, int *status)
{
    struct end end = {.pid = pid};
    bool is_over = wait_for(NULL, has_ended, &end, deadline_ms);
    *status = end.status;
    return is_over;
}

int child_reap(pid_t pid, int deadline_ms)
{
    struct end end = {.pid = pid};
    wait_until(has_ended, &end, deadline_ms);
    return end.status;
}

void child_kill(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    child_reap(*pid, 10000);
    *pid = 0;
}
