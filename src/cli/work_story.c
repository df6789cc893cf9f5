/* SPDX-License-Identifier: MIT
 *
 * Puts the worker's events into words. Most of them are the library's own; here is what a user of the command can do
 * about them, and what would be said twice.
 */
#include "work_story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "connection.h"
#include "now.h"
#include "web/status.h"

/* X(event, name, level, words). An event without words is not mentioned, or its words depend on more than its type. */
#define EVENTS(X)                                                                                     \
    X(STARTED, "started", INFO, "takes tasks")                                                        \
    X(DOUBT, "doubt", WARN, "no heartbeat was confirmed within the ttl, starts nothing until one is") \
    X(LOST, "lost", WARN, "was lost, registers again")                                                \
    X(DOWN, "down", WARN, NULL)                                                                       \
    X(UP, "up", INFO, "Redis is back")                                                                \
    X(STOP, "stop", INFO, NULL)                                                                       \
    X(UNCOUNTED, "uncounted", WARN, "an end did not count")                                           \
    X(SWEPT, "swept", INFO, "tidied up")                                                              \
    X(CANCEL, "cancel", INFO, NULL)                                                                   \
    X(DELETED, "deleted", WARN, "the queue was deleted, tasks that do not finish are gone")           \
    X(NEAR_LIMIT, "near-limit", INFO, NULL)                                                           \
    X(LEFT, "left", INFO, NULL)                                                                       \
    X(REFUSED, "refused", WARN, "Redis refuses, keeps trying")                                        \
    X(ALONE, "alone", WARN, "a task holds others up")                                                 \
    X(NOT_RESUMED, "not-resumed", WARN, "not resumed")                                                \
    X(STOPPED, "stopped", INFO, "stopped")                                                            \
    X(DROPPED, "dropped", WARN, "failures were dropped")                                              \
    X(RISK, "risk", WARN, "this Redis may lose tasks")                                                \
    X(CUT, "cut", WARN, "its result was cut off")                                                     \
    X(ENDED, "ended-itself", INFO, "its own command has ended it")

static const struct {
    const char *name, *words;
    enum muster_log_level level;
} events[] = {
#define EVENT_ROW(event, name, level, words) [MUSTER_EVENT_##event] = {name, words, MUSTER_LOG_##level},
    EVENTS(EVENT_ROW)
#undef EVENT_ROW
};
#define N_EVENTS (sizeof events / sizeof *events)

/* The words for a process that is told to stop. The reasons without words have an event of their own. */
static const char *const stop_texts[] = {
    [MUSTER_STOP_CANCELLED] = "cancelled, is told to stop",
    [MUSTER_STOP_LIMIT] = "past --limit, is told to stop",
    [MUSTER_STOP_DRAIN] = NULL,
    [MUSTER_STOP_MOVE] = "is to move to another worker",
};

static const char *down_text(const struct muster_event *e)
{
    switch (e->err) {
    case MUSTER_E_CONN:
    case MUSTER_E_TIMEOUT:
        return complain_is_nobody(e->text) ? "no Redis, keeps trying (`muster serve` starts one)"
                                           : "no connection to Redis, keeps trying";
    case MUSTER_E_BUSY:
        if (strstr(e->text, "READONLY"))
            return "this Redis is a replica, keeps trying";
        if ((strstr(e->text, "MOVED") || strstr(e->text, "has moved")) && !strstr(e->text, ": it names "))
            return "follows the slot";
        if (strstr(e->text, "the other connection leads to"))
            return "its connections lead to different servers, makes new ones";
        return "Redis refuses for now, keeps trying";
    default:
        return "cannot use Redis, keeps trying";
    }
}

/* After these refusals the connection is given up: DOWN says why. */
static bool is_told_by_down(const struct muster_event *e)
{
    return e->type == MUSTER_EVENT_REFUSED && e->err == MUSTER_E_BUSY &&
           (strstr(e->text, "READONLY") || strstr(e->text, "MOVED") || strstr(e->text, "CLUSTERDOWN"));
}

/* One process fails, and the worker is as well as before. */
static bool is_too_large(const struct muster_event *e)
{
    return e->type == MUSTER_EVENT_REFUSED && e->err == MUSTER_E_TOO_BIG;
}

static const char *words_of(const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP)
        return stop_texts[muster_process_stop_reason(e->process)];
    if (e->type == MUSTER_EVENT_UNCOUNTED && e->err == MUSTER_E_CONN)
        return "an end may not have counted";
    if (is_too_large(e))
        return "too large";
    if (e->type == MUSTER_EVENT_DOWN)
        return down_text(e);
    if (e->type == MUSTER_EVENT_LOST && strstr(e->text, "is to stop"))
        return "was lost, and ends";
    if (e->type == MUSTER_EVENT_REFUSED && e->err == MUSTER_E_DENIED && e->process)
        return "cannot be stopped";
    if (e->type == MUSTER_EVENT_REFUSED && e->err == MUSTER_E_NOMEM)
        return "lacks something of the system";
    if (is_told_by_down(e))
        return NULL;
    return e->type < N_EVENTS ? events[e->type].words : NULL;
}

/* A person sees that the worker has ended, and an error has a line of its own. What a command ends is no news to it. */
static bool is_for_log(const struct work_story *s, const struct muster_event *e)
{
    if (s->log.form == WORK_LOG_NONE || (e->type == MUSTER_EVENT_ENDED && s->log.form == WORK_LOG_FAILURES))
        return false;
    return e->type != MUSTER_EVENT_STOPPED || (e->err == MUSTER_OK && s->log.form != WORK_LOG_FAILURES);
}

/* Both connections break, one soon after the other, and in words that may differ. The library tells no other reason
 * earlier than a second later. */
#define BOTH_MS 900

static bool is_another_reason(const struct work_story *s, const struct muster_event *e)
{
    if (!s->is_down || s->down_err != e->err)
        return true;
    return now_ms() - s->said_at_ms >= BOTH_MS && strncmp(s->said, e->text, sizeof s->said - 1) != 0;
}

static bool is_news(struct work_story *s, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_UP)
        s->is_down = false;
    if (e->type != MUSTER_EVENT_DOWN)
        return true;
    if (!is_another_reason(s, e))
        return false;
    s->is_down = true;
    s->down_err = e->err;
    s->said_at_ms = now_ms();
    snprintf(s->said, sizeof s->said, "%.*s", (int)sizeof s->said - 1, e->text);
    return true;
}

#define MESSAGE_SIZE 1200
static void make_message(const struct work_story *s, char out[MESSAGE_SIZE], const struct muster_event *e,
                         const char *words)
{
    char *text = connection_words(s->log.call, e->text);
    snprintf(out, MESSAGE_SIZE, "%s%s%s", words, *text ? ": " : "", text);
    free(text);
}

static void write_event(struct work_story *s, struct muster_worker *w, const struct muster_event *e, const char *words)
{
    char message[MESSAGE_SIZE];
    make_message(s, message, e, words);
    work_log_write(&s->log, &(struct work_line){
                                .level = events[e->type].level,
                                .worker = muster_worker_id(w),
                                .what = events[e->type].name,
                                .queue = e->process ? muster_process_queue(e->process) : e->queue,
                                .process = e->process ? muster_process_id(e->process) : NULL,
                                .error = e->err != MUSTER_OK ? muster_err_name(e->err) : NULL,
                                .message = message,
                                .waited_ms = -1,
                                .ran_ms = -1,
                            });
}

/* A probe is told the same as the log. */
static void note_trouble(struct work_story *s, const struct muster_event *e, const char *words)
{
    char message[MESSAGE_SIZE];
    if (e->type == MUSTER_EVENT_STARTED || e->type == MUSTER_EVENT_UP) {
        status_note_trouble(s->status, NULL, NULL);
    } else if (words && !is_too_large(e) && (e->type == MUSTER_EVENT_DOWN || e->type == MUSTER_EVENT_REFUSED)) {
        make_message(s, message, e, words);
        status_note_trouble(s->status, muster_err_name(e->err), message);
    }
}

void work_story_status(struct work_story *s, struct muster_worker *w)
{
    char *url = status_url(s->status), message[MESSAGE_SIZE];
    snprintf(message, sizeof message, "its status is at %s", url);
    free(url);
    if (s->log.form != WORK_LOG_NONE)
        work_log_write(&s->log, &(struct work_line){.level = MUSTER_LOG_INFO,
                                                    .worker = muster_worker_id(w),
                                                    .what = "status",
                                                    .message = message,
                                                    .waited_ms = -1,
                                                    .ran_ms = -1});
}

void work_story_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct work_story *s = arg;
    const char *words = words_of(e);
    if (e->type == MUSTER_EVENT_STARTED && !s->was_started) {
        s->was_started = true;
        s->on_started();
    }
    note_trouble(s, e, words);
    if (is_news(s, e) && words && is_for_log(s, e))
        write_event(s, w, e, words);
}

void work_story_end(struct muster_worker *w, const struct muster_end *end, void *arg)
{
    struct work_story *s = arg;
    work_log_task(&s->log, w, end);
}
