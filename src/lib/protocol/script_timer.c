/* SPDX-License-Identifier: MIT
 *
 * Scripts of the timer's keeper.
 */
#include "protocol/script_timer.h"

#include <stdlib.h>

#include "protocol/script_private.h"

void script_promote(struct command *c, const struct script_root *root)
{
    script_begin(c, SCRIPT_PROMOTE, root);
}

int script_promoted(const struct redisReply *r, struct script_promoted *out)
{
    int err = reply_status(r);
    *out = (struct script_promoted){.next_ms = script_read_number(reply_at(r, 1)),
                                    .closed = reply_at(r, 2),
                                    .now_ms = script_read_number(reply_at(r, 3)),
                                    .crons = reply_at(r, 4)};
    return err;
}

bool script_promoted_cron(const struct redisReply *cron, struct script_cron *out)
{
    *out = (struct script_cron){.id = reply_text(reply_at(cron, 0)),
                                .cron = reply_text(reply_at(cron, 1)),
                                .zone = reply_text(reply_at(cron, 2)),
                                .last = reply_text(reply_at(cron, 3))};
    const char *until = reply_text(reply_at(cron, 4)), *backlog = reply_text(reply_at(cron, 5));
    out->until_ms = until ? strtoll(until, NULL, 10) : 0;
    out->backlog = backlog ? strtoll(backlog, NULL, 10) : 0;
    return out->id && out->cron && out->zone && out->last;
}

void script_refill(struct command *c, const struct script_root *root, const struct script_refill *r)
{
    script_begin(c, SCRIPT_REFILL, root);
    command_text(c, r->id);
    command_text(c, r->cron);
    command_text(c, r->zone);
    command_text(c, r->last);
    command_text(c, r->ticks);
    command_text(c, r->is_final ? "1" : "");
    command_number(c, r->known_ms);
    command_number(c, (int64_t)r->over);
    command_number(c, r->new_last_ms);
}
