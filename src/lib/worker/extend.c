/* SPDX-License-Identifier: MIT
 *
 * A progress note, or new data of a job, goes to Redis at once, before the process ends, in a call of its own. Nobody
 * waits for the answer: a refusal is told once, and the next note says more than the last one.
 */
#include "base/log.h"
#include "protocol/script_task.h"
#include "worker/worker.h"

static void apply_answer(struct muster_worker *w, enum request request, const struct redisReply *reply)
{
    int err = reply_status(reply);
    if (err == MUSTER_OK)
        tell_accepted(w, request);
    else if (reply && err != MUSTER_E_LOST && err != MUSTER_E_STATE && w->state != WORKER_STOPPED)
        tell_refused(w, request, err, reply_text(reply));
}

static void on_noted(const struct redisReply *reply, void *arg)
{
    apply_answer(arg, REQUEST_NOTE, reply);
}

static void on_data_set(const struct redisReply *reply, void *arg)
{
    apply_answer(arg, REQUEST_DATA, reply);
}

/* `note` or `data`. It must reach Redis before the end that may follow it. */
static void send_extend(struct muster_process *p, const char *note, const struct muster_bytes *data)
{
    struct muster_worker *w = p->worker;
    struct command c = COMMAND_EMPTY;
    if (p->is_disowned || !connection_can_call(w))
        return;
    script_extend(&c, &w->root, w->id, p->token_text, p->served->name, 0, note, data);
    if (link_script_in_order(w->connection.data, &c, note ? on_noted : on_data_set, w) != MUSTER_OK)
        trace_line(TRACE_STATE, "process %s: %s not sent", p->token_text,
                   note ? "its progress note was" : "its job's new data was");
    command_clear(&c);
}

void extend_note(struct muster_process *p, const char *note)
{
    send_extend(p, note, NULL);
}

void extend_data(struct muster_process *p, struct muster_bytes data)
{
    send_extend(p, NULL, &data);
}
