/* SPDX-License-Identifier: MIT
 *
 * Starting a child process for a task.
 *
 * The task is given as a file in memory, not through a pipe: nothing has to be fed while the child runs, a child that
 * does not read it harms nobody, and it may read it twice. Each child leads a process group, so that what it starts is
 * ended with it. The kernel sends it SIGTERM if the worker's thread dies, because the task will then start elsewhere.
 */
#include "worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/worker.h"

/* Linux takes 32 pages per argument, and keeps some of the room for all arguments to itself. */
#define ARG_LEN_MAX ((size_t)128 * 1024)
#define EXEC_SLACK 8192

extern char **environ;

/* ---- what it is started with ---- */

void spawn_free_texts(char **texts)
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

/* The task takes the place of the text `replace`. */
static char **make_arguments(struct muster_bytes task, char *const *given, const char *replace)
{
    size_t n = 0;
    while (given[n])
        n++;
    char **argv = calloc(n + 1, sizeof *argv);
    for (size_t i = 0; argv && i < n; i++) {
        argv[i] = replace ? replaced(given[i], replace, task.data, task.len) : strdup(given[i]);
        if (!argv[i]) {
            spawn_free_texts(argv);
            return NULL;
        }
    }
    return argv;
}

/* The program's environment, with the process' variables in place of any of these names; a task has none of a job's. */
static char **make_environment(struct muster_process *p)
{
    char attempt[24];
    const struct muster_job *job = muster_process_job(p);
    snprintf(attempt, sizeof attempt, "%lld", job ? (long long)job->retried + 1 : 0);
    const char *const names[] = {"MUSTER_QUEUE=", "MUSTER_PROCESS=", "MUSTER_TOKEN=", "MUSTER_WORKER=",
                                 "MUSTER_JOB=",   "MUSTER_ATTEMPT=", "MUSTER_BATCH="};
    const char *const values[] = {p->served->name,
                                  muster_process_id(p),
                                  p->token_text,
                                  p->worker->id,
                                  job ? job->id : NULL,
                                  job ? attempt : NULL,
                                  job && *job->batch ? job->batch : NULL};
    const size_t ours = sizeof names / sizeof *names;
    size_t n = 0, to = 0;
    while (environ && environ[n])
        n++;
    char **env = calloc(n + ours + 1, sizeof *env);
    bool failed = !env;
    for (size_t i = 0; !failed && i < n; i++) {
        bool is_ours = false;
        for (size_t k = 0; k < ours; k++)
            is_ours |= strncmp(environ[i], names[k], strlen(names[k])) == 0;
        if (!is_ours)
            failed = (env[to++] = strdup(environ[i])) == NULL;
    }
    for (size_t k = 0; !failed && k < ours; k++)
        failed = values[k] && asprintf(&env[to++], "%s%s", names[k], values[k]) < 0;
    if (failed && env) {
        env[to ? to - 1 : 0] = NULL;
        spawn_free_texts(env);
    }
    return failed ? NULL : env;
}

/* ---- the child ---- */

volatile int *spawn_note_new(void)
{
    void *note = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return note == MAP_FAILED ? NULL : note;
}

void spawn_note_free(volatile int *note)
{
    if (note)
        munmap((void *)note, sizeof(int));
}

/* Makes `fd` one of the three that exec leaves open; -1: that stays what it is. */
static bool becomes(int fd, int standard)
{
    if (fd < 0)
        return true;
    return fd == standard ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, standard) >= 0;
}

/* A handler of the program's, which might end the child as if the command had succeeded, or swallow the signal. */
static void forget_handlers(void)
{
    struct sigaction action;
    const struct sigaction none = {.sa_handler = SIG_DFL};
    for (int signo = 1; signo < NSIG; signo++)
        if (sigaction(signo, NULL, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL)
            sigaction(signo, &none, NULL);
    sigaction(SIGPIPE, &none, NULL);
}

/* Between fork and exec: only what is safe in a child of a program with threads. Signals wait until they can do what the
 * command expects. */
static _Noreturn void become(const char *path, char **argv, char **env, int input, const struct spawn_output *output,
                             pid_t parent, volatile int *note)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* the worker died before it could be watched */
    forget_handlers();
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (becomes(input, STDIN_FILENO) && becomes(output->out, STDOUT_FILENO) && becomes(output->err, STDERR_FILENO))
        execve(path, argv, env);
    *note = errno;
    _exit(EXIT_FAILURE);
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

/* Would exec take these? The kernel limits each text, and all texts together with their pointers. */
static bool fits_exec(char *const *argv, char *const *env)
{
    size_t total = 0, most = (size_t)sysconf(_SC_ARG_MAX);
    char *const *const lists[] = {argv, env};
    for (size_t i = 0; i < 2; i++)
        for (char *const *text = lists[i]; *text; text++) {
            size_t len = strlen(*text) + 1;
            if (len > ARG_LEN_MAX)
                return false;
            total += len + sizeof *text;
        }
    return total + EXEC_SLACK < most;
}

pid_t spawn_child(struct muster_process *p, const char *path, char *const *given, const char *replace,
                  const struct spawn_output *output, volatile int *note)
{
    int input = task_file(p);
    char **argv = make_arguments((struct muster_bytes){p->task, p->len}, given, replace), **env = make_environment(p);
    pid_t parent = getpid(), pid = -1;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (argv && env && !fits_exec(argv, env))
        errno = E2BIG;
    else if (input >= 0 && argv && env)
        pid = fork();
    if (pid == 0)
        become(path, argv, env, input, output, parent, note);
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0)
        setpgid(pid, pid); /* both do it: whichever comes first, a signal to the group finds it */
    if (input >= 0)
        close(input);
    spawn_free_texts(argv);
    spawn_free_texts(env);
    errno = saved;
    return pid;
}

bool spawn_is_task_too_long(struct muster_process *p, char *const *given, const char *replace)
{
    char **argv = make_arguments((struct muster_bytes){"", 0}, given, replace), **env = make_environment(p);
    bool is_task = replace && argv && env && fits_exec(argv, env);
    spawn_free_texts(argv);
    spawn_free_texts(env);
    return is_task;
}
