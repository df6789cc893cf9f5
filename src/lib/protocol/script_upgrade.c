/* SPDX-License-Identifier: MIT
 *
 * Scripts that move a namespace from one layout to the next.
 */
#include "protocol/script_upgrade.h"

#include "base/format.h"
#include "protocol/script_private.h"

#define WORKERS_HEAD 2
#define PLUS_ONE(format) +1
#define ADD(format) command_text(c, format);

void script_upgrade_begin(struct command *c, const struct script_root *root)
{
    script_begin(c, SCRIPT_UPGRADE_BEGIN, root);
    command_text(c, FORMAT_VERSION);
    command_text(c, FORMAT_UPGRADING);
    command_number(c, 0 FORMATS_ALIKE(PLUS_ONE));
    FORMATS_ALIKE(ADD)
    FORMATS_UPGRADING_BEFORE(ADD)
    command_text(c, FORMAT_OLDEST);
}

int script_upgrade_begun(const struct redisReply *r, enum script_upgrade_work *work)
{
    static const char *const words[] = {[UPGRADE_NONE] = "none", [UPGRADE_DONE] = "done", [UPGRADE_MOVE] = "move"};
    int err = reply_status(r);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (reply_is(reply_at(r, 1), words[i])) {
            *work = (enum script_upgrade_work)i;
            return MUSTER_OK;
        }
    }
    return MUSTER_E_REDIS;
}

long long script_upgrade_workers(const struct redisReply *r)
{
    return (long long)reply_count(reply_at(r, 1));
}

const char *script_upgrade_worker(const struct redisReply *r, size_t i)
{
    return reply_text(reply_at(r, WORKERS_HEAD + i));
}

void script_upgrade_keys(struct command *c, const struct script_root *root)
{
    script_begin(c, SCRIPT_UPGRADE_KEYS, root);
    command_text(c, FORMAT_UPGRADING);
}

int script_upgrade_moved(const struct redisReply *r, struct script_moved *moved)
{
    uint64_t *const counts[] = {&moved->done, &moved->changed, &moved->jobs};
    int err = reply_status(r);
    for (size_t i = 0; err == MUSTER_OK && i < 3; i++)
        err = script_read_count(reply_at(r, i + 1), counts[i]);
    return err;
}
