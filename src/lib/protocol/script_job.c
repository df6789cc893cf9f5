/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry jobs.
 */
#include "protocol/script_job.h"

#include "protocol/script_private.h"

void script_put(struct command *c, const struct script_root *root, const char *queue)
{
    script_begin(c, SCRIPT_PUT, root);
    command_text(c, queue);
}

void script_put_said(struct command *c, const char *what, struct muster_bytes value)
{
    command_text(c, what);
    command_bytes(c, value.data, value.len);
}

void script_put_number(struct command *c, const char *what, int64_t number)
{
    command_text(c, what);
    command_number(c, number);
}

static void add_texts(struct command *c, const char *what, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        command_text(c, what);
        command_text(c, texts[i]);
    }
}

void script_put_job(struct command *c, const struct script_put_job *job)
{
    command_text(c, ""); /* ends what came before */
    command_text(c, job->id);
    if (job->replace)
        add_texts(c, "replace", (const char *const[]){"1"}, 1);
    add_texts(c, "tag", job->tags, job->n_tags);
    add_texts(c, "after", job->after, job->n_after);
    add_texts(c, "after_end", job->after_end, job->n_after_end);
    add_texts(c, "after_failure", job->after_failure, job->n_after_failure);
    if (job->may_be_missing)
        add_texts(c, "may_be_missing", (const char *const[]){"1"}, 1);
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

void script_cancel_begin_chosen(struct command *c, const struct script_root *root, enum script_cancel_scope scope,
                                const char *state, const char *queue)
{
    script_begin(c, SCRIPT_CANCEL_JOBS, root);
    command_text(c, scope == CANCEL_AND_DEPENDENTS ? "4" : "3");
    command_text(c, state ? state : "");
    command_text(c, queue ? queue : "");
}

void script_cancel_chosen(struct command *c, const char *id, int64_t put_ms)
{
    command_text(c, id);
    command_number(c, put_ms);
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
                  const char *queue, size_t most)
{
    script_begin(c, SCRIPT_FETCH, root);
    command_text(c, worker);
    command_text(c, token);
    command_text(c, queue);
    command_number(c, (int64_t)most);
}

int script_fetched(const struct redisReply *r, const char **id, const struct redisReply **record)
{
    int err = reply_status(r);
    *id = script_read_name(reply_at(r, 1));
    *record = reply_at(r, 2);
    return err != MUSTER_OK ? err : *id && reply_kind(*record) == REPLY_LIST ? MUSTER_OK : MUSTER_E_REDIS;
}
