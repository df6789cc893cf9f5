/* SPDX-License-Identifier: MIT
 *
 * What this Redis does not let through for its size: a result that it does not read (proto-max-bulk-len,
 * client-query-buffer-limit), a task or a job's record that it does not send (client-output-buffer-limit). It closes the
 * connection, and would do so for ever. So that one process fails, group "too-large", by its name, and all others go on.
 *
 * It is given up only if the server says so itself, or has closed the connection twice while nothing else was under way
 * (link.h), and has such a limit, or does not say; and only if it is large. Whatever else ends a connection convicts
 * nobody. So while heavy calls go one by one, a turn brings one large result and takes nothing, or takes as few tasks as
 * there is room for. The same goes for a task or record for which there is no memory here, though nothing else here has
 * bytes: it would end each connection, and the worker would do nothing else. What is handed on comes again later, when its
 * process runs once more: then it has such a way again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocol/names.h"
#include "protocol/size_limit.h"
#include "worker/worker.h"

/* What there is no memory for beside others is fetched again after at most so many heartbeats. */
#define FETCH_PAUSE_MAX 16

/* Once, when it is known that no single one was it. */
static void tell_together(struct muster_worker *w)
{
    struct too_large *t = &w->too_large;
    char line[SIZE_LIMIT_LINE];
    if (!t->has_told) {
        t->has_told = true;
        snprintf(line, sizeof line, SIZE_LIMIT_TOGETHER, (uint64_t)t->together, t->limits.answer);
        tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_TOO_BIG, line, NULL);
    }
    t->together = 0;
}

/* May they have ended it for their size? Not if this Redis sends as much. */
static bool may_be_too_much(const struct too_large *t)
{
    return byte_limits_may_end(&t->limits, BYTE_LIMITS_ANSWER, t->n_bytes);
}

/* Half of them came through, and all are here that had no answer. */
static void judge_fetched(struct muster_worker *w, size_t room)
{
    struct too_large *t = &w->too_large;
    if (t->together == 0 || room == 1 || room != link_room_most(w->connection.data) ||
        t->limits.how != BYTE_LIMITS_KNOWN || process_count(w, LACKS_BYTES) > 0)
        return;
    if (may_be_too_much(t))
        tell_together(w);
    else
        link_set_room_most(w->connection.data, t->together = 0);
}

/* What was asked for together has ended a connection, and is asked for in fewer; or it was for another reason. */
static void judge_together(struct muster_worker *w)
{
    struct too_large *t = &w->too_large;
    const size_t most = link_room_most(w->connection.data);
    if (most == 0 || t->limits.how != BYTE_LIMITS_KNOWN)
        return;
    const bool is_second = t->together > 0 && t->together != 2 * most && may_be_too_much(t);
    t->together = 2 * most;
    t->n_bytes = 0;
    if (t->limits.answer == 0)
        link_set_room_most(w->connection.data, t->together = 0);
    else if (is_second)
        tell_together(w);
}

static void on_limits(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    byte_limits_hear(&w->too_large.limits, reply);
    if (reply)
        judge_together(w);
}

void too_large_ask(struct muster_worker *w)
{
    struct too_large *t = &w->too_large;
    struct command c = COMMAND_EMPTY;
    t->limits = (struct byte_limits){0};
    if (!t->has_broken && link_room_most(w->connection.data) == 0)
        return;
    t->has_broken = false;
    byte_limits_ask(&c);
    (void)!link_call(w->connection.data, &c, on_limits, w); /* it is not asked: nobody is convicted */
    command_clear(&c);
}

void too_large_tell(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes)
{
    char words[SIZE_LIMIT_WORDS], line[SIZE_LIMIT_LINE];
    size_limit_words(words, thing, n_bytes);
    size_limit_line(line, muster_process_id(p), words);
    tell_event(p->worker, MUSTER_EVENT_REFUSED, MUSTER_E_TOO_BIG, line, NULL);
}

void too_large_set_failure(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes)
{
    char words[SIZE_LIMIT_WORDS];
    size_limit_words(words, thing, n_bytes);
    muster_process_set_failure(p, FAILURE_GROUP_TOO_LARGE, words);
}

void too_large_give_up(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes)
{
    too_large_set_failure(p, thing, n_bytes);
    too_large_tell(p, thing, n_bytes);
}

/* Where Redis says its limits, one break is enough: nothing above them ever comes through. */
bool too_large_request(struct muster_worker *w, const struct link *link, size_t n_bytes, unsigned *n_breaks)
{
    struct too_large *t = &w->too_large;
    if (n_bytes < COMMAND_LARGE)
        return false;
    const bool was_alone = link_was_alone(link);
    t->has_broken = true;
    *n_breaks += was_alone;
    if (t->limits.how == BYTE_LIMITS_KNOWN && t->limits.request > 0 && n_bytes >= t->limits.request)
        return true;
    return was_alone && *n_breaks >= SIZE_LIMIT_BREAKS && byte_limits_may_end(&t->limits, BYTE_LIMITS_REQUEST, n_bytes);
}

static bool is_large_result(const struct muster_process *p)
{
    return p->outcome == MUSTER_FINISH && p->result_len >= COMMAND_LARGE;
}

int too_large_take_most(struct muster_worker *w, struct muster_process *const *ends, size_t n_ends, int most)
{
    const size_t room = link_room(w->connection.data), in_flight = (size_t)w->turns.takes_in_flight;
    if (room == 1 && n_ends > 0 && is_large_result(ends[0]))
        return 0;
    judge_fetched(w, room);
    /* More than there is room for would be held, and asked for again and again behind one that finds nothing. */
    if (room >= (size_t)most + in_flight)
        return most;
    return room > in_flight ? (int)(room - in_flight) : 0;
}

static void fail_for_result(struct muster_process *p)
{
    too_large_give_up(p, LARGE_RESULT, p->result_len);
    free(p->result);
    p->result = NULL;
    p->result_len = 0;
    p->outcome = MUSTER_FAIL;
}

static struct muster_process *largest(struct muster_process *const *ends, size_t n_ends)
{
    struct muster_process *most = NULL;
    for (size_t i = 0; i < n_ends; i++)
        if (is_large_result(ends[i]) && (!most || ends[i]->result_len > most->result_len))
            most = ends[i];
    return most;
}

bool too_large_end(struct muster_process *const *ends, size_t n_ends, int err)
{
    struct muster_process *p = largest(ends, n_ends);
    if (!p)
        return false;
    struct muster_worker *w = p->worker;
    bool must_fail = err == MUSTER_E_TOO_BIG ||
                     (err == MUSTER_E_CONN && too_large_request(w, w->connection.data, p->result_len, &p->n_broken));
    if (!must_fail)
        return false;
    fail_for_result(p);
    return true;
}

/* What else is here has its bytes, or has ended with some: that memory is coming free. */
bool too_large_has_all_memory(const struct muster_worker *w)
{
    const struct processes *all = &w->processes;
    return all->n_known + all->n_disowned == processes_that(all, LACKS_BYTES);
}

bool too_large_note_no_memory(struct muster_process *p)
{
    p->lacked_memory = too_large_has_all_memory(p->worker);
    p->n_broken += p->lacked_memory;
    return p->lacked_memory;
}

/* Each try costs a connection, on which nothing else comes through. */
static void put_off(struct muster_process *p)
{
    p->fetch_pause = p->fetch_pause == 0 ? 1 : p->fetch_pause < FETCH_PAUSE_MAX ? 2 * p->fetch_pause : p->fetch_pause;
    p->fetch_in = p->fetch_pause;
    p->worker->too_large.waits = true;
    tell_refused(
        p->worker, REQUEST_FETCH, MUSTER_E_NOMEM,
        "there is no memory for its bytes beside what else is here; it is tried again in longer and longer pauses, "
        "or when that has ended");
}

/* What ended beside others says nothing of it. */
void too_large_note_break(struct muster_process *p)
{
    const struct link *link = p->worker->connection.data;
    const bool was_alone = link_was_alone(link);
    if (was_alone) {
        p->lacked_memory = false;
        p->n_broken++;
        p->worker->too_large.has_broken = true;
    } else if (link_had_no_memory(link) && !too_large_note_no_memory(p)) {
        put_off(p);
    }
}

bool too_large_must_measure(const struct muster_process *p)
{
    return p->n_broken >= SIZE_LIMIT_BREAKS;
}

bool too_large_task(struct muster_process *p, uint64_t n_bytes)
{
    const bool is_limited = byte_limits_may_end(&p->worker->too_large.limits, BYTE_LIMITS_ANSWER, n_bytes);
    p->n_broken = 0;
    if (n_bytes < COMMAND_LARGE || !(p->lacked_memory || is_limited))
        return false;
    if (p->lacked_memory)
        too_large_give_up(p, p->kind == PROCESS_JOB ? LARGE_RECORD_HERE : LARGE_TASK_HERE, n_bytes);
    else
        too_large_give_up(p, p->kind == PROCESS_JOB ? LARGE_RECORD : LARGE_TASK, n_bytes);
    link_set_room_most(p->worker->connection.data, p->worker->too_large.together = 0); /* it was this one */
    end_unfetched(p);
    return true;
}

void too_large_fetched(struct muster_process *p)
{
    p->n_broken = 0;
    p->worker->too_large.n_bytes += p->len;
}
