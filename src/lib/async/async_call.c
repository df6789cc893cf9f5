/* SPDX-License-Identifier: MIT
 *
 * Calls and lists of them.
 */
#include "async/async_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/words.h"

/* ---- lists ---- */

void async_list_init(struct async_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void async_list_add(struct async_list *list, struct async_call *call)
{
    call->next = NULL;
    *list->end = call;
    list->end = &call->next;
}

void async_list_append(struct async_list *list, struct async_list *from)
{
    if (!from->first)
        return;
    *list->end = from->first;
    list->end = from->end;
    async_list_init(from);
}

void async_list_prepend(struct async_list *list, struct async_list *from)
{
    async_list_append(from, list);
    async_list_append(list, from);
}

void async_list_cut(struct async_list *list, size_t n, struct async_list *out)
{
    async_list_init(out);
    while (n-- > 0 && list->first)
        async_list_add(out, async_list_pop(list));
}

struct async_call *async_list_pop(struct async_list *list)
{
    struct async_call *call = list->first;
    if (!call)
        return NULL;
    list->first = call->next;
    if (!list->first)
        list->end = &list->first;
    call->next = NULL;
    return call;
}

/* ---- calls ---- */

void *async_call_new(struct muster_async *a, const struct async_kind *kind, size_t size, muster_async_fn *fn, void *arg)
{
    struct async_call *call = malloc(size);
    if (!call)
        return NULL;
    *call = (struct async_call){
        .kind = kind, .async = a, .fn = fn, .arg = arg, .made_ms = clock_ms(), .n_run = 1, .err = MUSTER_OK};
    return call;
}

void async_call_free(struct async_call *call)
{
    if (call->kind->clear)
        call->kind->clear(call);
    free(call->text);
    free(call);
}

void async_call_fail(struct async_call *call, int err, const char *words)
{
    free(call->text);
    call->err = err;
    call->text = words ? strdup(words) : NULL;
    if (call->text)
        words_clean(call->text);
}

void async_call_tell(const struct async_call *call, struct muster_answer *out)
{
    *out = (struct muster_answer){.size = sizeof *out,
                                  .fn = call->fn,
                                  .arg = call->arg,
                                  .err = call->err,
                                  .text = call->err == MUSTER_OK ? ""
                                          : call->text           ? call->text
                                                                 : muster_err_text(call->err),
                                  .waiting = call->waiting};
    if (call->kind->tell)
        call->kind->tell(call, out);
}
