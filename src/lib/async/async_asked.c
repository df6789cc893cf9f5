/* SPDX-License-Identifier: MIT
 *
 * Calls that are one command.
 */
#include "async/async_asked.h"

#include <stdlib.h>
#include <string.h>

#include "async/async.h"

void *async_asked_new(struct muster_async *a, const struct async_kind *kind, size_t size, struct command *c,
                      const char *name, muster_async_fn *fn, void *arg)
{
    command_close(c);
    command_own(c);
    struct async_asked *asked = c->failed ? NULL : async_call_new(a, kind, size, fn, arg);
    if (!asked) {
        command_clear(c);
        return NULL;
    }
    memset((char *)asked + sizeof asked->call, 0, size - sizeof asked->call);
    asked->command = *c;
    *c = (struct command)COMMAND_EMPTY;
    for (size_t i = 0; i < asked->command.n; i++)
        asked->bytes += asked->command.lens[i];
    asked->call.weight = asked->bytes;
    asked->name = strdup(name);
    if (asked->name)
        return asked;
    async_call_free(&asked->call);
    return NULL;
}

int async_asked_send(struct async_asked *asked, link_reply_fn *hear)
{
    struct muster_async *a = asked->call.async;
    struct command *c = &asked->command;
    int err;
    async_list_pop(&a->line.waiting);
    asked->call.next = NULL;
    if (c->script) { /* the link may have put the script's body there, when it sent this before */
        c->argv[0] = "EVALSHA";
        c->lens[0] = strlen("EVALSHA");
        c->argv[1] = c->script->sha1;
        c->lens[1] = strlen(c->script->sha1);
        err = link_script_in_order(a->line.link, c, hear, asked);
    } else {
        err = link_call(a->line.link, c, hear, asked);
    }
    if (err == MUSTER_OK)
        async_hear_sent(&asked->call, asked->bytes);
    else
        async_hear_failed(&asked->call, err, NULL);
    return err;
}

void async_asked_clear(struct async_call *call)
{
    struct async_asked *asked = (struct async_asked *)call;
    command_clear(&asked->command);
    free(asked->name);
}

int async_asked_post(struct muster_async *a, struct async_asked *asked)
{
    return asked ? async_inbox_post(a, &asked->call) : async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
}
