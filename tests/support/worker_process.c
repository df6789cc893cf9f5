/* SPDX-License-Identifier: MIT
 *
 * A worker under test in a process of its own.
 *
 * The child makes a loop of its own and does not touch what it inherited. SIGTERM stops its worker, as in a program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "worker_process.h"

enum verb { END, ANSWER, STOP };

struct order {
    enum verb verb;
    int arg;
};

/* ---- the child ---- */

static void obey(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct live_worker *w = arg;
    struct order order;
    if (read(fd, &order, sizeof order) != sizeof order)
        return;
    switch (order.verb) {
    case END:
        live_worker_end(w, (enum muster_outcome)order.arg);
        break;
    case ANSWER:
        live_worker_answer(w, (enum muster_outcome)order.arg);
        break;
    case STOP:
        muster_worker_stop(w->worker, order.arg);
        break;
    }
}

static void on_sigterm(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct live_worker *w = arg;
    muster_worker_stop(w->worker, -1);
}

/* Before the handler is there, SIGTERM would kill it; who sees it in Redis may send one already. */
static void hold_sigterm(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(how, &set, NULL);
}

static void be_worker(struct scene *s, const struct worker_spec *spec, int orders)
{
    hold_sigterm(SIG_BLOCK);
    s->base = event_base_new();
    muster_client_free(s->client);
    s->client = scene_client(s);
    s->workers = NULL;
    struct live_worker *w = live_worker_new(s, spec);
    struct event *order = event_new(s->base, orders, EV_READ | EV_PERSIST, obey, w);
    struct event *sigterm = evsignal_new(s->base, SIGTERM, on_sigterm, w);
    event_add(order, NULL);
    event_add(sigterm, NULL);
    hold_sigterm(SIG_UNBLOCK);
    while (!w->has_stopped)
        event_base_loop(s->base, EVLOOP_ONCE);
    if (w->stop_err)
        print_error("worker %s ended with %s: %s\n", spec->id, muster_err_name(w->stop_err),
                    muster_worker_error(w->worker));
    int status = w->stop_err ? 1 : 0;
    live_worker_free(s, w);
    _exit(status);
}

/* ---- the test ---- */

struct worker_process *worker_process_start(struct scene *s, const struct worker_spec *spec)
{
    struct worker_process *w = calloc(1, sizeof *w);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        fail_msg("no socket pair");
    snprintf(w->id, sizeof w->id, "%s", spec->id);
    w->journal = s->journal;
    w->pid = child_fork();
    if (w->pid == 0) {
        close(ends[1]);
        be_worker(s, spec, ends[0]);
    }
    close(ends[0]);
    w->orders = ends[1];
    w->next = s->processes;
    s->processes = w;
    return w;
}

struct worker_process *worker_process_idle(struct scene *s, const struct worker_spec *spec)
{
    struct worker_process *w = worker_process_start(s, spec);
    for (size_t i = 0; i < SPEC_QUEUES_MAX && spec->queues[i].name; i++)
        scene_await_idle(s, spec->queues[i].name, spec->id);
    return w;
}

struct worker_process *worker_process_start_to_die(struct scene *s, const struct worker_spec *spec, const char *point)
{
    setenv("MUSTER_FAILPOINT", point, 1);
    struct worker_process *w = worker_process_start(s, spec);
    unsetenv("MUSTER_FAILPOINT");
    return w;
}

static bool is_dead(void *arg)
{
    const struct worker_process *w = arg;
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == w->pid;
}

void worker_process_await_death(struct worker_process *w)
{
    siginfo_t info = {0};
    if (!wait_for(NULL, is_dead, w, SOON_MS))
        fail_msg("worker %s never came to its failpoint", w->id);
    waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT);
    assert_int_equal(info.si_code, CLD_KILLED);
    assert_int_equal(info.si_status, SIGKILL);
    worker_process_kill(w);
}

static void tell(struct worker_process *w, enum verb verb, int arg)
{
    struct order order = {verb, arg};
    if (send(w->orders, &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        fail_msg("worker %s hears no orders", w->id);
}

void worker_process_end(struct worker_process *w, enum muster_outcome outcome)
{
    tell(w, END, (int)outcome);
}

void worker_process_answer(struct worker_process *w, enum muster_outcome outcome)
{
    tell(w, ANSWER, (int)outcome);
}

void worker_process_stop(struct worker_process *w, int drain_ms)
{
    tell(w, STOP, drain_ms);
}

static void has_ended(struct worker_process *w)
{
    close(w->orders);
    w->orders = -1;
    w->pid = 0;
}

void worker_process_kill(struct worker_process *w)
{
    if (!w->pid)
        return;
    child_kill(&w->pid);
    journal_kill(w->journal, w->id);
    has_ended(w);
}

int worker_process_reap(struct worker_process *w)
{
    int status = child_reap(w->pid, 2 * SOON_MS);
    has_ended(w);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        fail_msg("worker %s ended with wait status %#x", w->id, (unsigned)status);
    return WEXITSTATUS(status);
}

bool worker_process_reap_hurt(struct worker_process *w)
{
    if (worker_process_reap(w) == 0)
        return true;
    const struct journal_entry *e = journal_find(w->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, w->id, NULL);
    return e && (e->err == MUSTER_E_GONE || e->err == MUSTER_E_CONN);
}
