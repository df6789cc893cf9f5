/* SPDX-License-Identifier: MIT
 *
 * The command executor: a child process per task (spawn.c), what it prints (output.c), and its end (child.c) as an outcome.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/command_setup.h"
#include "worker/spawn.h"
#include "worker/worker.h"

#define EXIT_RETRY 75 /* EX_TEMPFAIL of sysexits.h */

/* ---- the child's end ---- */

static void let_go(struct child *child)
{
    struct muster_process *p = child->process;
    p->worker->processes.n_children--;
    p->child = NULL;
    spawn_note_free(child->note);
    output_let_go(child->outputs.result);
    output_let_go(child->outputs.message);
}

/* Why, for people: the last that the child has said, or else how it ended. */
static void note_failure(struct muster_process *p, const char *kind, int number, const char *words)
{
    char group[32], message[160];
    snprintf(group, sizeof group, "%s-%d", kind, number);
    if (strcmp(kind, "signal") == 0)
        snprintf(message, sizeof message, "%s ended by signal %d (%s)", p->served->command->argv[0], number,
                 strsignal(number));
    else
        snprintf(message, sizeof message, "%s ended with exit status %d", p->served->command->argv[0], number);
    muster_process_set_failure(p, group, *words ? words : message);
}

/* A job follows its own backoff. */
static void set_delay(struct muster_process *p)
{
    if (!muster_process_job(p))
        muster_process_set_retry(p, p->served->command->retry_delay_ms);
}

/* A job follows its own retries, too. */
static enum muster_outcome outcome_of(struct muster_process *p, int status, bool was_told, const char *words)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0)
        return MUSTER_FINISH;
    set_delay(p);
    if (was_told)
        return MUSTER_GIVE_BACK; /* past a time limit this may mean a retry */
    if (code > 0)
        note_failure(p, "exit", code, words);
    else
        note_failure(p, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0, words);
    return code == EXIT_RETRY || muster_process_job(p) ? MUSTER_RETRY : MUSTER_FAIL;
}

static void tell_cut(struct muster_process *p, size_t len)
{
    char line[120];
    snprintf(line, sizeof line, "its command printed more than the %zu bytes that a result may have", len);
    tell_event(p->worker, MUSTER_EVENT_CUT, MUSTER_OK, line, p);
}

/* What a child has printed that did not fail. */
static void take_result(const struct child *child)
{
    size_t len;
    bool is_cut;
    struct muster_process *p = child->process;
    const char *result = output_result(child->outputs.result, &len, &is_cut);
    if (muster_process_set_result(p, result, len) != MUSTER_OK)
        tell_event(p->worker, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, "no memory for a result, which is lost", p);
    else if (is_cut)
        tell_cut(p, len);
}

/* Reads the rest of what the child has printed. */
static void read_outputs(const struct child *child, int status, char words[TAIL_TEXT_MAX + 1])
{
    *words = '\0';
    if (child->outputs.message) {
        output_end(child->outputs.message);
        output_words(child->outputs.message, words);
    }
    if (!child->outputs.result)
        return;
    output_end(child->outputs.result);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !child->process->is_ended)
        take_result(child);
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

/* It does not count for max_tasks either. */
static void lacking(struct muster_process *p, int error)
{
    struct muster_worker *w = p->worker;
    char line[400], reason[100], why[120] = "";
    if (error == EMFILE && w->outputs.n_left > 0)
        snprintf(why, sizeof why, " (what commands have left running holds %zu)", w->outputs.n_left);
    snprintf(line, sizeof line, "%.200s cannot begin now: %s%s; its task goes back, and others wait for a moment",
             p->served->command->path, strerror_r(error, reason, sizeof reason), why);
    w->processes.n_begun--;
    lack_begin(w, p->served, line);
    end_by_handler(p, MUSTER_GIVE_BACK);
}

/* The program did not begin. If that will not pass, the worker stops: each task would end in this way. */
static void not_begun(struct muster_process *p, int error)
{
    char line[300], reason[100];
    const struct executor_command *command = p->served->command;
    if (error == E2BIG && spawn_is_task_too_long(p, command->argv, command->replace)) {
        bad_argument(p, "the task is too long for an argument");
        return;
    }
    if (will_pass(error)) {
        lacking(p, error);
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
    char words[TAIL_TEXT_MAX + 1];
    int status;
    (void)fd, (void)what;
    if (!child_has_exited(child, &status))
        return;
    int exec_error = *child->note;
    bool was_told = child->told != CHILD_NOTHING;
    read_outputs(child, status, words);
    let_go(child);
    child_free(child);
    if (status < 0) {
        stop_give_up(p->worker, MUSTER_E_STATE, "cannot learn how children end: the program ignores SIGCHLD");
        end_by_handler(p, MUSTER_GIVE_BACK);
        return;
    }
    trace_line(TRACE_STATE, "process %s of %s: child ended, status 0x%x", p->token_text, p->served->name,
               (unsigned)status);
    if (exec_error != 0)
        not_begun(p, exec_error);
    else
        end_by_handler(p, p->is_ended ? MUSTER_FINISH : outcome_of(p, status, was_told, words));
}

static void tell_stop(struct muster_process *p)
{
    const struct executor_command *command = p->served->command;
    bool is_to_move = atomic_load(&p->stop_reason) == MUSTER_STOP_MOVE;
    if (p->child)
        child_tell(p->child, is_to_move ? CHILD_TO_MOVE : CHILD_TO_STOP,
                   is_to_move ? command->move_ms : command->grace_ms);
}

bool executor_command_stays(const struct served *s)
{
    return s->command && s->command->on_move == MUSTER_MOVE_STAY;
}

static void abandon(struct muster_process *p)
{
    struct child *child = p->child;
    if (!child)
        return;
    let_go(child);
    child_abandon(child);
}

/* ---- the child's beginning ---- */

/* Without a pipe for its standard error a child says why by its exit status alone. A result needs one. */
static bool open_outputs(struct muster_process *p, struct outputs_of_child *outputs, struct spawn_output *ends)
{
    const struct executor_command *command = p->served->command;
    *outputs = (struct outputs_of_child){NULL, NULL};
    *ends = (struct spawn_output){-1, -1};
    if (command->on_stdout == MUSTER_STDOUT_RESULT) {
        outputs->result = output_new(p->worker, OUTPUT_RESULT, command->result_max, &ends->out);
        if (!outputs->result)
            return false;
    }
    if (command->on_stderr == MUSTER_STDERR_MESSAGE)
        outputs->message = output_new(p->worker, OUTPUT_MESSAGE, 0, &ends->err);
    return true;
}

/* The child has them, or there is none. */
static void close_ends(const struct spawn_output *ends)
{
    int saved = errno;
    if (ends->out >= 0)
        close(ends->out);
    if (ends->err >= 0)
        close(ends->err);
    errno = saved;
}

static void has_begun(struct muster_process *p, struct child *child)
{
    p->child = child;
    p->worker->processes.n_children++;
    trace_line(TRACE_STATE, "process %s of %s: child %ld", p->token_text, p->served->name, (long)child->pid);
}

/* Returns 0, or an errno. */
static int start_child(struct muster_process *p, volatile int *note)
{
    const struct executor_command *command = p->served->command;
    struct outputs_of_child outputs;
    struct spawn_output ends;
    bool is_open = note && open_outputs(p, &outputs, &ends);
    pid_t pid = is_open ? spawn_child(p, command->path, command->argv, command->replace, &ends, note) : -1;
    if (is_open)
        close_ends(&ends);
    struct child *child = pid > 0 ? child_watch(p, pid, on_exited) : NULL;
    if (child) {
        child->note = note;
        child->outputs = outputs;
        has_begun(p, child);
        return 0;
    }
    int error = errno == E2BIG && pid < 0 ? E2BIG : will_pass(errno) ? errno : ENOMEM;
    if (is_open) {
        output_let_go(outputs.result);
        output_let_go(outputs.message);
    }
    return error;
}

static void start(struct muster_process *p)
{
    if (p->served->command->replace && memchr(p->task, '\0', p->len)) {
        bad_argument(p, "the task holds a NUL byte, which no argument can");
        return;
    }
    volatile int *note = spawn_note_new();
    int error = start_child(p, note);
    if (error == 0)
        return;
    spawn_note_free(note);
    not_begun(p, error);
}

/* ---- setting up ---- */

static void clear(struct served *s)
{
    if (s->command)
        command_setup_free(s->command);
    s->command = NULL;
}

static const struct executor executor_command = {start, tell_stop, abandon, clear};

int executor_command_setup(struct served *s, const struct muster_command *command, char *why, size_t size)
{
    int err = command_setup_new(&s->command, command, why, size);
    if (err == MUSTER_OK)
        s->executor = &executor_command;
    return err;
}
