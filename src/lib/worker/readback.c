/* SPDX-License-Identifier: MIT
 *
 * The read-back: Redis names every process that is this worker's, which makes up for whatever messages and answers were
 * lost. It comes first on each new data connection, under a higher connection number; after each confirmed
 * subscription; and when the heartbeat's count differs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

struct found {
    uint64_t token;
    enum process_kind kind;
    bool is_suspect;
    struct served *served;
};

static int by_token(const void *a, const void *b)
{
    uint64_t left = ((const struct found *)a)->token, right = ((const struct found *)b)->token;
    return left < right ? -1 : left > right;
}

/* Its token; a job's has a "j" before it, that of a task which is a suspect an "s". */
static bool read_field(struct found *out, struct muster_bytes field, struct served *s)
{
    const char *text = field.data;
    bool has_kind = field.len == 1 + TOKEN_LEN && (*text == 'j' || *text == 's');
    out->kind = has_kind && *text == 'j' ? PROCESS_JOB : PROCESS_TASK;
    out->is_suspect = has_kind && *text == 's';
    out->served = s;
    return text && token_parse(text + has_kind, field.len - has_kind, &out->token) == MUSTER_OK;
}

/* All processes that Redis says are this worker's, oldest first; the caller frees. NULL if memory ran out. */
static struct found *list_found(struct muster_worker *w, const struct redisReply *reply, size_t n_queues, size_t *n)
{
    size_t most = 1;
    const struct redisReply *tokens;
    for (size_t i = 0; i < n_queues; i++) {
        script_read_queue(reply, i, &tokens);
        most += reply_len(tokens);
    }
    struct found *found = calloc(most, sizeof *found);
    *n = 0;
    for (size_t i = 0; found && i < n_queues; i++) {
        const char *queue = script_read_queue(reply, i, &tokens);
        struct served *s = queue ? serve_find(w, queue, strlen(queue)) : NULL;
        for (size_t k = 0; s && s->serving == SERVING && k < reply_len(tokens); k++)
            *n += read_field(&found[*n], reply_bytes(reply_at(tokens, k)), s);
    }
    if (found)
        qsort(found, *n, sizeof *found, by_token);
    return found;
}

static void accept_found(struct muster_worker *w, const struct found *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_new = !process_find(w, found[i].token);
        struct muster_process *p = accept_token(w, found[i].served, found[i].token, found[i].kind);
        if (!p)
            continue;
        p->last_readback = w->readback.count;
        p->may_have_counted = false; /* what a former connection still brings is refused */
        if (found[i].is_suspect)
            suspect_note(p);
        if (is_new)
            trace_line(TRACE_WAKE, "read back: process %s of %s", p->token_text, p->served->name);
    }
}

/* Redis did not name it: it is not this worker's any more, unless it came after the answer. */
static bool was_not_named(const struct muster_process *p, const void *arg)
{
    const uint64_t *named_upto = arg;
    return p->last_readback != p->worker->readback.count && p->token <= *named_upto;
}

static void let_go(struct muster_worker *w, uint64_t named_upto)
{
    struct muster_process *p, *next;
    dispatch_call_off(w);
    for (p = process_first(w, IS_UNTOUCHED); p; p = next) {
        next = process_next(p, IS_UNTOUCHED);
        if (was_not_named(p, &named_upto))
            process_free(p);
    }
    PROCESS_EACH(p, w, IS_HELD | IS_DUE | IS_REFUSED)
        if (was_not_named(p, &named_upto))
            p->sent_before = true; /* somebody else ended it: its end must not spoil those sent together with it */
    process_tell_running(w, MUSTER_STOP_LOST, was_not_named, &named_upto);
}

/* Its tokens may be lower than those of the server before: of that one nothing counts any more. */
static void forget_tokens(struct muster_worker *w)
{
    heartbeat_forget(w);
    for (size_t i = 0; i < w->n_served; i++)
        w->served[i]->dropped_upto = 0;
}

/* What a Redis that came back older hands over there is nobody's here, and would take up hands for ever. */
static void leave_what_was_left(struct muster_worker *w, const struct redisReply *reply, size_t n_queues)
{
    const struct redisReply *tokens;
    for (size_t i = 0; w->state == WORKER_WORKING && i < n_queues; i++) {
        const char *queue = script_read_queue(reply, i, &tokens);
        struct served *s = queue ? serve_find(w, queue, strlen(queue)) : NULL;
        if (s && s->serving == LEFT && reply_len(tokens) > 0)
            leave_again(w, s);
    }
}

static void begin_connection(struct muster_worker *w)
{
    connection_accepted(w); /* Redis has written the connection's number */
    serve_say_again(w);
    resume_begin_again(w);
    forget_tokens(w);
    if (link_room(w->connection.data) > 1)
        return;
    /* What is fetched goes alone then, and may end this connection as well: so it is shown first that the worker lives. */
    serve_announce(w);
    heartbeat_now(w);
}

static void apply(struct muster_worker *w, const struct redisReply *reply, const struct script_read *read, bool is_deaf)
{
    size_t n;
    struct readback *r = &w->readback;
    bool is_new_connection = !w->connection.is_read_back;
    uint64_t n_taken = figures_read(&w->figures.taken);
    struct found *found = list_found(w, reply, read->n_queues, &n);
    if (!found) {
        heartbeat_retry(w);
        return;
    }
    trace_line(TRACE_WAKE, "read back: %zu processes, last token known to Redis is %llu", n,
               (unsigned long long)read->last_token);
    tell_accepted(w, REQUEST_READBACK);
    w->connection.is_read_back = true;
    if (is_new_connection)
        begin_connection(w);
    heartbeat_settle_echo(w, read->last_token);
    marks_note_list(w, read->marks);
    r->count++;
    r->last_token = read->last_token;
    accept_found(w, found, n);
    figures_add(&w->figures.readbacks, 1);
    figures_add(&w->figures.readbacks_found, figures_read(&w->figures.taken) > n_taken);
    free(found);
    let_go(w, is_deaf ? UINT64_MAX : read->last_token);
    if (r->ends_doubt) {
        r->ends_doubt = false;
        fence_open(w);
    }
    resume_apply_readback(w);
    leave_what_was_left(w, reply, read->n_queues);
    serve_announce(w);
    turn_want_take(w); /* the round that follows goes on with queues that are being left, too */
    if (is_new_connection || pair_should_ask(&w->connection.pair))
        heartbeat_now(w);
    if (w->state == WORKER_LEAVING)
        registration_end(w);
}

/* A later connection is known. Where the number says nothing, a server that always refuses is not asked in a tight loop. */
static void go_beyond(struct muster_worker *w, uint64_t known)
{
    const bool is_later = known > w->caller.conn;
    w->caller.conn = (is_later ? known : w->caller.conn) + 1;
    if (is_later)
        readback_ask(w);
    else
        heartbeat_retry(w);
}

struct asked {
    struct muster_worker *worker;
    struct life life;
    bool is_deaf; /* nothing comes before its answer: no take was asked for, and no message counts */
};

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct asked *a = arg;
    struct muster_worker *w = a->worker;
    struct script_read read;
    bool is_old = !registration_is_life(w, &a->life), is_deaf = a->is_deaf;
    free(a);
    if (is_old)
        return; /* of a former life */
    bool again = w->readback.again;
    w->readback.in_flight = w->readback.again = false;
    if (!reply || !registration_is_there(w) || w->state == WORKER_STOPPED)
        return;
    int err = script_read(reply, &read);
    if (err == MUSTER_OK)
        ended_note_list(w, read.own_ends); /* told once, so also by an answer that does not count otherwise */
    if (err == MUSTER_E_GONE) {
        registration_gone(w);
    } else if (err == MUSTER_E_STATE) {
        go_beyond(w, reply_count(reply_at(reply, 1)));
    } else if (again) {
        readback_ask(w); /* asked for since, maybe under a new connection number: only that answer counts */
    } else if (err == MUSTER_OK) {
        apply(w, reply, &read, is_deaf);
    } else {
        tell_refused(w, REQUEST_READBACK, err, reply_text(reply));
        heartbeat_retry(w);
    }
}

void readback_ask(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    struct readback *r = &w->readback;
    if (!registration_is_there(w) || !link_is_up(w->connection.data) || w->state == WORKER_STOPPED)
        return; /* a new data connection begins with one */
    if (r->in_flight) {
        r->again = true;
        return;
    }
    struct asked *a = malloc(sizeof *a);
    if (a) {
        *a = (struct asked){.worker = w};
        a->is_deaf = !w->connection.is_read_back && !w->connection.pair.is_here;
        a->life = registration_life(w);
        script_readback(&c, &w->root, &w->caller);
        r->in_flight = link_script(w->connection.data, &c, on_answer, a) == MUSTER_OK;
    }
    command_clear(&c);
    if (r->in_flight)
        return;
    free(a);
    heartbeat_retry(w);
}

void readback_ask_in_doubt(struct muster_worker *w)
{
    w->readback.ends_doubt = true;
    readback_ask(w);
}

void readback_forget(struct muster_worker *w)
{
    w->readback.in_flight = w->readback.again = w->readback.ends_doubt = false;
    w->readback.last_token = 0;
}
