/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry jobs.
 */
#include "protocol/script_job.h"

#include "protocol/script_private.h"

void script_put(struct command *c, const struct script_root *root, const struct script_put *put)
{
    script_begin(c, SCRIPT_PUT, root);
    command_text(c, put->queue);
    command_text(c, put->id);
    script_add_flag(c, put->replace);
    command_number(c, (int64_t)put->n_tags);
    command_number(c, (int64_t)put->n_after);
    for (size_t i = 0; i < put->n_tags; i++)
        command_text(c, put->tags[i]);
    for (size_t i = 0; i < put->n_after; i++)
        command_text(c, put->after[i]);
    for (size_t i = 0; i < put->n_fields; i++)
        script_change_field(c, put->fields[i].name, put->fields[i].value);
}

void script_change(struct command *c, const struct script_root *root, const char *id)
{
    script_begin(c, SCRIPT_CHANGE, root);
    command_text(c, id);
}

void script_change_field(struct command *c, const char *what, struct muster_bytes value)
{
    command_text(c, what);
    command_bytes(c, value.data, value.len);
}

void script_cancel_jobs(struct command *c, const struct script_root *root, const char *const *ids, size_t n,
                        enum script_cancel_scope scope)
{
    script_begin(c, SCRIPT_CANCEL_JOBS, root);
    script_add_flag(c, scope == CANCEL_AND_DEPENDENTS);
    for (size_t i = 0; i < n; i++)
        command_text(c, ids[i]);
}

int script_jobs_cancelled(const struct redisReply *r, struct script_cancelled *out)
{
    int err = reply_status(r);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 1), &out->removed);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 2), &out->running);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 3), &out->left);
    out->first = reply_text(reply_at(r, 4));
    out->queue = reply_text(reply_at(r, 5));
    return err == MUSTER_OK && !(out->first && out->queue) ? MUSTER_E_REDIS : err;
}

void script_cancel_more(struct command *c, const struct script_root *root, const char *first, const char *queue)
{
    script_begin(c, SCRIPT_CANCEL_JOBS, root);
    command_text(c, "2");
    command_text(c, first);
    command_text(c, queue);
}

void script_fetch(struct command *c, const struct script_root *root, const char *worker, const char *token,
                  const char *queue)
{
    script_begin(c, SCRIPT_FETCH, root);
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
}

int script_fetched(const struct redisReply *r, const char **id, const struct redisReply **record)
{
    int err = reply_status(r);
    *id = script_read_name(reply_at(r, 1));
    *record = reply_at(r, 2);
    return err != MUSTER_OK ? err : *id && reply_kind(*record) == REPLY_LIST ? MUSTER_OK : MUSTER_E_REDIS;
}
