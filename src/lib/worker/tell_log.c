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

/* An event without words is no warning. */
static const char *const warnings[TELL_LOG_KINDS] = {
    [MUSTER_EVENT_DOUBT] = "no heartbeat was confirmed within the ttl; nothing starts until one is",
    [MUSTER_EVENT_LOST] = "its registration is gone; it registers again",
    [MUSTER_EVENT_DOWN] = "no Redis; it keeps trying",
    [MUSTER_EVENT_UP] = "Redis is back",
    [MUSTER_EVENT_UNCOUNTED] = "an end did not count",
    [MUSTER_EVENT_DELETED] = "the queue was deleted; a task that does not finish is gone",
    [MUSTER_EVENT_REFUSED] = "Redis refuses; it tries again",
    [MUSTER_EVENT_ALONE] = "a task holds others up",
    [MUSTER_EVENT_NOT_RESUMED] = "not resumed",
    [MUSTER_EVENT_STOPPED] = "gave up",
    [MUSTER_EVENT_DROPPED] = "failures were dropped",
};

static bool is_replica(const struct muster_event *e)
{
    return e->err == MUSTER_E_BUSY && strstr(e->text, "READONLY");
}

static bool is_wanted(const struct muster_worker *w, const struct muster_event *e)
{
    if ((unsigned)e->type >= TELL_LOG_KINDS || !warnings[e->type])
        return false;
    if (e->type == MUSTER_EVENT_STOPPED) /* muster_worker_run() returns the error */
        return e->err != MUSTER_OK && !w->is_running_loop;
    if (e->type == MUSTER_EVENT_REFUSED && is_replica(e)) /* the connection is given up: DOWN says why */
        return false;
    if (e->type == MUSTER_EVENT_UP)
        return w->tell.log.is_down_said;
    /* in an outage both connections break */
    return e->type != MUSTER_EVENT_DOWN || !w->tell.log.is_down_said || w->tell.log.down_err != e->err;
}

static const char *words_of(const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_UNCOUNTED && e->err == MUSTER_E_CONN)
        return "an end may not have counted";
    if (is_replica(e) && e->type == MUSTER_EVENT_DOWN)
        return "this Redis is a replica; it keeps trying";
    return warnings[e->type];
}

/* After a line, those of the same kind are only counted for a while. The end of an outage belongs to its beginning. */
static bool may_say(struct tell_log *log, enum muster_event_type type)
{
    int64_t now_ms = clock_ms();
    bool is_soon = log->last[type].said_at_ms != 0 && now_ms - log->last[type].said_at_ms < PAUSE_MS;
    if (is_soon && type != MUSTER_EVENT_UP) {
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
    if (e->type == MUSTER_EVENT_DOWN)
        log->down_err = e->err;
    if (log->last[e->type].left_out > 0)
        snprintf(left_out, sizeof left_out, " (%" PRIu64 " more of this kind before)", log->last[e->type].left_out);
    log->last[e->type].left_out = 0;
    log_line(e->type == MUSTER_EVENT_STOPPED ? MUSTER_LOG_ERROR : MUSTER_LOG_WARN, "muster: worker %s: %s%s%s%s%s%s",
             w->id, words_of(e), *e->text ? ": " : "", e->text, e->process ? ": " : "",
             e->process ? muster_process_id(e->process) : "", left_out);
}
