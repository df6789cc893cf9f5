/* SPDX-License-Identifier: MIT
 *
 * Scripts that look for damage, and repair it.
 */
#include "protocol/script_check.h"

#include "protocol/script_private.h"

static void begin_check(struct command *c, enum script_id id, const struct script_root *root, enum script_repair repair)
{
    script_begin(c, id, root);
    script_add_flag(c, repair == CHECK_AND_REPAIR);
}

void script_check_keys(struct command *c, const struct script_root *root, enum script_repair repair)
{
    begin_check(c, SCRIPT_CHECK_KEYS, root, repair);
}

void script_check_key(struct command *c, struct muster_bytes key, const char *type, int64_t ttl_ms, const char *unseen)
{
    command_bytes(c, key.data, key.len);
    command_text(c, type);
    command_number(c, ttl_ms);
    command_text(c, unseen);
}

void script_check_set(struct command *c, const struct script_root *root, enum script_repair repair, const char *worker,
                      const char *queue)
{
    begin_check(c, SCRIPT_CHECK_SET, root, repair);
    command_text(c, worker);
    command_text(c, queue);
}

void script_check_worker(struct command *c, const struct script_root *root, enum script_repair repair,
                         const char *worker, enum script_counters counters)
{
    begin_check(c, SCRIPT_CHECK_WORKER, root, repair);
    command_text(c, worker);
    script_add_flag(c, counters == CHECK_COUNTERS);
}

void script_check_marks(struct command *c, const struct script_root *root, enum script_repair repair,
                        const char *worker, size_t n_queues)
{
    begin_check(c, SCRIPT_CHECK_MARKS, root, repair);
    command_text(c, worker);
    command_number(c, (int64_t)n_queues);
}

void script_check_holders(struct command *c, const struct script_root *root, enum script_repair repair,
                          const char *which, const char *name)
{
    begin_check(c, SCRIPT_CHECK_HOLDERS, root, repair);
    command_text(c, which);
    command_text(c, name);
}

void script_check_token(struct command *c, const struct script_root *root, enum script_repair repair, uint64_t highest)
{
    begin_check(c, SCRIPT_CHECK_TOKEN, root, repair);
    command_number(c, (int64_t)highest);
}

void script_check_queue(struct command *c, const struct script_root *root, enum script_repair repair, const char *queue,
                        enum script_counters counters, bool are_records_sound)
{
    begin_check(c, SCRIPT_CHECK_QUEUE, root, repair);
    command_text(c, queue);
    script_add_flag(c, counters == CHECK_COUNTERS);
    script_add_flag(c, are_records_sound);
}

void script_check_idle(struct command *c, const struct script_root *root, enum script_repair repair, const char *queue,
                       int64_t from)
{
    begin_check(c, SCRIPT_CHECK_IDLE, root, repair);
    command_text(c, queue);
    command_number(c, from);
}

void script_check_leases(struct command *c, const struct script_root *root, enum script_repair repair,
                         const char *queue, int64_t from, bool had_finds)
{
    begin_check(c, SCRIPT_CHECK_LEASES, root, repair);
    command_text(c, queue);
    command_number(c, from);
    script_add_flag(c, had_finds);
}

void script_check_returned(struct command *c, const struct script_root *root, enum script_repair repair,
                           const char *queue, int64_t from)
{
    begin_check(c, SCRIPT_CHECK_RETURNED, root, repair);
    command_text(c, queue);
    command_number(c, from);
}

void script_check_home(struct command *c, const struct script_root *root, enum script_repair repair, const char *home,
                       const char *queue)
{
    begin_check(c, SCRIPT_CHECK_HOME, root, repair);
    command_text(c, home);
    command_text(c, queue);
}

void script_check_suspects(struct command *c, const struct script_root *root, enum script_repair repair,
                           const char *queue)
{
    begin_check(c, SCRIPT_CHECK_SUSPECTS, root, repair);
    command_text(c, queue);
}

void script_check_job(struct command *c, const struct script_root *root, enum script_repair repair)
{
    begin_check(c, SCRIPT_CHECK_JOB, root, repair);
}

void script_check_dependents(struct command *c, const struct script_root *root, enum script_repair repair,
                             const char *id, const char *which)
{
    begin_check(c, SCRIPT_CHECK_DEPENDENTS, root, repair);
    command_text(c, id);
    command_text(c, which);
}

void script_check_batch(struct command *c, const struct script_root *root, enum script_repair repair, const char *id,
                        int64_t from, enum script_counters counters)
{
    begin_check(c, SCRIPT_CHECK_BATCH, root, repair);
    command_text(c, id);
    command_number(c, from);
    script_add_flag(c, counters == CHECK_COUNTERS);
}

void script_check_index(struct command *c, const struct script_root *root, enum script_repair repair, const char *which,
                        const char *name, int64_t from)
{
    begin_check(c, SCRIPT_CHECK_INDEX, root, repair);
    command_text(c, which);
    command_text(c, name);
    command_number(c, from);
}

#define CHECKED_HEAD 2
#define CHECKED_FIND 3

int script_checked(const struct redisReply *r, struct script_checked *out)
{
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    if (reply_len(r) < CHECKED_HEAD || (reply_len(r) - CHECKED_HEAD) % CHECKED_FIND != 0)
        return MUSTER_E_REDIS;
    const struct redisReply *besides = reply_at(r, 1);
    out->next = script_read_number(besides);
    out->token = 0;
    out->n_finds = (reply_len(r) - CHECKED_HEAD) / CHECKED_FIND;
    return reply_kind(besides) == REPLY_TEXT ? script_read_token(besides, &out->token) : MUSTER_OK;
}

int script_checked_find(const struct redisReply *r, size_t i, struct script_find *out)
{
    size_t at = CHECKED_HEAD + i * CHECKED_FIND;
    out->key = reply_bytes(reply_at(r, at));
    out->what = reply_bytes(reply_at(r, at + 1));
    out->repaired = reply_integer(reply_at(r, at + 2)) == 1;
    return out->key.data && out->what.data ? MUSTER_OK : MUSTER_E_REDIS;
}
