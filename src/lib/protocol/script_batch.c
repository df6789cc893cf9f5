/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry batches.
 */
#include "protocol/script_batch.h"

#include "protocol/script_private.h"

void script_open_batch(struct command *c, const struct script_root *root, const char *id, const char *batch,
                       int64_t ttl_ms)
{
    script_begin(c, SCRIPT_OPEN_BATCH, root);
    command_text(c, id);
    command_text(c, batch ? batch : "");
    command_number(c, ttl_ms);
}

void script_open_batch_field(struct command *c, const char *field, struct muster_bytes value)
{
    command_text(c, field);
    command_bytes(c, value.data, value.len);
}

void script_close_batch(struct command *c, const struct script_root *root, const char *id)
{
    script_begin(c, SCRIPT_CLOSE_BATCH, root);
    command_text(c, id);
}

void script_cancel_batch(struct command *c, const struct script_root *root, const char *id,
                         enum script_cancel_step step)
{
    script_begin(c, SCRIPT_CANCEL_BATCH, root);
    command_text(c, id);
    script_add_flag(c, step == CANCEL_NEXT);
}

int script_batch_cancelled(const struct redisReply *r, struct script_batch_cancelled *out)
{
    int err = reply_status(r);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 1), &out->removed);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 2), &out->running);
    if (err == MUSTER_OK)
        err = script_read_count(reply_at(r, 3), &out->left);
    out->nested = reply_at(r, 4);
    return err == MUSTER_OK && reply_kind(out->nested) != REPLY_LIST ? MUSTER_E_REDIS : err;
}
