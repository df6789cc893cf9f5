/* SPDX-License-Identifier: MIT
 *
 * Waking: the messages on the worker's own channel, hints of foreign producers, and the read-back that makes up for
 * whatever messages were lost.
 *
 * Design notes
 *
 *   1. A hand-over puts a task into this worker's set and publishes its token. The set is the truth; the message only
 *      says so at once.
 *   2. Message or read-back, whichever comes first, brings the token into the table; the other one finds it there. It
 *      may have ended in between: so the read-back answers the last token N, and later messages up to N are dropped.
 *   3. A message that is lost is found by the read-back: after each confirmed subscription, each new data connection,
 *      and when the heartbeat's count differs.
 *   4. A read-back brings tokens only; tasks and jobs that are not known yet are fetched, as is a task too large for a
 *      message, and each job.
 *   5. In doubt a message is taken up like any other; nothing starts then anyway. Dropping it would lose the one that
 *   comes
 *      between the read-back that ends the doubt and its answer, until the next heartbeat, and with it the order.
 *   6. What was cancelled is told by a message too, and again with every heartbeat and read-back (marks.c).
 *   7. Messages of another epoch are of another life of this id: not ours.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

/* For foreign producers' announcements the worker takes at most once per so many ms. */
#define HINT_PAUSE_MS 10
/* What muster itself publishes there: its workers are handed their work. */
#define OWN_HINT "muster"
/* "T", "F" or "J", epoch, token, three digits for the length of the queue's name, the name, and after "T" the task. */
#define NAME_LEN_LEN 3
#define MESSAGE_HEAD (1 + 2 * TOKEN_LEN)
#define EPOCH_END (1 + TOKEN_LEN)

int wake_subscribe_queue(struct muster_worker *w, const char *queue)
{
    static const char *const heard[] = {CHANNEL_WORK, CHANNEL_CANCEL};
    char channel[KEY_MAX];
    int err = MUSTER_OK;
    for (size_t i = 0; i < sizeof heard / sizeof *heard && err == MUSTER_OK; i++) {
        channel_of(channel, w->prefix, queue, heard[i]);
        err = link_subscribe(w->subscription, channel);
    }
    return err;
}

int wake_subscribe(struct muster_worker *w)
{
    char channel[KEY_MAX];
    key_of(channel, w->prefix, KEY_WAKE, w->id);
    int err = link_subscribe(w->subscription, channel);
    for (size_t i = 0; err == MUSTER_OK && i < w->n_served; i++)
        if (w->served[i]->serving != LEFT)
            err = wake_subscribe_queue(w, w->served[i]->name);
    return err;
}

/* ---- fetching ---- */

/* A task's bytes are read from the set; a job, of which the set has but the id, by a script. */
struct fetch {
    struct muster_worker *worker;
    uint64_t token;
};

static void make_ready(struct muster_process *p)
{
    process_move(p, PROCESS_READY);
    process_dispatch(p->worker);
}

/* E_NOT_FOUND: it was taken back meanwhile. */
static int take_fetched(struct muster_process *p, const struct redisReply *reply)
{
    if (!p->is_job && reply_kind(reply) == REPLY_NIL)
        return MUSTER_E_NOT_FOUND;
    if (!p->is_job)
        return reply_kind(reply) == REPLY_TEXT ? process_set_task(p, reply_bytes(reply)) : reply_err(reply);
    const char *id;
    const struct redisReply *record;
    int err = script_fetched(reply, &id, &record);
    return err == MUSTER_OK ? process_set_job(p, id, record) : err;
}

static void on_fetched(const struct redisReply *reply, void *arg)
{
    struct fetch *f = arg;
    struct muster_worker *w = f->worker;
    struct muster_process *p = process_find(w, f->token);
    free(f);
    if (!reply || !p || p->state != PROCESS_FETCHING)
        return;
    int err = take_fetched(p, reply);
    if (err == MUSTER_OK) {
        worker_accepted(w, SAID_FETCH);
        make_ready(p);
        return;
    }
    if (err != MUSTER_E_NOT_FOUND)
        worker_refused(w, SAID_FETCH, err, reply_text(reply));
    process_free(p); /* should it be this worker's still, the next heartbeat's count brings it back */
}

static int send_fetch(struct muster_process *p, struct fetch *f)
{
    char key[KEY_MAX];
    struct muster_worker *w = p->worker;
    struct command c = COMMAND_EMPTY;
    int err;
    if (p->is_job) {
        script_fetch(&c, &w->root, w->id, p->token_text, p->served->name);
        err = link_script(w->data, &c, on_fetched, f);
    } else {
        size_t len = key_processing(key, w->prefix, w->id, p->served->name);
        command_text(&c, "HGET");
        command_bytes(&c, key, len);
        command_bytes(&c, p->token_text, TOKEN_LEN);
        err = link_call(w->data, &c, on_fetched, f);
    }
    command_clear(&c);
    return err;
}

static void fetch(struct muster_process *p)
{
    struct fetch *f = malloc(sizeof *f);
    if (!f)
        return;
    f->worker = p->worker;
    f->token = p->token;
    if (send_fetch(p, f) != MUSTER_OK)
        free(f); /* the read-back of the next connection fetches it */
}

/* ---- messages ---- */

struct hand_over {
    uint64_t token;
    struct served *served;
    struct muster_bytes task;
};

/* Reads what follows the epoch; 0 if it is malformed or of a queue that is not served. */
static int parse(struct muster_worker *w, const char *text, size_t len, struct hand_over *out)
{
    size_t name_len = 0;
    if (len < MESSAGE_HEAD + NAME_LEN_LEN || token_parse(text + 1 + TOKEN_LEN, TOKEN_LEN, &out->token) != MUSTER_OK)
        return 0;
    for (size_t i = 0; i < NAME_LEN_LEN; i++) {
        char digit = text[MESSAGE_HEAD + i];
        if (digit < '0' || digit > '9')
            return 0;
        name_len = name_len * 10 + (size_t)(digit - '0');
    }
    size_t head = MESSAGE_HEAD + NAME_LEN_LEN + name_len;
    if (len < head)
        return 0;
    out->served = serve_find(w, text + MESSAGE_HEAD + NAME_LEN_LEN, name_len);
    out->task = (struct muster_bytes){text + head, len - head};
    return out->served != NULL && out->served->serving == SERVING && out->token > out->served->dropped_upto;
}

static void handed_over(struct muster_worker *w, const char *text, size_t len)
{
    struct hand_over h;
    if (!parse(w, text, len, &h) || h.token <= w->dropped_upto || process_find(w, h.token) || w->drain_over)
        return; /* at the end of a drain it goes back with the rest */
    struct muster_process *p = process_add(w, h.served, h.token);
    if (!p)
        return;
    p->is_job = *text == 'J';
    trace_line(TRACE_WAKE, "handed over: process %s of %s, %zu bytes%s", p->token_text, h.served->name, h.task.len,
               *text != 'T' ? " (to be fetched)" : "");
    if (w->state == WORKER_DRAINING || p->mark)
        process_give_back(p);
    else if (*text != 'T')
        fetch(p);
    else if (process_set_task(p, h.task) != MUSTER_OK)
        process_free(p); /* the next heartbeat's count brings it back */
    else
        make_ready(p);
}

/* Tokens that follow each other without anything between. */
static void marked(struct muster_worker *w, const char *text, size_t len, enum mark mark)
{
    uint64_t token;
    for (size_t at = EPOCH_END; at + TOKEN_LEN <= len; at += TOKEN_LEN)
        if (token_parse(text + at, TOKEN_LEN, &token) == MUSTER_OK)
            marks_note(w, token, mark);
}

static void own_message(struct muster_worker *w, const char *text, size_t len)
{
    uint64_t token;
    if (w->state != WORKER_WORKING && w->state != WORKER_DRAINING)
        return;
    if (len < EPOCH_END || memcmp(text + 1, w->who.epoch, TOKEN_LEN) != 0)
        return;
    if (*text == 'C' || *text == 'D')
        marked(w, text, len, *text == 'C' ? MARK_CANCELLED : MARK_DELETED);
    else if (*text == 'R')
        wake_read_back(w); /* somebody else has ended one of its processes */
    else if (*text == 'E' && len >= MESSAGE_HEAD && token_parse(text + 1 + TOKEN_LEN, TOKEN_LEN, &token) == MUSTER_OK)
        heartbeat_echo(w, token);
    else if (*text == 'S')
        timer_keeper_sooner(w); /* something is due earlier than it knows of */
    else if (*text == 'T' || *text == 'F' || *text == 'J')
        handed_over(w, text, len);
}

static void hint(struct muster_worker *w, const char *channel)
{
    int64_t wait_ms = w->last_hint_ms + HINT_PAUSE_MS - clock_ms();
    trace_line(TRACE_WAKE, "a foreign producer announces work on %s", channel);
    if (wait_ms > 0) {
        if (!evtimer_pending(w->work_timer, NULL))
            timer_after_ms(w->work_timer, wait_ms);
        return;
    }
    w->last_hint_ms = clock_ms();
    turn_hungry(w);
}

/* The queue that a channel is of, if it is one of these announcements, and it is served. */
static struct served *queue_of(struct muster_worker *w, const char *channel, const char *what)
{
    size_t prefix = strlen(w->prefix), len = strlen(channel), tail = strlen(what);
    if (len <= prefix + tail + 2 || strcmp(channel + len - tail, what) != 0)
        return NULL;
    struct served *s = serve_find(w, channel + prefix + 1, len - prefix - tail - 2);
    return s && s->serving == SERVING ? s : NULL;
}

static void on_work_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    w->last_hint_ms = clock_ms();
    turn_hungry(w);
}

void wake_message(struct muster_worker *w, const char *channel, struct muster_bytes message)
{
    char own[KEY_MAX];
    w->last_message_ms = clock_ms();
    key_of(own, w->prefix, KEY_WAKE, w->id);
    if (strcmp(channel, own) == 0) {
        own_message(w, message.data, message.len);
        return;
    }
    struct served *cancelled_in = queue_of(w, channel, CHANNEL_CANCEL);
    if (cancelled_in)
        worker_tell_of(w, MUSTER_EVENT_CANCEL, cancelled_in->name, message);
    else if (queue_of(w, channel, CHANNEL_WORK) &&
             (message.len != strlen(OWN_HINT) || memcmp(message.data, OWN_HINT, message.len) != 0))
        hint(w, channel);
}

/* ---- read-back ---- */

struct found {
    uint64_t token;
    int is_job;
    struct served *served;
};

static int by_token(const void *a, const void *b)
{
    uint64_t left = ((const struct found *)a)->token, right = ((const struct found *)b)->token;
    return left < right ? -1 : left > right;
}

/* A process' field in its set: its token; a job's has a "j" before it. */
static int read_field(struct found *out, struct muster_bytes field, struct served *s)
{
    const char *text = field.data;
    out->is_job = field.len == 1 + TOKEN_LEN && *text == 'j';
    out->served = s;
    return text ? token_parse(text + out->is_job, field.len - (size_t)out->is_job, &out->token) : MUSTER_E_INVALID;
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
            *n += read_field(&found[*n], reply_bytes(reply_at(tokens, k)), s) == MUSTER_OK;
    }
    if (found)
        qsort(found, *n, sizeof *found, by_token);
    return found;
}

static void take_up(struct muster_worker *w, const struct found *found)
{
    struct muster_process *p = process_find(w, found->token);
    int is_new = p == NULL;
    if (!p && (w->drain_over || !(p = process_add(w, found->served, found->token))))
        return;
    p->seen = w->read_count;
    p->is_job = found->is_job;
    if (is_new)
        trace_line(TRACE_WAKE, "read back: process %s of %s", p->token_text, found->served->name);
    if (p->state == PROCESS_FETCHING && (w->state == WORKER_DRAINING || p->mark))
        process_give_back(p);
    else if (p->state == PROCESS_FETCHING)
        fetch(p);
}

/* What Redis did not name is not this worker's any more, as far as its token is one that Redis had drawn by then. */
static void let_go(struct muster_worker *w)
{
    for (int state = PROCESS_FETCHING; state <= PROCESS_READY; state++) {
        struct muster_process *p, *next;
        for (p = TAILQ_FIRST(&w->lists[state]); p; p = next) {
            next = TAILQ_NEXT(p, in_list);
            if (p->seen != w->read_count && p->token <= w->dropped_upto)
                process_free(p);
        }
    }
    struct muster_process *ended;
    TAILQ_FOREACH(ended, &w->lists[PROCESS_ENDED], in_list)
        if (ended->seen != w->read_count && ended->token <= w->dropped_upto)
            ended->sent_before = 1; /* somebody else ended it: its end must not spoil those said together with it */
    for (size_t n = w->counts[PROCESS_RUNNING]; n > 0 && !TAILQ_EMPTY(&w->lists[PROCESS_RUNNING]); n--) {
        struct muster_process *p = TAILQ_FIRST(&w->lists[PROCESS_RUNNING]);
        process_move(p, PROCESS_RUNNING); /* to the end: the program may end any of them when it is told */
        if (p->seen != w->read_count && p->token <= w->dropped_upto)
            process_tell_stop(p, MUSTER_STOP_LOST);
    }
}

static void read_back(struct muster_worker *w, const struct redisReply *reply, const struct script_read *read)
{
    size_t n;
    int is_new_connection = !w->synced;
    struct found *found = list_found(w, reply, read->n_queues, &n);
    if (!found) {
        heartbeat_retry(w);
        return;
    }
    trace_line(TRACE_WAKE, "read back: %zu processes, last token known to Redis is %llu", n,
               (unsigned long long)read->last_token);
    worker_accepted(w, SAID_READBACK);
    w->synced = 1;
    if (w->heard.token <= read->last_token)
        w->heard.waits = 0; /* this settles it; its echo may have been published before the subscription */
    marks_list(w, read->marks);
    w->read_count++;
    if (read->last_token > w->dropped_upto)
        w->dropped_upto = read->last_token;
    for (size_t i = 0; i < n; i++)
        take_up(w, &found[i]);
    free(found);
    let_go(w);
    if (w->unfence_after) {
        w->unfence_after = 0;
        heartbeat_unfence(w);
    }
    serve_announce(w);
    turn_hungry(w); /* goes on with queues that are being left, too */
    if (is_new_connection)
        heartbeat_now(w);
    if (w->state == WORKER_LEAVING)
        heartbeat_leave(w);
}

static void on_read_back(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_read read;
    int again = w->read_again;
    w->reading = w->read_again = 0;
    if (!reply || !worker_is_registered(w) || w->state == WORKER_STOPPED)
        return;
    int err = script_read(reply, &read);
    if (err == MUSTER_E_GONE) {
        heartbeat_gone(w);
    } else if (err == MUSTER_E_STATE) {
        w->who.conn++; /* a later connection is known: go beyond it */
        wake_read_back(w);
    } else if (again) {
        wake_read_back(w); /* asked for since, maybe under a new connection number: only that answer counts */
    } else if (err == MUSTER_OK) {
        read_back(w, reply, &read);
    } else {
        worker_refused(w, SAID_READBACK, err, reply_text(reply));
        heartbeat_retry(w);
    }
}

void wake_read_back(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (!worker_is_registered(w) || !link_is_up(w->data) || w->state == WORKER_STOPPED)
        return; /* a new data connection begins with one */
    if (w->reading) {
        w->read_again = 1;
        return;
    }
    script_readback(&c, &w->root, &w->who);
    w->reading = link_script(w->data, &c, on_read_back, w) == MUSTER_OK;
    command_clear(&c);
    if (!w->reading)
        heartbeat_retry(w);
}

int wake_new_events(struct muster_worker *w)
{
    w->work_timer = evtimer_new(w->base, on_work_timer, w);
    return w->work_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}
