/* SPDX-License-Identifier: MIT
 *
 * The command executor: a child process per task, its end mapped to an outcome. Watched by a pidfd on the loop, so no
 * signal handler is needed; only pids of its own children are ever signalled or waited for.
 *
 * The task is given as a file in memory, not through a pipe: nothing has to be fed while the child runs, a child that
 * does not read it harms nobody, and it may read it twice. Each child leads a process group, so that what it starts is
 * ended with it; and it gets SIGTERM from the kernel if the worker's thread dies, for the task will then start
 * elsewhere.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

#define RETRY_DELAY_DEFAULT_MS 1000
#define GRACE_DEFAULT_MS 5000
#define EXIT_RETRY 75 /* EX_TEMPFAIL of sysexits.h */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127
/* Linux takes 32 pages per argument, and some room of the whole is its own. */
#define ARG_LEN_MAX ((size_t)128 * 1024)
#define EXEC_SLACK 8192

extern char **environ;

struct command_setup {
    char *path;  /* the program, as it was found */
    char **argv; /* ends with NULL */
    char *replace;
    int retry_delay_ms, grace_ms;
};

struct child {
    struct muster_process *process;
    pid_t pid;
    int pidfd, told;
    struct event *exited, *killer;
};

/* ---- texts ---- */

static void free_texts(char **texts)
{
    for (char **t = texts; t && *t; t++)
        free(*t);
    free(texts);
}

/* `text` with each `what` replaced by `with`; NULL if memory ran out. */
static char *replaced(const char *text, const char *what, const char *with, size_t with_len)
{
    size_t what_len = strlen(what), n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + what_len, what))
        n++;
    char *out = malloc(strlen(text) + n * with_len + 1);
    if (!out)
        return NULL;
    char *to = out;
    for (const char *at; (at = strstr(text, what)) != NULL; text = at + what_len) {
        to = mempcpy(to, text, (size_t)(at - text));
        to = mempcpy(to, with, with_len);
    }
    strcpy(to, text);
    return out;
}

static char **arguments(const struct muster_process *p)
{
    const struct command_setup *command = p->served->command;
    size_t n = 0;
    while (command->argv[n])
        n++;
    char **argv = calloc(n + 1, sizeof *argv);
    for (size_t i = 0; argv && i < n; i++) {
        argv[i] =
            command->replace ? replaced(command->argv[i], command->replace, p->task, p->len) : strdup(command->argv[i]);
        if (!argv[i]) {
            free_texts(argv);
            return NULL;
        }
    }
    return argv;
}

/* The program's environment with the process' variables instead of any of these names; a task has no job's. */
static char **environment(struct muster_process *p)
{
    char attempt[24];
    snprintf(attempt, sizeof attempt, "%lld", p->job ? (long long)p->job->job.retried + 1 : 0);
    const char *const names[] = {
        "MUSTER_QUEUE=", "MUSTER_PROCESS=", "MUSTER_TOKEN=", "MUSTER_WORKER=", "MUSTER_JOB=", "MUSTER_ATTEMPT="};
    const char *const values[] = {p->served->name, muster_process_id(p),           p->token_text,
                                  p->worker->id,   p->job ? p->job->job.id : NULL, p->job ? attempt : NULL};
    const size_t ours = sizeof names / sizeof *names;
    size_t n = 0, to = 0;
    while (environ && environ[n])
        n++;
    char **env = calloc(n + ours + 1, sizeof *env);
    int failed = !env;
    for (size_t i = 0; !failed && i < n; i++) {
        int is_ours = 0;
        for (size_t k = 0; k < ours; k++)
            is_ours |= strncmp(environ[i], names[k], strlen(names[k])) == 0;
        if (!is_ours)
            failed = (env[to++] = strdup(environ[i])) == NULL;
    }
    for (size_t k = 0; !failed && k < ours; k++)
        failed = values[k] && asprintf(&env[to++], "%s%s", names[k], values[k]) < 0;
    if (failed && env) {
        env[to ? to - 1 : 0] = NULL;
        free_texts(env);
    }
    return failed ? NULL : env;
}

/* ---- the child's end ---- */

static void child_free(struct child *child)
{
    child->process->worker->children--;
    child->process->child = NULL;
    if (child->exited)
        event_free(child->exited);
    if (child->killer)
        event_free(child->killer);
    close(child->pidfd);
    free(child);
}

/* A job has retries of its own, after its own backoff. */
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
    return p->job ? MUSTER_RETRY : MUSTER_FAIL;
}

static enum muster_outcome outcome_of(struct muster_process *p, int status, int told)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0)
        return MUSTER_FINISH;
    if (!p->job || code == EXIT_RETRY)
        muster_process_set_retry(p, p->served->command->retry_delay_ms);
    if (told)
        return MUSTER_GIVE_BACK; /* which past a time limit may mean a retry */
    if (code == EXIT_RETRY)
        return MUSTER_RETRY;
    if (code == EXIT_CANNOT_RUN || code == EXIT_NOT_FOUND) {
        char line[300];
        snprintf(line, sizeof line, "%.200s %s (exit status %d): the task was given back, the worker stops",
                 p->served->command->path, code == EXIT_NOT_FOUND ? "was not found" : "cannot be run", code);
        stop_give_up(p->worker, MUSTER_E_NOT_FOUND, line);
        return MUSTER_GIVE_BACK;
    }
    return code > 0 ? failed(p, "exit", code) : failed(p, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void on_exited(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;
    struct muster_process *p = child->process;
    int status = 0, told = child->told;
    (void)fd, (void)what;
    if (told)
        kill(-child->pid, SIGKILL); /* what it started and left behind; before its pid can be anybody else's */
    pid_t reaped = waitpid(child->pid, &status, WNOHANG);
    if (reaped == 0)
        return;
    child_free(child);
    if (reaped < 0) {
        stop_give_up(p->worker, MUSTER_E_STATE, "cannot learn how children end: the program ignores SIGCHLD");
        process_ended(p, MUSTER_GIVE_BACK);
        return;
    }
    trace_line(TRACE_STATE, "process %s of %s: child ended, status 0x%x", p->token_text, p->served->name,
               (unsigned)status);
    process_ended(p, outcome_of(p, status, told));
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    const struct child *child = arg;
    (void)fd, (void)what;
    kill(-child->pid, SIGKILL);
}

static void tell_stop(struct muster_process *p)
{
    if (!p->child || p->child->told)
        return;
    p->child->told = 1;
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

/* Between fork and exec: only what is safe in a child of a program with threads. */
static _Noreturn void become(const char *path, char **argv, char **env, int input, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_CANNOT_RUN); /* the worker died before it could be watched */
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int is_stdin = input == STDIN_FILENO ? fcntl(input, F_SETFD, 0) : dup2(input, STDIN_FILENO);
    if (is_stdin >= 0)
        execve(path, argv, env);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* The task as a file to read from its beginning; -1 if that fails. */
static int task_file(const struct muster_process *p)
{
    int fd = memfd_create("muster-task", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < p->len) {
        ssize_t n = write(fd, p->task + done, p->len - done);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Would exec take these? The kernel limits each text, and all of them together with their pointers. */
static int fits(char *const *argv, char *const *env)
{
    size_t total = 0, most = (size_t)sysconf(_SC_ARG_MAX);
    char *const *const lists[] = {argv, env};
    for (size_t i = 0; i < 2; i++)
        for (char *const *text = lists[i]; *text; text++) {
            size_t len = strlen(*text) + 1;
            if (len > ARG_LEN_MAX)
                return 0;
            total += len + sizeof *text;
        }
    return total + EXEC_SLACK < most;
}

/* The child's pid; -1 with errno, E2BIG when the task is too long for an argument. */
static pid_t spawn(struct muster_process *p)
{
    int input = task_file(p);
    char **argv = arguments(p), **env = environment(p);
    pid_t parent = getpid(), pid = -1;
    if (argv && env && !fits(argv, env))
        errno = E2BIG;
    else if (input >= 0 && argv && env)
        pid = fork();
    if (pid == 0)
        become(p->served->command->path, argv, env, input, parent);
    int saved = errno;
    if (pid > 0)
        setpgid(pid, pid); /* both do it: whoever comes first, a signal to the group finds it */
    if (input >= 0)
        close(input);
    free_texts(argv);
    free_texts(env);
    errno = saved;
    return pid;
}

static int watch(struct muster_process *p, pid_t pid)
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
    p->worker->children++;
    child->process = p;
    child->pid = pid;
    child->pidfd = pidfd;
    child->exited = event_new(p->worker->base, pidfd, EV_READ | EV_PERSIST, on_exited, child);
    child->killer = evtimer_new(p->worker->base, on_grace_over, child);
    if (child->exited && child->killer && event_add(child->exited, NULL) == 0)
        return MUSTER_OK;
    child_free(child);
    return MUSTER_E_NOMEM;
}

static void bad_argument(struct muster_process *p, const char *why)
{
    muster_process_set_failure(p, "bad-argument", why);
    process_ended(p, MUSTER_FAIL);
}

static void start(struct muster_process *p)
{
    if (p->served->command->replace && memchr(p->task, '\0', p->len)) {
        bad_argument(p, "the task holds a NUL byte, which no argument can");
        return;
    }
    pid_t pid = spawn(p);
    if (pid > 0 && watch(p, pid) == MUSTER_OK) {
        trace_line(TRACE_STATE, "process %s of %s: child %ld", p->token_text, p->served->name, (long)pid);
        return;
    }
    int saved = errno;
    if (pid < 0 && saved == E2BIG) {
        bad_argument(p, "the task is too long for an argument");
        return;
    }
    if (pid > 0) { /* a child that cannot be watched must not run */
        kill(-pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    char line[160];
    snprintf(line, sizeof line, "no child could be made: %s", strerror(saved));
    worker_tell(p->worker, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, line, NULL);
    muster_process_set_retry(p, p->served->command->retry_delay_ms);
    process_ended(p, MUSTER_RETRY);
}

/* ---- setting up ---- */

static void setup_free(struct command_setup *setup)
{
    free(setup->path);
    free_texts(setup->argv);
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

static int can_be_run(const char *path)
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
            free_texts(copy);
            return NULL;
        }
    return copy;
}

int command_setup(struct served *s, const struct muster_command *command, char *why, size_t size)
{
    if (!command->argv || !command->argv[0] || command->retry_delay_ms < 0 || command->grace_ms < 0 ||
        (command->replace && !*command->replace)) {
        snprintf(why, size, "a command needs a program, delays that are not negative, and no empty text to replace");
        return MUSTER_E_INVALID;
    }
    struct command_setup *setup = calloc(1, sizeof *setup);
    if (!setup)
        return MUSTER_E_NOMEM;
    setup->retry_delay_ms = command->retry_delay_ms ? command->retry_delay_ms : RETRY_DELAY_DEFAULT_MS;
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
