/* SPDX-License-Identifier: MIT
 *
 * Complaints on standard error. One table turns the library's errors into exit codes and advice. A message takes the
 * address of Redis from the library's words, which hold no password; the URL may hold one, and is never printed.
 */
#include "complain.h"

#include <errno.h>
#include <inttypes.h>
#include <muster/error.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connection.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "stream.h"
#include "text.h"

/* Where this thread's messages go instead of standard error. */
static _Thread_local complain_fn *sink;
static _Thread_local void *sink_arg;

void complain_to(complain_fn *fn, void *arg)
{
    sink = fn;
    sink_arg = arg;
}

char *complain_json(const char *error, const char *message)
{
    static const struct out_column columns[] = {
        {NULL, "error", OUT_TEXT}, {NULL, "message", OUT_TEXT}, {NULL, NULL, OUT_TEXT}};
    return out_json_line(columns, (const struct out_cell[]){{.text = error}, {.text = message}});
}

static char *with_newline(const char *prefix, const char *name, const char *message)
{
    char *line = NULL;
    if (asprintf(&line, "%s%s: %s\n", prefix, name, message) < 0)
        need(NULL);
    return line;
}

/* Are the lines of the library, and of what was left out, objects? */
static bool is_json;

/* ---- standard error that nobody waits for ---- */

static struct {
    pthread_mutex_t lock;
    const char *verb;  /* NULL: who writes waits */
    int fd;            /* of stream_open() */
    uint64_t left_out; /* lines */
} unwaiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static bool write_now(const char *line)
{
    const size_t len = strlen(line);
    size_t done = 0;
    for (ssize_t n = 1; done < len && n > 0; done += n > 0 ? (size_t)n : 0)
        n = stream_now(STDERR_FILENO, unwaiting.fd, line + done, len - done);
    return done == len;
}

static bool has_told_left_out(void)
{
    char words[96];
    if (unwaiting.left_out == 0)
        return true;
    snprintf(words, sizeof words, OUT_LEFT_OUT, unwaiting.left_out);
    char *line = is_json ? complain_json(NULL, words) : with_newline("muster ", unwaiting.verb, words);
    if (write_now(line))
        unwaiting.left_out = 0;
    free(line);
    return unwaiting.left_out == 0;
}

/* A line with its newline, which it frees. */
static void put(char *line)
{
    size_t done;
    pthread_mutex_lock(&unwaiting.lock);
    if (unwaiting.verb)
        unwaiting.left_out += !has_told_left_out() || !write_now(line);
    else
        (void)stream_write(STDERR_FILENO, line, strlen(line), &done);
    pthread_mutex_unlock(&unwaiting.lock);
    free(line);
}

/* As the library itself would: what is only for information is not shown. */
static void on_library_line(enum muster_log_level level, const char *text, void *arg)
{
    char *line = NULL;
    (void)arg;
    if (level == MUSTER_LOG_INFO)
        return;
    progress_hide();
    if (is_json)
        line = complain_json(NULL, text);
    else if (asprintf(&line, "%s\n", text) < 0)
        need(NULL);
    put(line);
}

void complain_library(const struct call *call)
{
    is_json = complain_is_json(call);
    muster_log_set(on_library_line, NULL);
}

void complain_unwaiting(const struct call *call)
{
    unwaiting.fd = stream_open(STDERR_FILENO);
    unwaiting.verb = call->command->name;
}

/* ---- lines ---- */

bool complain_is_json(const struct call *call)
{
    return call->wants_json || call->common[OPT_JSON].set;
}

void complain_alone(bool as_json, const char *error, const char *message)
{
    put(as_json ? complain_json(error, message) : with_newline("muster", "", message));
}

/* `message` may hold what a server has said, so it is made safe for a terminal. */
static void say(const struct call *call, const char *error, const char *message)
{
    if (sink) {
        sink(error, message, sink_arg);
        return;
    }
    progress_hide();
    if (complain_is_json(call)) {
        put(complain_json(error, message));
    } else {
        char *shown = text_safe(message, strlen(message));
        put(with_newline("muster ", call->command->name, shown));
        free(shown);
    }
}

__attribute__((format(printf, 3, 0))) static void say_format(const struct call *call, const char *error,
                                                             const char *format, va_list args)
{
    char *message = NULL;
    if (vasprintf(&message, format, args) < 0)
        need(NULL);
    say(call, error, message);
    free(message);
}

void complain(const struct call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_format(call, NULL, format, args);
    va_end(args);
}

void complain_refusal(const struct call *call, const char *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_format(call, error, format, args);
    va_end(args);
}

int complain_usage(const struct call *call, const char *format, ...)
{
    va_list args;
    char *message = NULL;
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        need(NULL);
    va_end(args);
    complain_refusal(call, muster_err_name(MUSTER_E_INVALID), "%s; see `muster %s --help`", message,
                     call->command->name);
    free(message);
    return EXIT_USAGE;
}

/* ---- errors of the library ---- */

/*
 *   what    printed before the library's words, where these do not say it; NULL: nothing
 *   advice  what to do next; NULL: there is no general advice
 */
struct meaning {
    int exit;
    const char *what, *advice;
};

/* The index is the error's number without its sign. */
static const struct meaning meanings[] = {
    [-MUSTER_OK] = {EXIT_DONE, NULL, NULL},
    [-MUSTER_E_NOMEM] = {EXIT_FAILED, NULL, "free some memory and try again"},
    [-MUSTER_E_INVALID] = {EXIT_USAGE, NULL, NULL},
    [-MUSTER_E_TOO_BIG] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_CONN] = {EXIT_NO_REDIS, NULL, NULL},
    [-MUSTER_E_TIMEOUT] = {EXIT_TIMEOUT, NULL, "wait longer with --timeout"},
    [-MUSTER_E_FULL] = {EXIT_BUSY, "Redis is full",
                        "raise its maxmemory, let workers take what waits, or `muster drop` what has failed"},
    [-MUSTER_E_BUSY] = {EXIT_BUSY, "Redis is busy", "try again later"},
    [-MUSTER_E_DENIED] = {EXIT_DENIED, "denied",
                          "name a user who has the permission in the URL: redis://user:password@host"},
    [-MUSTER_E_REDIS] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_FORMAT] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_NOT_FOUND] = {EXIT_NOT_FOUND, NULL, NULL},
    [-MUSTER_E_EXISTS] = {EXIT_EXISTS, NULL, NULL},
    [-MUSTER_E_STATE] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_LOST] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_GONE] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_NOT_STARTED] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_CANCELLED] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_UNCONFIRMED] = {EXIT_UNCONFIRMED, NULL, NULL},
    [-MUSTER_E_STOPPED] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_INTERRUPTED] = {EXIT_INTERRUPTED, NULL, NULL},
    [-MUSTER_E_EXHAUSTED] = {EXIT_FAILED, NULL, NULL},
};

#define COUNT_ERROR(name, number, text) +1
_Static_assert(sizeof meanings / sizeof *meanings == 0 MUSTER_ERRORS(COUNT_ERROR), "every error has a meaning here");
#undef COUNT_ERROR

int complain_higher(int code, int other)
{
    return code > other ? code : other;
}

int complain_tried(bool has_tried, int code)
{
    return has_tried && code == EXIT_USAGE ? EXIT_FAILED : code;
}

/* ---- what the library's words tell beyond the error ---- */

static bool is_in(const char *text, const char *words)
{
    return strstr(text, words);
}

bool complain_is_nobody(const char *detail)
{
    static const int numbers[] = {ECONNREFUSED, ENOENT, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN};
    static const int hosts[] = {EAI_NONAME, EAI_AGAIN, EAI_FAIL};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is_in(detail, strerror(numbers[i])))
            return true;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (is_in(detail, gai_strerror(hosts[i])))
            return true;
    return is_in(detail, "nodename nor servname provided") || is_in(detail, "the host has no address");
}

static bool is_url(const struct call *call, const char *scheme)
{
    const char *url = call->common[OPT_URL].text;
    return url && strncmp(url, scheme, strlen(scheme)) == 0;
}

/* Whoever has no answer does not know. */
static bool may_be_done(const struct call *call)
{
    return call->command && call->command->changes;
}

static struct meaning meaning_of_timeout(const struct call *call)
{
    struct meaning m = meanings[-MUSTER_E_TIMEOUT];
    if (may_be_done(call))
        m.advice = COMPLAIN_MAY_BE_DONE;
    return m;
}

static struct meaning meaning_of_conn(const struct call *call, const char *detail)
{
    struct meaning m = meanings[-MUSTER_E_CONN];
    if (complain_is_nobody(detail)) {
        m.what = "no Redis";
        m.advice = "start one with `muster serve`, or name another with --url or MUSTER_URL";
    } else if (is_in(detail, "does not know a master"))
        m.advice = "is the name right?";
    else if (is_in(detail, strerror(ECONNRESET)) && is_url(call, "redis:"))
        m.advice = "does it speak only TLS? then rediss://";
    else if (may_be_done(call))
        m.advice = COMPLAIN_MAY_BE_DONE;
    return m;
}

/* A sentinel has a user and a password of its own, and says nothing of which of the two servers refused. */
static struct meaning meaning_of_denied(const struct call *call, const char *detail)
{
    struct meaning m = meanings[-MUSTER_E_DENIED];
    bool is_wrong = is_in(detail, "WRONGPASS");
    if (is_wrong)
        m.advice = "wrong user or password";
    if (connection_is_by_sentinel(call) && (is_wrong || is_in(detail, "NOAUTH")))
        m.advice = is_wrong ? "wrong user or password; a sentinel's own is sentinel_password= in the URL, or in the "
                              "file of --sentinel-password-file"
                            : "give the password in the URL; a sentinel's own is sentinel_password= there, or in the "
                              "file of --sentinel-password-file";
    return m;
}

/* A replica does not get better by waiting, unless a sentinel will name another. */
static struct meaning meaning_of_busy(const struct call *call, const char *detail)
{
    struct meaning m = meanings[-MUSTER_E_BUSY];
    if (is_in(detail, "READONLY")) {
        m.what = "this Redis is a read-only replica";
        m.advice = connection_is_by_sentinel(call) ? "try again" : "name its master with --url or MUSTER_URL";
    }
    return m;
}

static struct meaning meaning_of(const struct call *call, int err, const char *detail)
{
    switch (err) {
    case MUSTER_E_CONN:
        return meaning_of_conn(call, detail);
    case MUSTER_E_TIMEOUT:
        return meaning_of_timeout(call);
    case MUSTER_E_DENIED:
        return meaning_of_denied(call, detail);
    case MUSTER_E_BUSY:
        return meaning_of_busy(call, detail);
    default:
        return meanings[-err];
    }
}

int complain_stopped(const struct call *call, const char *format, ...)
{
    char *words = NULL, *detail = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&words, format, args) < 0 || asprintf(&detail, "interrupted; %s", words) < 0)
        need(NULL);
    va_end(args);
    int code = complain_error(call, MUSTER_E_STOPPED, detail);
    free(detail);
    free(words);
    return code;
}

/* The words of a replica say what `what` says already. The caller frees. */
static char *without_replica(const char *detail)
{
    static const char words[] = ": READONLY: this is a replica";
    char *copy = need(strdup(detail)), *at = strstr(copy, words);
    if (at)
        memmove(at, at + sizeof words - 1, strlen(at + sizeof words - 1) + 1);
    return copy;
}

int complain_error(const struct call *call, int err, const char *detail)
{
    const struct meaning m = meaning_of(call, err, detail);
    char *named = connection_words(call, detail), *words = without_replica(named);
    if (err != MUSTER_OK)
        complain_refusal(call, muster_err_name(err), "%s%s%s%s%s", m.what ? m.what : "", m.what ? ": " : "",
                         *words ? words : muster_err_text(err), m.advice ? "; " : "", m.advice ? m.advice : "");
    free(words);
    free(named);
    return m.exit;
}

int complain_adding(const struct call *call, int err, const char *detail, const char *id)
{
    char *words = NULL;
    if (!*id || (err != MUSTER_E_TIMEOUT && err != MUSTER_E_CONN) || complain_is_nobody(detail))
        return complain_error(call, err, detail);
    if (asprintf(&words, "%s; if it is there, its id is %s", detail, id) < 0)
        need(NULL);
    int code = complain_error(call, err, words);
    free(words);
    return code;
}
