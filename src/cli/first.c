/* SPDX-License-Identifier: MIT
 *
 * To process 1 of a container, and to a subreaper (PR_SET_CHILD_SUBREAPER, which exec keeps), fall the orphans that the
 * commands of tasks leave, and nobody else waits for them. So there the command runs in a child, and this process only
 * waits. It has no children but that one and orphans: whatever it waits for, it takes no exit status from anybody. And
 * the kernel keeps signals from process 1 that it does not handle: the child gets them, for which they mean what they
 * mean elsewhere.
 */
#include "first.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* As shells have it: of a death by a signal. */
#define EXIT_SIGNAL 128

static bool is_first(void)
{
    int is_subreaper = 0;
    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

/* A terminal tells the child itself, which is in its group. */
static bool has_child_got_it(const siginfo_t *signal)
{
    return signal->si_code == SI_KERNEL && signal->si_signo != SIGHUP;
}

/* All that have ended. */
static void wait_for_ends(pid_t child)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == child)
            _exit(WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status));
}

static _Noreturn void wait_for_ever(pid_t child, const sigset_t *signals)
{
    siginfo_t signal;
    for (;;) {
        if (sigwaitinfo(signals, &signal) < 0)
            continue;
        if (signal.si_signo == SIGCHLD)
            wait_for_ends(child);
        else if (!has_child_got_it(&signal))
            kill(child, signal.si_signo);
    }
}

/* If this process is killed, the command is. */
static void be_child(pid_t parent, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, before, NULL);
}

void first_begin(void)
{
    sigset_t all, before;
    const pid_t parent = getpid();
    if (!is_first())
        return;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child > 0)
        wait_for_ever(child, &all);
    if (child == 0)
        be_child(parent, &before);
    else /* then it does without */
        sigprocmask(SIG_SETMASK, &before, NULL);
}
