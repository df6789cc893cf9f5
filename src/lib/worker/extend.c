/* SPDX-License-Identifier: MIT
 *
 * A progress note, or new data of a job, goes to Redis at once, before the process ends, in a call of its own.
 *
 * A note is sent once: a refusal is told, and the next note says more than the last one. Of those that come while one is
 * under way the newest goes next: who notes all the time fills no memory while Redis stands still. Data are kept until Redis has
 * them, or newer ones, and the process' end follows them (follow.c): what a retry finds is what its forerunner has left.
 * One call of a process is under way at a time. Without an answer they are due again when the next connection was read
 * back, and what is refused after the next heartbeat. A process that must not wait for that, because its worker or
 * queue is left, goes back: it begins from older data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "protocol/names.h"
#include "protocol/script_task.h"
#include "protocol/size_limit.h"
#include "worker/worker.h"

struct asked {
    struct muster_worker *worker;
    struct life life;
    uint64_t token;
    uint64_t number; /* of the data */
};

static bool send_extend(struct muster_process *p, const char *note, const struct muster_bytes *data, link_reply_fn *fn)
{
    struct muster_worker *w = p->worker;
    struct command c = COMMAND_EMPTY;
    struct asked *a = malloc(sizeof *a);
    if (!a)
        return false;
    *a = (struct asked){.worker = w, .token = p->token, .number = p->data_number};
    a->life = registration_life(w);
    script_extend(&c, &w->root, w->id, p->token_text, p->served->name, 0, note, data);
    bool is_sent = link_script_in_order(w->connection.data, &c, fn, a) == MUSTER_OK;
    command_clear(&c);
    if (!is_sent)
        free(a);
    return is_sent;
}

/* NULL: it is gone, or was of another life. */
static struct muster_process *process_of(const struct asked *a)
{
    struct muster_worker *w = a->worker;
    return w->state == WORKER_STOPPED || !registration_is_life(w, &a->life) ? NULL : process_find(w, a->token);
}

/* ---- notes ---- */

static void send_note(struct muster_process *p, const char *note);

/* The newest of those that came meanwhile. */
static void note_again(struct muster_process *p)
{
    char *note = p->next_note;
    p->next_note = NULL;
    p->is_note_sent = false;
    if (note && process_is(p, IS_RUNNING) && connection_can_call(p->worker))
        send_note(p, note);
    free(note);
}

static void on_noted(const struct redisReply *reply, void *arg)
{
    const struct asked a = *(struct asked *)arg;
    struct muster_worker *w = a.worker;
    int err = reply_status(reply);
    free(arg);
    if (err == MUSTER_OK)
        tell_accepted(w, REQUEST_NOTE);
    else if (reply && err != MUSTER_E_LOST && err != MUSTER_E_STATE && w->state != WORKER_STOPPED)
        tell_refused(w, REQUEST_NOTE, err, reply_text(reply));
    struct muster_process *p = process_of(&a);
    if (p)
        note_again(p);
}

static void send_note(struct muster_process *p, const char *note)
{
    p->is_note_sent = send_extend(p, note, NULL, on_noted);
    if (!p->is_note_sent)
        trace_line(TRACE_STATE, "process %s: its progress note was not sent", p->token_text);
}

void extend_note(struct muster_process *p, const char *note)
{
    if (p->is_disowned || !connection_can_call(p->worker))
        return;
    if (!p->is_note_sent) {
        send_note(p, note);
        return;
    }
    free(p->next_note);
    p->next_note = strdup(note);
}

/* ---- data ---- */

bool extend_is_refused(const struct muster_process *p)
{
    return p->data && p->data_stage == DATA_REFUSED;
}

bool extend_holds(const struct muster_process *p)
{
    return p->data && !(extend_is_refused(p) && end_is_leaving(p));
}

void extend_settle(struct muster_process *p)
{
    if (p->outcome == MUSTER_GIVE_BACK)
        return;
    if (p->data) {
        p->outcome = MUSTER_GIVE_BACK;
    } else if (p->data_too_large > 0) {
        too_large_set_failure(p, LARGE_DATA, p->data_too_large);
        p->outcome = MUSTER_FAIL;
    }
}

static void be_due(struct muster_process *p)
{
    p->data_stage = DATA_DUE;
    p->worker->is_data_due = true;
    round_due(p->worker);
}

/* Redis has them, or must not have them any more. */
static void let_go(struct muster_process *p)
{
    free(p->data);
    p->data = NULL;
    p->data_stage = DATA_DUE;
    p->n_data_breaks = 0;
    round_due(p->worker);
}

/* The process fails when it ends, unless smaller ones come: inside the callback that is told, perhaps. */
static void give_up(struct muster_process *p)
{
    p->data_too_large = p->data_len;
    let_go(p);
    too_large_tell(p, LARGE_DATA, p->data_too_large);
}

static void refused(struct muster_process *p, int err, const char *text)
{
    p->data_stage = DATA_REFUSED;
    round_due(p->worker);
    tell_refused(p->worker, REQUEST_DATA, err, text);
}

/* Cancelled meanwhile, or in other hands: they are nobody's. */
static bool is_settled(int err)
{
    return err == MUSTER_OK || err == MUSTER_E_LOST || err == MUSTER_E_STATE;
}

/* What has become of the job's record is no affair of this worker's; but these data were to be in it. */
static void tell_no_record(struct muster_process *p)
{
    char line[MUSTER_JOB_ID_MAX + 80];
    snprintf(line, sizeof line, "the record of the job '%s' is gone, or no longer says that it runs here",
             p->job->job.id);
    tell_refused(p->worker, REQUEST_DATA, MUSTER_E_STATE, line);
}

static void apply(struct muster_process *p, const struct redisReply *reply)
{
    struct muster_worker *w = p->worker;
    int err = reply ? reply_status(reply) : MUSTER_E_CONN;
    if (err == MUSTER_E_TOO_BIG || (!reply && too_large_request(w, w->connection.data, p->data_len, &p->n_data_breaks)))
        give_up(p);
    else if (!reply)
        be_due(p);
    else if (is_settled(err))
        let_go(p);
    else
        refused(p, err, reply_text(reply));
    if (err == MUSTER_E_STATE && reply_is(reply_at(reply, 1), "r"))
        tell_no_record(p);
    if (err == MUSTER_OK)
        tell_accepted(w, REQUEST_DATA);
}

static void on_data_set(const struct redisReply *reply, void *arg)
{
    const struct asked a = *(struct asked *)arg;
    struct muster_process *p = process_of(&a);
    free(arg);
    if (p && p->data && p->data_number == a.number)
        apply(p, reply);
    else if (p && p->data)
        be_due(p); /* newer ones have come */
}

static void send_data(struct muster_process *p)
{
    const struct muster_bytes data = {p->data, p->data_len};
    if (send_extend(p, NULL, &data, on_data_set)) {
        p->data_stage = DATA_SENT;
        return;
    }
    p->worker->is_data_due =
        true; /* the program may end any process when it is told, and then others are not looked at */
    refused(p, MUSTER_E_NOMEM, NULL);
}

void extend_data(struct muster_process *p, struct muster_bytes data)
{
    free(p->data);
    p->data = (char *)data.data;
    p->data_len = data.len;
    p->data_number++;
    p->data_too_large = 0;
    if (p->data_stage != DATA_SENT) /* its answer comes first */
        be_due(p);
}

void extend_go_on(struct muster_worker *w)
{
    struct muster_process *p;
    if (!w->is_data_due || !connection_can_call(w))
        return;
    w->is_data_due = false;
    PROCESS_EACH(p, w, IS_RUNNING | IS_HELD) {
        if (p->data && p->data_stage == DATA_DUE && !p->is_disowned)
            send_data(p);
    }
}

void extend_try_again(struct muster_worker *w)
{
    struct muster_process *p;
    PROCESS_EACH(p, w, IS_RUNNING | IS_HELD)
        if (extend_is_refused(p))
            be_due(p);
}
