/* SPDX-License-Identifier: MIT
 *
 * Scripts that concern a queue.
 */
#include "protocol/script_queue.h"

#include "protocol/script_private.h"

void script_queue_call(struct command *c, enum script_id id, const struct script_root *root, const char *queue)
{
    script_begin(c, id, root);
    command_text(c, queue);
}

void script_config(struct command *c, const struct script_root *root, const char *queue, const char *name,
                   const int64_t *value)
{
    script_begin(c, SCRIPT_CONFIG, root);
    command_text(c, queue ? queue : "");
    command_text(c, name);
    if (value)
        command_number(c, *value);
    else
        command_text(c, "");
}

void script_heads(struct command *c, const struct script_root *root, size_t most, size_t room)
{
    script_begin(c, SCRIPT_HEADS, root);
    command_number(c, (int64_t)most);
    command_number(c, (int64_t)room);
    c->is_look = true;
}

void script_tidy(struct command *c, const struct script_root *root, uint64_t place)
{
    script_begin(c, SCRIPT_TIDY, root);
    command_number(c, (int64_t)place);
}

void script_note_ages(struct command *c, const struct script_root *root, uint64_t place, int64_t before_ms)
{
    script_begin(c, SCRIPT_NOTE_AGES, root);
    command_number(c, (int64_t)place);
    command_number(c, before_ms);
}

int script_noted_ages(const struct redisReply *r, struct script_noted_ages *out)
{
    out->place = reply_number(reply_at(r, 1), -1);
    out->now_ms = reply_number(reply_at(r, 2), 0);
    return reply_status(r);
}

int script_tidied(const struct redisReply *r, struct script_tidied *out)
{
    int err = reply_status(r);
    out->place = reply_number(reply_at(r, 1), -1);
    return err == MUSTER_OK ? script_read_count(reply_at(r, 2), &out->removed) : err;
}
