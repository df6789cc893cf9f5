/* SPDX-License-Identifier: MIT
 *
 * The end of a child process: what it is told, when it is killed, and waiting for it.
 *
 *   nothing -> to move -> to stop -> killed
 *
 * A child goes on to the right only, and may leave states out. In each new one it gets a signal, and its grace begins
 * anew: one that was given an hour to move has no hour left when the worker stops, or its task is cancelled or lost.
 *
 * A signal goes to the child by its pidfd, wherever the child has moved, and to the group that it was started in. While
 * the child was not waited for, nobody else can have its pid, or its group: so the pidfd is asked first.
 *
 * Nothing here waits in the loop. Only the worker's end waits for what it has killed, and for all together not long: a
 * process that hangs in the kernel does not even end by SIGKILL.
 */
#include "worker/child.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

/* How long what was killed is waited for: by the worker's end, for all; and by the loop, for one that has hardly begun. */
#define REAP_MS 1000
#define REAP_AT_ONCE_MS 100

/* ---- signals ---- */

static void tell_denied(struct child *c, const char *who)
{
    char line[160];
    if (c->is_denied)
        return;
    c->is_denied = true;
    snprintf(line, sizeof line, "%s takes no signal of this worker, because another user runs it: end it yourself",
             who);
    tell_event(c->process->worker, MUSTER_EVENT_REFUSED, MUSTER_E_DENIED, line, c->process);
}

/* The group may be empty: the child can have left it. */
static void signal_group(struct child *c, int signo)
{
    if (kill(-c->pid, signo) != 0 && errno == EPERM)
        tell_denied(c, "what its command has started");
}

static void signal_all(struct child *c, int signo)
{
    int error = pidfd_send_signal(c->pidfd, signo, NULL, 0) == 0 ? 0 : errno;
    if (error == ESRCH)
        return; /* somebody else has waited for it: its end is on its way */
    if (error == EPERM)
        tell_denied(c, "its command, for which the worker waits,");
    signal_group(c, signo);
}

void child_tell(struct child *c, enum child_told told, int grace_ms)
{
    if (told <= c->told)
        return;
    c->told = told;
    if (told == CHILD_KILLED)
        event_del(c->grace);
    else
        timer_after_ms(c->grace, grace_ms);
    signal_all(c, told == CHILD_KILLED ? SIGKILL : SIGTERM);
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    child_tell(arg, CHILD_KILLED, 0);
}

/* ---- its end ---- */

bool child_has_exited(struct child *c, int *status)
{
    siginfo_t info = {.si_pid = 0};
    bool is_there = waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (is_there && info.si_pid == 0)
        return false;
    if (is_there && c->told != CHILD_NOTHING)
        signal_group(c, SIGKILL);
    if (!is_there || waitpid(c->pid, status, WNOHANG) != c->pid)
        *status = -1;
    return true;
}

static void reap(const struct muster_worker *w, pid_t pid, int64_t before_ms)
{
    const struct timespec nap = {0, 1000000};
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_ms() >= before_ms) {
            log_line(MUSTER_LOG_WARN,
                     "worker %s: a command that it ran, process %ld, does not end by SIGKILL; it is left", w->id,
                     (long)pid);
            return;
        }
        nanosleep(&nap, NULL);
    }
}

void child_abandon(struct child *c)
{
    struct muster_worker *w = c->process->worker;
    pid_t pid = c->pid;
    child_tell(c, CHILD_KILLED, 0);
    child_free(c);
    if (w->children.reap_before_ms == 0)
        w->children.reap_before_ms = clock_in_ms(REAP_MS);
    reap(w, pid, w->children.reap_before_ms);
}

/* ---- life ---- */

void child_free(struct child *c)
{
    if (c->exited)
        event_free(c->exited);
    if (c->grace)
        event_free(c->grace);
    if (c->pidfd >= 0)
        close(c->pidfd);
    free(c);
}

struct child *child_watch(struct muster_process *p, pid_t pid, event_callback_fn on_exited)
{
    struct event_base *base = p->worker->base;
    struct child *c = calloc(1, sizeof *c);
    if (c) {
        *c = (struct child){.process = p, .pid = pid, .pidfd = pidfd_open(pid, 0)};
        c->exited = c->pidfd >= 0 ? event_new(base, c->pidfd, EV_READ | EV_PERSIST, on_exited, c) : NULL;
        c->grace = evtimer_new(base, on_grace_over, c);
        if (c->exited && c->grace && event_add(c->exited, NULL) == 0)
            return c;
    }
    int saved = errno;
    kill(-pid, SIGKILL);
    reap(p->worker, pid, clock_in_ms(REAP_AT_ONCE_MS));
    if (c)
        child_free(c);
    errno = saved;
    return NULL;
}
