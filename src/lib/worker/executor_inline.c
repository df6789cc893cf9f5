/* SPDX-License-Identifier: MIT
 *
 * The inline executor: the handler runs in the loop's thread, and the loop waits for it.
 */
#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

static enum muster_outcome run_handler(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    tell_enter(w);
    follow_enter_handler(p);
    enum muster_outcome outcome = p->served->handler(p, p->served->handler_arg);
    follow_enter_handler(NULL);
    tell_leave(w);
    return outcome;
}

/* A handler that holds up the heartbeat this long may soon cost the worker its registration. */
static void warn_if_long(const struct muster_process *p, int64_t took_ms)
{
    const struct muster_worker *w = p->worker;
    if (took_ms >= w->ttl_ms / 3)
        log_line(MUSTER_LOG_WARN,
                 "worker %s: a handler of '%s' held up the loop for %lld ms, with a ttl of %d ms: past that its tasks "
                 "go to others; let it answer MUSTER_LATER, use threads, or raise the ttl",
                 w->id, p->served->name, (long long)took_ms, w->ttl_ms);
}

static void start(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    timer_keeper_before_handler(w, p->served->name);
    enum muster_outcome outcome = run_handler(p);
    int64_t now_us = clock_us(), took_ms = (now_us - p->began_us) / 1000;
    timer_keeper_after_handler(w, took_ms);
    warn_if_long(p, took_ms);
    p->is_later = outcome == MUSTER_LATER;
    if (p->is_later)
        return;
    p->ended_us = now_us;
    end_by_handler(p, outcome);
}

const struct executor executor_inline = {.start = start};
