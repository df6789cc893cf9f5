/* SPDX-License-Identifier: MIT
 *
 * Writes the log. Each line is one write(2), so that lines of several workers do not mix in a file or pipe. It runs in
 * the worker's loop: a reader that has stopped reading must not stop the heartbeats, so what it does not read in time
 * is left out, and the next line that goes through is preceded by how many.
 *
 * The plain lines of WORK_LOG_FAILURES are for a person who has just started a worker. The others are for files and for
 * programs, which need the time.
 */
#include "work_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <muster/job.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "need.h"
#include "now.h"
#include "out.h"
#include "stream.h"
#include "text.h"

/* A message may have 64 KiB; the failed list keeps all of it. So a line is no longer than what a pipe takes at once. */
#define MESSAGE_BYTES 500

static const char *const form_names[] = {
#define WORK_LOG_NAME(form, name) [form] = (name),
    WORK_LOG_FORMS(WORK_LOG_NAME)
#undef WORK_LOG_NAME
};

static const char *const level_names[] = {
    [MUSTER_LOG_ERROR] = "error", [MUSTER_LOG_WARN] = "warn", [MUSTER_LOG_INFO] = "info", [MUSTER_LOG_DEBUG] = "debug"};

/* Returns -1 if there is no such form. */
static int find_form(const char *name)
{
    for (size_t i = 0; i < sizeof form_names / sizeof *form_names; i++)
        if (strcmp(form_names[i], name) == 0)
            return (int)i;
    return -1;
}

const char *work_log_check(const char *name)
{
    return find_form(name) < 0 ? "it must be one of failures, text, json and none" : NULL;
}

/* ---- writing ---- */

static bool can_write(const struct work_log *log)
{
    struct pollfd reader = {.fd = log->fd, .events = POLLOUT};
    return poll(&reader, 1, log->left_out ? 0 : log->patience_ms) > 0;
}

/* A full disk takes a part of a line, or nothing of it. */
static bool write_whole(struct work_log *log, const char *text)
{
    const size_t len = strlen(text);
    const ssize_t n = write(log->fd, text, len);
    if (n > 0)
        log->is_torn = (size_t)n < len;
    return n == (ssize_t)len;
}

static bool write_left_out(struct work_log *log)
{
    char note[160];
    const char *begin = log->is_torn ? "\n" : "";
    if (log->form == WORK_LOG_JSON)
        snprintf(note, sizeof note, "%s{\"level\":\"warn\",\"message\":\"" OUT_LEFT_OUT "\"}\n", begin, log->left_out);
    else
        snprintf(note, sizeof note, "%smuster work: " OUT_LEFT_OUT "\n", begin, log->left_out);
    if (!write_whole(log, note))
        return false;
    log->left_out = 0;
    return true;
}

/* `text` has its newline. */
static void write_text(struct work_log *log, const char *text)
{
    if (!can_write(log) || (log->left_out > 0 && !write_left_out(log)) || !write_whole(log, text))
        log->left_out++;
}

static void write_json(struct work_log *log, const struct work_line *line)
{
    static const struct out_column columns[] = {
        {NULL, "time", OUT_TEXT},    {NULL, "level", OUT_TEXT},   {NULL, "event", OUT_TEXT},
        {NULL, "worker", OUT_TEXT},  {NULL, "queue", OUT_TEXT},   {NULL, "process", OUT_TEXT},
        {NULL, "job", OUT_TEXT},     {NULL, "outcome", OUT_TEXT}, {NULL, "waited_ms", OUT_COUNT},
        {NULL, "ran_ms", OUT_COUNT}, {NULL, "group", OUT_TEXT},   {NULL, "error", OUT_TEXT},
        {NULL, "message", OUT_TEXT}, {NULL, NULL, OUT_TEXT},
    };
    char time[TEXT_TIME_SIZE];
    const struct out_cell cells[] = {
        {.text = text_time(time, now_unix_ms())},
        {.text = level_names[line->level]},
        {.text = line->what},
        {.text = line->worker},
        {.text = line->queue},
        {.text = line->process},
        {.text = line->job},
        {.text = line->outcome},
        {.number = line->waited_ms},
        {.number = line->ran_ms},
        {.text = line->group},
        {.text = line->error},
        {.text = line->message},
    };
    char *text = out_json_line(columns, cells);
    write_text(log, text);
    free(text);
}

/* Each part that is there, with what stands before it. */
static void print_parts(FILE *out, const struct work_line *line)
{
    const char *const parts[] = {line->worker, line->outcome, line->group, line->message, line->process};
    const char *before = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] && *parts[i]) {
            fprintf(out, "%s%s", before, parts[i]);
            before = ": ";
        }
    }
    if (line->job)
        fprintf(out, ", job %s", line->job);
    if (line->waited_ms >= 0)
        fprintf(out, ", waited %" PRId64 " ms", line->waited_ms);
    if (line->ran_ms >= 0)
        fprintf(out, ", ran %" PRId64 " ms", line->ran_ms);
}

static void write_plain(struct work_log *log, const struct work_line *line)
{
    char *text = NULL, time[TEXT_TIME_SIZE];
    size_t len = 0;
    FILE *out = need(open_memstream(&text, &len));
    if (log->form == WORK_LOG_TEXT)
        fprintf(out, "%s %-5s ", text_time(time, now_unix_ms()), level_names[line->level]);
    fputs("muster work: ", out);
    print_parts(out, line);
    fclose(out);
    char *shown = text_safe(need(text), len);
    shown = need(realloc(shown, strlen(shown) + 2));
    strcat(shown, "\n");
    write_text(log, shown);
    free(shown);
    free(text);
}

void work_log_write(struct work_log *log, const struct work_line *line)
{
    if (log->form == WORK_LOG_JSON)
        write_json(log, line);
    else
        write_plain(log, line);
}

/* ---- tasks ---- */

static const char *const outcome_names[] = {[MUSTER_FINISH] = "finished",
                                            [MUSTER_GIVE_BACK] = "given back",
                                            [MUSTER_RETRY] = "retried",
                                            [MUSTER_FAIL] = "failed"};

/* The beginning of it, without half a character at the end. */
static void copy_message(char out[MESSAGE_BYTES + 1], const char *message)
{
    size_t len = strnlen(message, MESSAGE_BYTES);
    if (message[len])
        while (len > 0 && ((unsigned char)message[len] >> 6) == 2)
            len--;
    memcpy(out, message, len);
    out[len] = '\0';
}

/* A job that is to be retried and has no retry left fails. */
static enum muster_outcome outcome_of(const struct muster_end *end, const struct muster_job *job)
{
    bool is_last = job && end->outcome == MUSTER_RETRY && job->retried >= job->retries;
    return is_last ? MUSTER_FAIL : end->outcome;
}

/* What MUSTER_RETRY has of a command that exits with 75. */
#define GROUP_ASKED "exit-75"

static bool has_cause(enum muster_outcome outcome, const struct muster_end *end)
{
    return outcome == MUSTER_FAIL || (outcome == MUSTER_RETRY && *end->group);
}

/* A job whose attempt fails is retried, with a group. A retry that was asked for has none, or that of its status. What a
 * command has ended by itself is as it wants it. */
static bool has_failed(enum muster_outcome outcome, const struct muster_end *end)
{
    return !end->by_command && has_cause(outcome, end) &&
           (outcome == MUSTER_FAIL || strcmp(end->group, GROUP_ASKED) != 0);
}

void work_log_task(struct work_log *log, struct muster_worker *w, const struct muster_end *end)
{
    const struct muster_job *job = muster_process_job(end->process);
    enum muster_outcome outcome = outcome_of(end, job);
    bool is_failure = has_failed(outcome, end), has_words = has_cause(outcome, end);
    char message[MESSAGE_BYTES + 1];
    if (log->form == WORK_LOG_NONE || (log->form == WORK_LOG_FAILURES && !is_failure))
        return;
    copy_message(message, has_words ? end->message : "");
    work_log_write(log, &(struct work_line){
                            .level = is_failure ? MUSTER_LOG_WARN : MUSTER_LOG_INFO,
                            .worker = muster_worker_id(w),
                            .what = "ended",
                            .queue = muster_process_queue(end->process),
                            .process = muster_process_id(end->process),
                            .job = job ? job->id : NULL,
                            .outcome = outcome_names[outcome],
                            .group = has_words && *end->group ? end->group : NULL,
                            .message = message,
                            .waited_ms = end->waited_ms,
                            .ran_ms = end->ran_ms,
                        });
}

/* ---- what others say ---- */

static bool is_for_programs(const struct work_log *log)
{
    return log->form == WORK_LOG_TEXT || log->form == WORK_LOG_JSON;
}

/* In the plain form as the library would write it. Without a log there are still the traces, which somebody has asked
 * for. */
static void on_library_line(enum muster_log_level level, const char *text, void *arg)
{
    struct work_log *log = arg;
    char *line;
    if (level != MUSTER_LOG_DEBUG &&
        (log->form == WORK_LOG_NONE || (log->form == WORK_LOG_FAILURES && level > MUSTER_LOG_WARN)))
        return;
    if (log->form != WORK_LOG_FAILURES) {
        work_log_write(log, &(struct work_line){.level = level, .message = text, .waited_ms = -1, .ran_ms = -1});
        return;
    }
    if (asprintf(&line, "%s\n", text) < 0)
        need(NULL);
    write_text(log, line);
    free(line);
}

static void on_complaint(const char *error, const char *text, void *arg)
{
    struct work_log *log = arg;
    if (is_for_programs(log) || !complain_is_json(log->call)) {
        work_log_write(log,
                       &(struct work_line){
                           .level = MUSTER_LOG_ERROR, .error = error, .message = text, .waited_ms = -1, .ran_ms = -1});
        return;
    }
    char *line = complain_json(error, text);
    write_text(log, line);
    free(line);
}

static int open_stderr(void)
{
    int fd = stream_open(STDERR_FILENO);
    return fd < 0 ? STDERR_FILENO : fd;
}

/* A FIFO that nobody reads is refused, instead of waiting for somebody. */
int work_log_begin(struct work_log *log, const struct call *call, const char *form, const char *file, int patience_ms)
{
    *log = (struct work_log){
        .call = call, .form = (enum work_log_form)find_form(form), .fd = STDERR_FILENO, .patience_ms = patience_ms};
    log->is_file = file != NULL;
    if (file && !is_for_programs(log))
        return complain_usage(call, "--log-file is for --log text and --log json");
    if (file && (log->fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666)) < 0)
        return complain_usage(call, "--log-file: '%s' cannot be opened: %s", file, strerror(errno));
    if (!file)
        log->fd = open_stderr();
    complain_unwaiting(call);
    muster_log_set(on_library_line, log);
    complain_to(on_complaint, log);
    return EXIT_DONE;
}

static void close_fd(const struct work_log *log)
{
    if (log->fd != STDERR_FILENO)
        close(log->fd);
}

void work_log_end(struct work_log *log)
{
    const uint64_t left_out = log->is_file ? log->left_out : 0;
    close_fd(log);
    if (left_out > 0) {
        *log = (struct work_log){
            .call = log->call, .form = WORK_LOG_FAILURES, .fd = open_stderr(), .patience_ms = log->patience_ms};
        complain(log->call, "--log-file: the last lines, %" PRIu64 ", could not be written", left_out);
        close_fd(log);
    }
    muster_log_set(NULL, NULL);
    complain_to(NULL, NULL);
}
