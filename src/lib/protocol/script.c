/* SPDX-License-Identifier: MIT
 *
 * What the files of the scripts share.
 */
#include "protocol/script_private.h"

void script_root_init(struct script_root *root, const char *prefix, int db)
{
    root->len = key_root(root->text, prefix);
    key_channels(root->channels, prefix, db);
}

void script_begin(struct command *c, enum script_id id, const struct script_root *root)
{
    c->script = &lua_scripts[id];
    c->last = root->channels;
    command_text(c, "EVALSHA");
    command_text(c, c->script->sha1);
    command_text(c, "1");
    command_bytes(c, root->text, root->len);
}

void script_begin_as(struct command *c, enum script_id id, const struct script_root *root,
                     const struct script_caller *caller)
{
    script_begin(c, id, root);
    command_text(c, caller->worker);
    command_bytes(c, caller->epoch, TOKEN_LEN);
    command_number(c, (int64_t)caller->conn);
}

void script_add_queues(struct command *c, const struct script_queue *queues, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        command_text(c, queues[i].name);
        command_number(c, queues[i].limit);
    }
}

void script_add_flag(struct command *c, bool is_set)
{
    command_text(c, is_set ? "1" : "0");
}

const char *script_read_name(const struct redisReply *r)
{
    return reply_kind(r) == REPLY_TEXT ? reply_text(r) : NULL;
}

/* Sums of such times do not overflow. */
#define NUMBER_MAX (INT64_MAX / 1000)

int64_t script_read_number(const struct redisReply *r)
{
    long long n = reply_kind(r) == REPLY_INTEGER ? reply_integer(r) : -1;
    return n < -NUMBER_MAX ? -NUMBER_MAX : n < NUMBER_MAX ? n : NUMBER_MAX;
}

int script_read_count(const struct redisReply *r, uint64_t *n)
{
    *n = (uint64_t)reply_integer(r);
    return reply_kind(r) == REPLY_INTEGER && reply_integer(r) >= 0 ? MUSTER_OK : MUSTER_E_REDIS;
}

int script_read_token(const struct redisReply *r, uint64_t *token)
{
    struct muster_bytes text = reply_bytes(r);
    return text.data && token_parse(text.data, text.len, token) == MUSTER_OK ? MUSTER_OK : MUSTER_E_REDIS;
}
