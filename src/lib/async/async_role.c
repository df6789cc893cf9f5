/* SPDX-License-Identifier: MIT
 *
 * A server that becomes a replica is left, although nothing that only reads would show it.
 */
#include "async/async.h"
#include "base/clock.h"
#include "redis/greeting.h"

static void on_role(const struct redisReply *reply, void *arg)
{
    struct muster_async *a = arg;
    a->line.is_looking = false;
    a->line.role_due_ms = clock_in_ms(ROLE_LOOK_MS); /* from here: the answer may take longer than that */
    if (reply && greeting_is_replica(reply))
        link_leave(a->line.link, LINK_READONLY);
    if (reply)
        async_line_go_on(a);
}

void async_role_look(struct muster_async *a)
{
    struct async_line *l = &a->line;
    struct command c = COMMAND_EMPTY;
    command_text(&c, "HELLO");
    l->is_looking = true;
    if (link_call(l->link, &c, on_role, a) != MUSTER_OK)
        link_break(l->link, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
}
