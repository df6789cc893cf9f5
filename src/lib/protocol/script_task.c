/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry tasks. The header of each .lua file is the contract of its functions here.
 */
#include "protocol/script_task.h"

#include <stdio.h>
#include <string.h>

#include "protocol/script_private.h"

void script_enqueue(struct command *c, const struct script_root *root, const struct script_enqueue *e)
{
    script_begin(c, SCRIPT_ENQUEUE, root);
    command_text(c, e->queue);
    script_add_flag(c, e->front);
    command_text(c, e->request_id ? e->request_id : "");
    command_number(c, (int64_t)e->chunk);
    command_number(c, (int64_t)e->of);
    for (size_t i = 0; i < e->n; i++)
        command_bytes(c, e->tasks[i].data, e->tasks[i].len);
}

/* ---- ends ---- */

void script_end_group(struct command *c, const char *kind, const char *queue, size_t n)
{
    command_text(c, kind);
    command_text(c, queue);
    command_number(c, (int64_t)n);
}

void script_end_result(struct command *c, const char *queue, const char *token, struct muster_bytes result)
{
    command_text(c, "result");
    command_text(c, queue);
    command_text(c, token);
    command_bytes(c, result.data, result.len);
}

void script_end_done(struct command *c, const char *queue, const char *token)
{
    command_text(c, "done");
    command_text(c, queue);
    command_text(c, token);
}

void script_end_next(struct command *c, const char *queue, const char *token, const struct script_next *next)
{
    command_text(c, "next");
    command_text(c, queue);
    command_text(c, token);
    script_add_flag(c, next->result != NULL);
    command_bytes(c, next->result ? next->result->data : "", next->result ? next->result->len : 0);
    command_text(c, next->queue);
    command_number(c, next->delay_ms);
    command_text(c, next->after);
}

void script_end_retry(struct command *c, const char *queue, const char *token, int64_t delay_ms, const char *group,
                      const char *message)
{
    command_text(c, "retry");
    command_text(c, queue);
    command_text(c, token);
    if (delay_ms >= 0)
        command_number(c, delay_ms);
    else
        command_text(c, "");
    command_text(c, group ? group : "");
    command_text(c, message ? message : "");
}

void script_end_move(struct command *c, const char *queue, const char *token, const char *move)
{
    command_text(c, "move");
    command_text(c, queue);
    command_text(c, token);
    command_text(c, move);
}

void script_end_fail(struct command *c, const char *queue, const char *token, const char *group, const char *message)
{
    command_text(c, "fail");
    command_text(c, queue);
    command_text(c, token);
    command_text(c, group);
    command_text(c, message);
}

void script_end(struct command *c, const struct script_root *root, const char *worker)
{
    script_begin(c, SCRIPT_END, root);
    command_text(c, worker);
}

void script_end_more(struct command *c, const char *worker)
{
    command_text(c, worker);
}

#define SEVERAL_HEAD 1
#define SEVERAL_ONE 2

size_t script_several(const struct redisReply *r)
{
    return reply_len(r) > SEVERAL_HEAD ? (reply_len(r) - SEVERAL_HEAD) / SEVERAL_ONE : 0;
}

int script_one_of(const struct redisReply *r, size_t i, int *status, const char **word)
{
    const struct redisReply *one = reply_at(r, SEVERAL_HEAD + i * SEVERAL_ONE);
    const char *text = reply_text(reply_at(r, SEVERAL_HEAD + i * SEVERAL_ONE + 1));
    long long number = reply_integer(one);
    if (reply_kind(one) != REPLY_INTEGER || !text || number > 0 || number < MUSTER_E_EXHAUSTED)
        return MUSTER_E_REDIS;
    *status = (int)number;
    *word = *text ? text : NULL;
    return MUSTER_OK;
}

/* ---- leases ---- */

void script_take(struct command *c, const struct script_root *root, const struct script_take_lease *take)
{
    script_begin(c, SCRIPT_TAKE, root);
    command_text(c, take->queue);
    command_number(c, (int64_t)take->n);
    command_number(c, take->lease_ms);
    command_number(c, take->wait);
    command_text(c, take->call ? take->call : "");
    command_number(c, take->waited_ms);
    command_text(c, take->holder ? take->holder : "");
    command_number(c, (int64_t)take->held_back);
}

#define LEASED_HEAD 6
#define LEASED_ONE 3

int script_leased(const struct redisReply *r, size_t most, struct script_leased *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    out->next_due_ms = script_read_number(reply_at(r, 1));
    out->ends_at_ms = script_read_number(reply_at(r, 2));
    out->tasks = reply_at(r, 4);
    out->is_more = reply_integer(reply_at(r, 5)) == 1;
    out->first_token = 0;
    out->n_more = reply_len(r) > LEASED_HEAD ? (reply_len(r) - LEASED_HEAD) / LEASED_ONE : 0;
    if (script_leased_len(out) > most)
        return MUSTER_E_REDIS;
    return reply_len(out->tasks) > 0 ? script_read_token(reply_at(r, 3), &out->first_token) : MUSTER_OK;
}

size_t script_leased_len(const struct script_leased *leased)
{
    return reply_len(leased->tasks) + leased->n_more;
}

int script_leased_one(const struct redisReply *r, const struct script_leased *leased, size_t i,
                      struct script_leased_one *out)
{
    const size_t n = reply_len(leased->tasks), at = LEASED_HEAD + (i - n) * LEASED_ONE;
    const bool is_task = i < n || reply_is(reply_at(r, at + 1), "");
    const struct redisReply *what = i < n ? reply_at(leased->tasks, i) : reply_at(r, at + 2);
    *out = (struct script_leased_one){.token = leased->first_token + i,
                                      .job = is_task ? NULL : reply_text(reply_at(r, at + 1)),
                                      .task = reply_bytes(what),
                                      .record = what,
                                      .held_back = reply_kind(what) == REPLY_INTEGER ? reply_count(what) : 0};
    if (out->held_back == 0 && reply_kind(what) != (is_task ? REPLY_TEXT : REPLY_LIST))
        return MUSTER_E_REDIS;
    return i < n ? MUSTER_OK : script_read_token(reply_at(r, at), &out->token);
}

/* As the inline piece `record_bytes`. */
static uint64_t record_bytes(const struct redisReply *flat)
{
    uint64_t n = 0;
    for (size_t i = 1; i < reply_len(flat); i += 2) {
        const size_t len = reply_bytes(reply_at(flat, i)).len;
        n += len > 1024 ? len : 0;
    }
    return n;
}

uint64_t script_leased_bytes(const struct script_leased_one *one)
{
    if (one->held_back > 0)
        return one->held_back;
    return one->job ? record_bytes(one->record) : one->task.len;
}

void script_untake(struct command *c, const struct script_root *root, const char *queue, const char *call,
                   size_t least_bytes)
{
    script_begin(c, SCRIPT_UNTAKE, root);
    command_text(c, queue);
    command_text(c, call);
    command_number(c, (int64_t)least_bytes);
}

int script_untaken(const struct redisReply *r, struct script_untaken *sum)
{
    uint64_t n = 0, n_bytes = 0;
    int err = reply_status(r);
    sum->is_more = reply_integer(reply_at(r, 2)) == 1;
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 1), &n);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 3), &n_bytes);
    sum->n += n;
    sum->n_bytes += n_bytes;
    return err;
}

void script_fail_holder(struct command *c, const struct script_root *root, const char *holder, int64_t from)
{
    script_begin(c, SCRIPT_FAIL_HOLDER, root);
    command_text(c, holder);
    command_number(c, from);
}

int script_holder_failed(const struct redisReply *r, struct script_holder_failed *out)
{
    const char *damaged = reply_text(reply_at(r, 4));
    int err = reply_status(r);
    *out = (struct script_holder_failed){.next = script_read_number(reply_at(r, 2)),
                                         .damaged = damaged && *damaged ? damaged : NULL};
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 3), &out->looked);
    return err == MUSTER_OK ? script_read_count(reply_at(r, 1), &out->given_back) : err;
}

void script_extend(struct command *c, const struct script_root *root, const char *worker, const char *token,
                   const char *queue, int64_t lease_ms, const char *note, const struct muster_bytes *data)
{
    script_begin(c, SCRIPT_EXTEND, root);
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
    if (lease_ms > 0)
        command_number(c, lease_ms);
    else
        command_text(c, "");
    script_add_flag(c, note != NULL);
    command_text(c, note ? note : "");
    script_add_flag(c, data != NULL);
    command_bytes(c, data ? data->data : "", data ? data->len : 0);
}

void script_extend_more(struct command *c, const char *worker, const char *token, const char *queue)
{
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
}

/* ---- cancel ---- */

void script_cancel(struct command *c, const struct script_root *root, const char *queue, const char *holder,
                   struct muster_bytes what, const char *cursor)
{
    script_begin(c, SCRIPT_CANCEL, root);
    command_text(c, queue);
    command_text(c, holder ? holder : "");
    command_bytes(c, what.data, what.len);
    command_text(c, cursor);
}

int script_cancel_done(const struct redisReply *r, uint64_t *removed, uint64_t *running,
                       char cursor[SCRIPT_CURSOR_SIZE])
{
    const char *text = reply_text(reply_at(r, 3));
    int err = script_cancelled(r, removed, running, NULL);
    if (err == MUSTER_OK && (!text || strlen(text) >= SCRIPT_CURSOR_SIZE))
        err = MUSTER_E_REDIS;
    if (err == MUSTER_OK)
        snprintf(cursor, SCRIPT_CURSOR_SIZE, "%s", text);
    return err;
}

int script_cancelled(const struct redisReply *r, uint64_t *removed, uint64_t *running, bool *is_more)
{
    int err = reply_status(r);
    if (is_more)
        *is_more = reply_integer(reply_at(r, 3)) == 1;
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 1), removed);
    return err == MUSTER_OK ? script_read_count(reply_at(r, 2), running) : err;
}

/* ---- the failed list ---- */

void script_failed(struct command *c, enum script_id id, const struct script_root *root,
                   const struct script_failed *which)
{
    script_begin(c, id, root);
    command_text(c, which->queue);
    command_text(c, which->group);
    command_number(c, (int64_t)which->n);
    command_number(c, (int64_t)which->from);
    for (size_t i = 0; i < which->n_entries; i++)
        command_text(c, which->entries[i]);
}

int script_failed_done(const struct redisReply *r, struct script_failed_moved *out)
{
    int err = reply_status(r);
    *out = (struct script_failed_moved){.rest = script_read_number(reply_at(r, 2)),
                                        .looked = reply_count(reply_at(r, 3)),
                                        .is_halted = reply_number(reply_at(r, 4), 0) == 1};
    return err == MUSTER_OK ? script_read_count(reply_at(r, 1), &out->n) : err;
}
