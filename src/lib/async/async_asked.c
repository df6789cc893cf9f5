/* SPDX-License-Identifier: MIT
 *
 * Calls that are one command.
 */
#include "async/async_asked.h"

#include <stdlib.h>
#include <string.h>

#include "async/async.h"

/* One block: the pointers, the lengths, then the bytes. */
static int copy_command(struct async_asked *asked, const struct command *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->n; i++)
        bytes += c->lens[i];
    const char **argv = malloc(c->n * (sizeof *argv + sizeof *c->lens) + bytes);
    if (!argv)
        return MUSTER_E_NOMEM;
    size_t *lens = (size_t *)(void *)(argv + c->n);
    char *at = (char *)(lens + c->n);
    for (size_t i = 0; i < c->n; i++) {
        argv[i] = c->lens[i] > 0 ? memcpy(at, c->argv[i], c->lens[i]) : at;
        lens[i] = c->lens[i];
        at += c->lens[i];
    }
    asked->command = (struct command){.argv = argv, .lens = lens, .n = c->n, .cap = c->n, .script = c->script};
    asked->bytes = bytes;
    return MUSTER_OK;
}

void *async_asked_new(struct muster_async *a, const struct async_kind *kind, size_t size, struct command *c,
                      const char *name, muster_async_fn *fn, void *arg)
{
    command_close(c);
    struct async_asked *asked = c->failed ? NULL : async_call_new(a, kind, size, fn, arg);
    if (asked) {
        memset((char *)asked + sizeof asked->call, 0, size - sizeof asked->call);
        asked->name = strdup(name);
        if (!asked->name || copy_command(asked, c) != MUSTER_OK) {
            async_call_free(&asked->call);
            asked = NULL;
        } else {
            asked->call.weight = asked->bytes;
        }
    }
    command_clear(c);
    return asked;
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
    free((void *)asked->command.argv);
    free(asked->name);
}

int async_asked_post(struct muster_async *a, struct async_asked *asked)
{
    return asked ? async_inbox_post(a, &asked->call) : async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
}
