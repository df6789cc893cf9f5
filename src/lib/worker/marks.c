/* SPDX-License-Identifier: MIT
 *
 * Marks: a process that was cancelled, or whose queue was deleted, may finish; otherwise it is dropped. Redis decides
 * that; here the handler is told, and what has not started does not start.
 *
 * A mark comes by a message, with every heartbeat and with every read-back, so it is heard even when messages are lost.
 * It can come before its process does: the message on one connection, the take's answer on the other. So marks of
 * unknown tokens are kept until a heartbeat's answer says that every process up to that token has arrived.
 */
#include <stdlib.h>

#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* The program may end the process inside its callback, so the process is not touched afterwards. */
static void apply(struct muster_process *p, enum mark mark)
{
    if (mark <= p->mark)
        return;
    dispatch_call_off(p->worker);
    p->mark = mark;
    trace_line(TRACE_WAKE, "process %s of %s was %s", p->token_text, p->served->name,
               mark == MARK_CANCELLED ? "cancelled" : "deleted with its queue");
    if (process_is(p, IS_UNTOUCHED))
        end_unstarted(p); /* which drops it */
    else if (process_is(p, IS_RUNNING) && mark == MARK_CANCELLED)
        process_tell_stop(p, MUSTER_STOP_CANCELLED);
    else if (process_is(p, IS_RUNNING))
        tell_event(p->worker, MUSTER_EVENT_DELETED, MUSTER_OK, NULL, p);
}

static struct early_mark *find_early(struct muster_worker *w, uint64_t token)
{
    for (size_t i = 0; i < w->marks.n; i++)
        if (w->marks.early[i].token == token)
            return &w->marks.early[i];
    return NULL;
}

/* If memory runs out, the mark is not kept: the next heartbeat tells it again. */
static void keep_early(struct muster_worker *w, uint64_t token, enum mark mark)
{
    struct early_mark *e = find_early(w, token);
    if (e) {
        e->mark = mark > e->mark ? mark : e->mark;
        return;
    }
    if (w->marks.n == w->marks.size) {
        size_t size = w->marks.size ? w->marks.size * 2 : 16;
        struct early_mark *wider = size <= MUSTER_HANDS_MAX * 2 ? realloc(w->marks.early, size * sizeof *wider) : NULL;
        if (!wider)
            return;
        w->marks.early = wider;
        w->marks.size = size;
    }
    w->marks.early[w->marks.n++] = (struct early_mark){token, mark};
}

void marks_note(struct muster_worker *w, uint64_t token, enum mark mark)
{
    struct muster_process *p = process_find(w, token);
    if (p)
        apply(p, mark);
    else
        keep_early(w, token, mark);
}

void marks_note_list(struct muster_worker *w, const struct redisReply *marks)
{
    for (size_t i = 0; i < script_marks(marks); i++) {
        struct script_mark mark;
        if (script_marked(marks, i, &mark) == MUSTER_OK)
            marks_note(w, mark.token, mark.is_deleted ? MARK_DELETED : MARK_CANCELLED);
    }
}

enum mark marks_early(struct muster_worker *w, uint64_t token)
{
    const struct early_mark *e = w->marks.n > 0 ? find_early(w, token) : NULL;
    return e ? e->mark : MARK_NONE;
}

void marks_forget(struct muster_worker *w, uint64_t upto)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->marks.n; i++)
        if (w->marks.early[i].token > upto)
            w->marks.early[kept++] = w->marks.early[i];
    w->marks.n = kept;
}

void marks_free(struct muster_worker *w)
{
    free(w->marks.early);
}
