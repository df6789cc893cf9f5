/* SPDX-License-Identifier: MIT
 *
 * The command executor: a child process per task (spawn.c), and its end as an outcome. A pidfd on the loop watches it,
 * so no signal handler is needed. Only pids of its own children are ever signalled or waited for.
 */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timer.h"
#include "base/words.h"
#include "worker/spawn.h"
#include "worker/worker.h"

#define GRACE_DEFAULT_MS 5000
#define EXIT_RETRY 75 /* EX_TEMPFAIL of sysexits.h */

struct executor_command {
    char *path;  /* the program, as it was found */
    char **argv; /* ends with NULL */
    char *replace;
    int retry_delay_ms;
    int grace_ms;
};

struct child {
    struct muster_process *process;
    pid_t pid;
    int pidfd;
    volatile int *note; /* of spawn.h */
    bool stop_sent;     /* SIGTERM; SIGKILL follows when the grace time is over */
    struct event *exited;
    struct event *killer;
};

/* ---- the child's end ---- */

static void child_free(struct child *child)
{
    child->process->worker->processes.n_children--;
    child->process->child = NULL;
    if (child->exited)
        event_free(child->exited);
    if (child->killer)
        event_free(child->killer);
    close(child->pidfd);
    spawn_note_free(child->note);
    free(child);
}

/* A job follows its own retries and backoff. */
static enum muster_outcome failed(struct muster_process *p, const char *kind, int number)
{
    char group[32], message[160];
    snprintf(group, sizeof group, "%s-%d", kind, number);
    if (strcmp(kind, "signal") == 0)
        snprintf(message, sizeof message, "%s ended by signal %d (%s)", p->served->command->argv[0], number,
                 strsignal(number));
    else
        snprintf(message, sizeof message, "%s ended with exit status %d", p->served->command->argv[0], number);
    muster_process_set_failure(p, group, message);
    return muster_process_job(p) ? MUSTER_RETRY : MUSTER_FAIL;
}

static enum muster_outcome outcome_of(struct muster_process *p, int status, bool was_told)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0)
        return MUSTER_FINISH;
    if (!muster_process_job(p))
        muster_process_set_retry(p, p->served->command->retry_delay_ms);
    if (was_told)
        return MUSTER_GIVE_BACK; /* past a time limit this may mean a retry */
    if (code == EXIT_RETRY)
        return MUSTER_RETRY;
    return code > 0 ? failed(p, "exit", code) : failed(p, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void bad_argument(struct muster_process *p, const char *why)
{
    muster_process_set_failure(p, "bad-argument", why);
    end_by_handler(p, MUSTER_FAIL);
}

/* Another try may do: the system lacks something now, or somebody writes the program's file. */
static bool will_pass(int error)
{
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ETXTBSY;
}

/* The program did not begin. If that will not pass, the worker stops: each task would end in this way. */
static void not_begun(struct muster_process *p, int error)
{
    char line[300], reason[100];
    const struct executor_command *command = p->served->command;
    if (error == E2BIG) {
        bad_argument(p, "the task is too long for an argument");
        return;
    }
    if (will_pass(error)) {
        snprintf(line, sizeof line, "no child could be made: %s", strerror_r(error, reason, sizeof reason));
        tell_event(p->worker, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, line, NULL);
        muster_process_set_retry(p, command->retry_delay_ms);
        end_by_handler(p, MUSTER_RETRY);
        return;
    }
    snprintf(line, sizeof line, "%.200s cannot be run: %s; its task was given back, the worker stops", command->path,
             strerror_r(error, reason, sizeof reason));
    stop_give_up(p->worker, MUSTER_E_NOT_FOUND, line);
    end_by_handler(p, MUSTER_GIVE_BACK);
}

static void on_exited(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;
    struct muster_process *p = child->process;
    int status = 0;
    bool was_told = child->stop_sent;
    (void)fd, (void)what;
    if (was_told)
        kill(-child->pid, SIGKILL); /* and what it started; before its pid can become anybody else's */
    pid_t reaped = waitpid(child->pid, &status, WNOHANG);
    if (reaped == 0)
        return;
    int exec_error = *child->note;
    child_free(child);
    if (reaped < 0) {
        stop_give_up(p->worker, MUSTER_E_STATE, "cannot learn how children end: the program ignores SIGCHLD");
        end_by_handler(p, MUSTER_GIVE_BACK);
        return;
    }
    trace_line(TRACE_STATE, "process %s of %s: child ended, status 0x%x", p->token_text, p->served->name,
               (unsigned)status);
    if (exec_error != 0)
        not_begun(p, exec_error);
    else
        end_by_handler(p, outcome_of(p, status, was_told));
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    const struct child *child = arg;
    (void)fd, (void)what;
    kill(-child->pid, SIGKILL);
}

static void tell_stop(struct muster_process *p)
{
    if (!p->child || p->child->stop_sent)
        return;
    p->child->stop_sent = true;
    kill(-p->child->pid, SIGTERM);
    timer_after_ms(p->child->killer, p->served->command->grace_ms);
}

static void abandon(struct muster_process *p)
{
    if (!p->child)
        return;
    kill(-p->child->pid, SIGKILL);
    waitpid(p->child->pid, NULL, 0);
    child_free(p->child);
}

/* ---- the child's beginning ---- */

static int watch(struct muster_process *p, pid_t pid, volatile int *note)
{
    struct child *child = calloc(1, sizeof *child);
    int pidfd = pidfd_open(pid, 0);
    if (!child || pidfd < 0) {
        if (pidfd >= 0)
            close(pidfd);
        free(child);
        return MUSTER_E_NOMEM;
    }
    p->child = child;
    p->worker->processes.n_children++;
    child->process = p;
    child->pid = pid;
    child->pidfd = pidfd;
    child->note = note;
    child->exited = event_new(p->worker->base, pidfd, EV_READ | EV_PERSIST, on_exited, child);
    child->killer = evtimer_new(p->worker->base, on_grace_over, child);
    if (child->exited && child->killer && event_add(child->exited, NULL) == 0)
        return MUSTER_OK;
    child->note = NULL; /* the caller's again */
    child_free(child);
    return MUSTER_E_NOMEM;
}

static void start(struct muster_process *p)
{
    if (p->served->command->replace && memchr(p->task, '\0', p->len)) {
        bad_argument(p, "the task holds a NUL byte, which no argument can");
        return;
    }
    const struct executor_command *command = p->served->command;
    volatile int *note = spawn_note_new();
    pid_t pid = note ? spawn_child(p, command->path, command->argv, command->replace, note) : -1;
    if (pid > 0 && watch(p, pid, note) == MUSTER_OK) {
        trace_line(TRACE_STATE, "process %s of %s: child %ld", p->token_text, p->served->name, (long)pid);
        return;
    }
    int error = pid < 0 && errno == E2BIG ? E2BIG : will_pass(errno) ? errno : ENOMEM;
    if (pid > 0) { /* a child that cannot be watched must not run */
        kill(-pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    spawn_note_free(note);
    not_begun(p, error);
}

/* ---- setting up ---- */

static void setup_free(struct executor_command *setup)
{
    free(setup->path);
    spawn_free_texts(setup->argv);
    free(setup->replace);
    free(setup);
}

static void clear(struct served *s)
{
    if (s->command)
        setup_free(s->command);
    s->command = NULL;
}

static const struct executor executor_command = {start, tell_stop, abandon, clear};

static bool can_be_run(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As the shell looks a program up; NULL with errno ENOENT or ENOMEM. */
static char *find_program(const char *name)
{
    const char *path = getenv("PATH");
    errno = ENOENT;
    if (strchr(name, '/'))
        return can_be_run(name) ? strdup(name) : NULL;
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name && *path; path += *path == ':') {
        size_t len = strcspn(path, ":");
        char *candidate;
        if (asprintf(&candidate, "%.*s/%s", len ? (int)len : 1, len ? path : ".", name) < 0)
            return NULL;
        if (can_be_run(candidate))
            return candidate;
        free(candidate);
        path += len;
    }
    errno = ENOENT;
    return NULL;
}

static char **copy_texts(const char *const *texts)
{
    size_t n = 0;
    while (texts[n])
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = strdup(texts[i]))) {
            spawn_free_texts(copy);
            return NULL;
        }
    return copy;
}

static const char *check_command(const struct muster_command *command)
{
    if (!command->argv || !command->argv[0])
        return "argv has no program";
    if (command->replace && !*command->replace)
        return "replace is empty; it must be the text to replace, or NULL";
    if (command->retry_delay_ms < 0)
        return words_say("retry_delay_ms is %d; it must be 0 (the default) or more", command->retry_delay_ms);
    if (command->grace_ms < 0)
        return words_say("grace_ms is %d; it must be 0 (the default) or more", command->grace_ms);
    return NULL;
}

int executor_command_setup(struct served *s, const struct muster_command *command, char *why, size_t size)
{
    const char *wrong = check_command(command);
    if (wrong) {
        snprintf(why, size, "%s", wrong);
        return MUSTER_E_INVALID;
    }
    struct executor_command *setup = calloc(1, sizeof *setup);
    if (!setup)
        return MUSTER_E_NOMEM;
    setup->retry_delay_ms = command->retry_delay_ms ? command->retry_delay_ms : MUSTER_RETRY_DELAY_DEFAULT_MS;
    setup->grace_ms = command->grace_ms ? command->grace_ms : GRACE_DEFAULT_MS;
    setup->argv = copy_texts(command->argv);
    setup->replace = command->replace ? strdup(command->replace) : NULL;
    setup->path = find_program(command->argv[0]);
    int err = setup->path ? MUSTER_OK : errno == ENOMEM ? MUSTER_E_NOMEM : MUSTER_E_NOT_FOUND;
    if (!setup->argv || (command->replace && !setup->replace))
        err = MUSTER_E_NOMEM;
    if (err != MUSTER_OK) {
        snprintf(why, size, "%s: %s", command->argv[0], err == MUSTER_E_NOMEM ? "out of memory" : "command not found");
        setup_free(setup);
        return err;
    }
    s->command = setup;
    s->executor = &executor_command;
    return MUSTER_OK;
}
