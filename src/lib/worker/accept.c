/* SPDX-License-Identifier: MIT
 *
 * A process arrives: by a take's answer, by a hand-over's message, or by a read-back, in any order. The first one
 * brings its token into the table; the others find it there. Parts that did not come along are fetched: a job's record,
 * a task too large for a message, and everything that a read-back found, because a read-back names tokens only.
 *
 * What a former life held arrives by a read-back too (resume.c). A suspect arrives like any other (suspect.c).
 *
 * A process that arrives while the worker stops goes back as soon as its bytes are here, because a turn must know how
 * many bytes it gives back. One that is marked already goes back at once. If memory runs out, the process
 * is forgotten here; the next heartbeat's count brings it back. After the drain, messages and read-backs bring nothing
 * more: deregistering gives back what the worker holds.
 *
 * What has ended connections because of its size is measured before it is fetched again (too_large.c). What there is no memory
 * for beside others waits: it is fetched when no other has bytes any more, and until then after more and more heartbeats.
 */
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "protocol/script_job.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

/* A process that was not known, in state FETCHING unless it goes back at once; NULL: it is not taken up. */
static struct muster_process *accept_new(struct muster_worker *w, struct served *s, uint64_t token,
                                         enum process_kind kind)
{
    if (s->serving != SERVING)
        return NULL; /* it goes back with the rest when the queue is left */
    struct muster_process *p = process_add(w, s, token, kind);
    if (!p)
        return NULL;
    w->turns.found_nothing = false;
    if (p->mark)
        end_unstarted(p);
    return p;
}

/* `err` tells whether it has its bytes or its record by now. */
static void make_ready(struct muster_process *p, int err)
{
    struct muster_worker *w = p->worker;
    if (err == MUSTER_OK)
        err = outbox_item_keep(p);
    if (err == MUSTER_OK)
        err = limit_keep(p);
    if (err == MUSTER_OK && p->job && p->job->is_suspect)
        suspect_note(p);
    if (err != MUSTER_OK)
        process_free(p);
    else if (w->state == WORKER_WORKING)
        process_move(p, PROCESS_READY);
    else
        end_unstarted(p);
    round_due(w);
}

void accept_task(struct muster_worker *w, struct served *s, uint64_t token, struct muster_bytes task)
{
    if (process_find(w, token))
        return;
    struct muster_process *p = accept_new(w, s, token, PROCESS_TASK);
    if (p && process_is(p, LACKS_BYTES))
        make_ready(p, process_set_task(p, task));
}

static void accept_job(struct muster_worker *w, struct served *s, uint64_t token, const char *id,
                       const struct redisReply *record)
{
    if (process_find(w, token))
        return;
    struct muster_process *p = accept_new(w, s, token, PROCESS_JOB);
    if (p && process_is(p, LACKS_BYTES))
        make_ready(p, process_set_job(p, id, record));
}

static void accept_taken_task(struct muster_worker *w, struct served *s, const struct script_take *take, size_t k)
{
    uint64_t token = take->first_token + k;
    accept_task(w, s, token, reply_bytes(reply_at(take->tasks, k)));
    struct muster_process *p = take->is_suspect ? process_find(w, token) : NULL;
    if (p)
        suspect_note(p);
}

void accept_take(struct muster_worker *w, struct served *s, const struct script_take *take)
{
    if (take->job)
        accept_job(w, s, take->first_token, take->job, take->record);
    for (size_t k = 0; !take->job && k < reply_len(take->tasks); k++)
        if (reply_kind(reply_at(take->tasks, k)) == REPLY_TEXT)
            accept_taken_task(w, s, take, k);
}

/* ---- fetching ---- */

/* A task's bytes are read from the set. A job is fetched by a script, because the set has only its id. */
struct fetch {
    struct muster_worker *worker;
    uint64_t token;
    bool asks_length; /* first, and for the rest if that may be fetched */
};

/* E_NOT_FOUND: it was taken back meanwhile. */
static int read_task(struct muster_process *p, const struct redisReply *reply)
{
    int err = reply_err(reply);
    if (err != MUSTER_OK)
        return err;
    if (reply_kind(reply) == REPLY_NIL)
        return MUSTER_E_NOT_FOUND;
    return reply_kind(reply) == REPLY_TEXT ? process_set_task(p, reply_bytes(reply)) : MUSTER_E_REDIS;
}

static int read_fetched(struct muster_process *p, const struct redisReply *reply)
{
    const char *id;
    const struct redisReply *record;
    if (p->kind == PROCESS_TASK)
        return read_task(p, reply);
    int err = script_fetched(reply, &id, &record);
    return err == MUSTER_OK ? process_set_job(p, id, record) : err;
}

static bool fetch(struct muster_process *p);

/* An answer that has only the length, as was asked. False: it has more, or it was taken back. */
static bool hear_length(struct muster_process *p, const struct redisReply *reply)
{
    const struct redisReply *length = p->kind == PROCESS_JOB ? reply_at(reply, 1) : reply;
    bool is_length = p->kind == PROCESS_TASK || reply_status(reply) == MUSTER_E_TOO_BIG;
    if (!is_length || reply_kind(length) != REPLY_INTEGER)
        return false;
    if (too_large_task(p, reply_count(length)))
        return true;
    if (p->lacked_memory) /* anything does: the next heartbeat's count brings it back */
        tell_refused(p->worker, REQUEST_FETCH, MUSTER_E_NOMEM, NULL);
    if (p->lacked_memory || !fetch(p))
        process_free(p);
    return true;
}

static void on_fetched(const struct redisReply *reply, void *arg)
{
    struct fetch *f = arg;
    struct muster_worker *w = f->worker;
    struct muster_process *p = process_find(w, f->token);
    const bool asks_length = f->asks_length;
    free(f);
    if (p && process_is(p, LACKS_BYTES) && !reply)
        too_large_note_break(p);
    if (!reply || !p || !process_is(p, LACKS_BYTES) || (asks_length && hear_length(p, reply)))
        return;
    int err = read_fetched(p, reply);
    if (err == MUSTER_E_NOMEM && !asks_length && too_large_note_no_memory(p) && fetch(p))
        return; /* a record that has come although its length was asked for is small */
    too_large_fetched(p);
    if (err == MUSTER_OK)
        tell_accepted(w, REQUEST_FETCH);
    else if (err != MUSTER_E_NOT_FOUND)
        tell_refused(w, REQUEST_FETCH, err, reply_text(reply));
    make_ready(p, err); /* if it is this worker's after all, the next heartbeat's count brings it back */
}

static int send_fetch(struct muster_process *p, struct fetch *f)
{
    char key[KEY_MAX];
    struct muster_worker *w = p->worker;
    struct command c = COMMAND_EMPTY;
    int err;
    f->asks_length = too_large_must_measure(p);
    c.is_heavy = true;
    if (p->kind == PROCESS_JOB) {
        script_fetch(&c, &w->root, w->id, p->token_text, p->served->name, f->asks_length ? COMMAND_LARGE : 0);
        err = link_script(w->connection.data, &c, on_fetched, f);
    } else {
        size_t len = key_processing(key, w->prefix, w->id, p->served->name);
        command_text(&c, f->asks_length ? "HSTRLEN" : "HGET");
        command_bytes(&c, key, len);
        command_bytes(&c, p->token_text, TOKEN_LEN);
        err = link_call(w->connection.data, &c, on_fetched, f);
    }
    command_clear(&c);
    return err;
}

static bool fetch(struct muster_process *p)
{
    struct fetch *f = malloc(sizeof *f);
    if (!f)
        return false;
    f->worker = p->worker;
    f->token = p->token;
    if (send_fetch(p, f) == MUSTER_OK)
        return true;
    free(f);
    return false;
}

struct muster_process *accept_token(struct muster_worker *w, struct served *s, uint64_t token, enum process_kind kind)
{
    struct muster_process *p = process_find(w, token);
    if (!p && !w->stop.drain_is_over) /* after the drain it goes back with the rest */
        p = accept_new(w, s, token, kind);
    if (p && process_is(p, LACKS_BYTES) && p->fetch_in == 0 && !fetch(p)) {
        process_free(p); /* the next heartbeat's count, or the read-back of the next connection, brings it back */
        return NULL;
    }
    return p;
}

/* After so many more heartbeats. */
static void wait_less(struct muster_worker *w, unsigned n)
{
    struct muster_process *p, *next;
    for (p = process_first(w, LACKS_BYTES); p; p = next) {
        next = process_next(p, LACKS_BYTES);
        const bool is_due = p->fetch_in > 0 && p->fetch_in <= n;
        p->fetch_in -= is_due ? p->fetch_in : p->fetch_in > 0 ? n : 0;
        if (is_due && !fetch(p))
            process_free(p); /* as above */
    }
}

void accept_after_heartbeat(struct muster_worker *w)
{
    wait_less(w, 1);
}

void accept_go_on(struct muster_worker *w)
{
    if (!w->too_large.waits || !too_large_has_all_memory(w) || !connection_can_call(w))
        return;
    w->too_large.waits = false;
    wait_less(w, UINT_MAX);
}
