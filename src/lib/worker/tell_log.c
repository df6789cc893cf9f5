/* SPDX-License-Identifier: MIT
 *
 * What a worker would tell its program goes to the log if the program does not listen: only what is a warning, and not
 * often. A worker without a callback must not be silent about a Redis that is not there.
 */
#include "worker/tell_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

#define PAUSE_MS 10000
/* Both connections break within this time; a worker tells no other reason earlier. */
#define BOTH_MS 900

/* An event without words is no warning. */
static const char *const warnings[TELL_LOG_KINDS] = {
    [MUSTER_EVENT_DOUBT] = "no heartbeat was confirmed within the ttl; nothing starts until one is",
    [MUSTER_EVENT_LOST] = "its registration is gone; it registers again",
    [MUSTER_EVENT_DOWN] = "no connection to Redis; it keeps trying",
    [MUSTER_EVENT_UP] = "Redis is back",
    [MUSTER_EVENT_UNCOUNTED] = "an end did not count",
    [MUSTER_EVENT_DELETED] = "the queue was deleted; a task that does not finish is gone",
    [MUSTER_EVENT_REFUSED] = "Redis refuses",
    [MUSTER_EVENT_ALONE] = "a task holds others up",
    [MUSTER_EVENT_NOT_RESUMED] = "not resumed",
    [MUSTER_EVENT_STOPPED] = "gave up",
    [MUSTER_EVENT_DROPPED] = "failures were dropped",
    [MUSTER_EVENT_RISK] = "this Redis may lose tasks",
    [MUSTER_EVENT_CUT] = "a result was cut off",
};

static bool is_replica(const struct muster_event *e)
{
    return e->err == MUSTER_E_BUSY && strstr(e->text, "READONLY");
}

/* In an outage both connections break, one soon after the other, and in words that may differ. */
static bool is_another_reason(const struct tell_log *log, const struct muster_event *e)
{
    if (!log->is_down_said || log->down_err != e->err)
        return true;
    bool is_soon = clock_ms() - log->last[MUSTER_EVENT_DOWN].said_at_ms < BOTH_MS;
    return !is_soon && strncmp(log->down_text, e->text, sizeof log->down_text - 1) != 0;
}

static bool is_wanted(const struct muster_worker *w, const struct muster_event *e)
{
    if ((unsigned)e->type >= TELL_LOG_KINDS || !warnings[e->type])
        return false;
    if (e->type == MUSTER_EVENT_STOPPED) /* muster_worker_run() returns the error */
        return e->err != MUSTER_OK && (!w->is_running_loop || w->own_thread.is_wanted);
    if (e->type == MUSTER_EVENT_REFUSED && is_replica(e)) /* the connection is given up: DOWN says why */
        return false;
    if (e->type == MUSTER_EVENT_UP)
        return w->tell.log.is_down_said;
    return e->type != MUSTER_EVENT_DOWN || is_another_reason(&w->tell.log, e);
}

static const char *words_of_busy(const struct muster_event *e)
{
    if (strstr(e->text, "the other connection leads to"))
        return "its connections lead to different servers; it makes new ones";
    return is_replica(e) ? "this Redis is a replica; it keeps trying" : "Redis refuses for now; it keeps trying";
}

static const char *words_of_down(const struct muster_event *e)
{
    switch (e->err) {
    case MUSTER_E_CONN:
    case MUSTER_E_TIMEOUT:
        return warnings[MUSTER_EVENT_DOWN];
    case MUSTER_E_BUSY:
        return words_of_busy(e);
    case MUSTER_E_DENIED:
        return "Redis denies it; it keeps trying";
    default:
        return "it cannot use this Redis; it keeps trying";
    }
}

/* Not all of it is asked of Redis, and not all of that is tried again. */
static const char *words_of_refused(const struct muster_event *e)
{
    if (e->err == MUSTER_E_TOO_BIG)
        return "too large";
    if (e->err == MUSTER_E_NOMEM)
        return "it lacks something of the system";
    return e->err == MUSTER_E_DENIED && e->process ? "a command cannot be stopped" : warnings[MUSTER_EVENT_REFUSED];
}

static const char *words_of(const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_UNCOUNTED && e->err == MUSTER_E_CONN)
        return "an end may not have counted";
    if (e->type == MUSTER_EVENT_REFUSED)
        return words_of_refused(e);
    return e->type == MUSTER_EVENT_DOWN ? words_of_down(e) : warnings[e->type];
}

/* After a line, those of the same kind are only counted for a while. The rest of an outage belongs to its beginning. */
static bool may_say(struct tell_log *log, enum muster_event_type type)
{
    int64_t now_ms = clock_ms();
    bool is_soon = log->last[type].said_at_ms != 0 && now_ms - log->last[type].said_at_ms < PAUSE_MS;
    bool is_same_outage = type == MUSTER_EVENT_UP || (type == MUSTER_EVENT_DOWN && log->is_down_said);
    if (is_soon && !is_same_outage) {
        log->last[type].left_out++;
        return false;
    }
    log->last[type].said_at_ms = now_ms;
    return true;
}

void tell_log_event(struct muster_worker *w, const struct muster_event *e)
{
    struct tell_log *log = &w->tell.log;
    char left_out[64] = "";
    if (!is_wanted(w, e) || !may_say(log, e->type))
        return;
    if (e->type == MUSTER_EVENT_DOWN || e->type == MUSTER_EVENT_UP)
        log->is_down_said = e->type == MUSTER_EVENT_DOWN;
    if (e->type == MUSTER_EVENT_DOWN) {
        log->down_err = e->err;
        snprintf(log->down_text, sizeof log->down_text, "%.*s", (int)sizeof log->down_text - 1, e->text);
    }
    if (log->last[e->type].left_out > 0)
        snprintf(left_out, sizeof left_out, " (%" PRIu64 " more of this kind before)", log->last[e->type].left_out);
    log->last[e->type].left_out = 0;
    log_line(e->type == MUSTER_EVENT_STOPPED ? MUSTER_LOG_ERROR : MUSTER_LOG_WARN, "muster: worker %s: %s%s%s%s%s%s",
             w->id, words_of(e), *e->text ? ": " : "", e->text, e->process ? ": " : "",
             e->process ? muster_process_id(e->process) : "", left_out);
}
