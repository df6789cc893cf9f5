/* SPDX-License-Identifier: MIT
 *
 * Formats commands for Redis, into one buffer that grows.
 */
#include "redis/wire_out.h"

#include <muster/error.h>
#include <stdlib.h>
#include <string.h>

#define FIRST ((size_t)4096)
/* A buffer that is larger is given back when it is empty. */
#define KEPT_MAX ((size_t)1024 * 1024)
/* "$<length>\r\n" and "\r\n". */
#define FRAME_MAX 32

void wire_out_clear(struct wire_out *o)
{
    free(o->bytes);
    *o = (struct wire_out){0};
}

/* Who says more before all is sent, again and again, needs no more room than what is unsent at a time. */
static void move_up(struct wire_out *o)
{
    o->len -= o->sent;
    memmove(o->bytes, o->bytes + o->sent, o->len);
    o->sent = 0;
    o->last = o->len;
}

static int make_room(struct wire_out *o, size_t more)
{
    if (more > o->cap - o->len && o->sent > 0 && o->sent >= o->len - o->sent)
        move_up(o);
    if (more <= o->cap - o->len)
        return MUSTER_OK;
    size_t cap = o->cap ? o->cap : FIRST;
    while (cap - o->len < more)
        cap *= 2;
    char *grown = realloc(o->bytes, cap);
    if (!grown)
        return MUSTER_E_NOMEM;
    o->bytes = grown;
    o->cap = cap;
    return MUSTER_OK;
}

/* A letter, a number, the end of the line. */
static char *put_head(char *at, char letter, size_t number)
{
    char digits[24];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    *at++ = letter;
    while (n > 0)
        *at++ = digits[--n];
    return mempcpy(at, "\r\n", 2);
}

int wire_out_command(struct wire_out *o, const struct command *c)
{
    size_t size = FRAME_MAX;
    for (size_t i = 0; i < c->n; i++)
        size += FRAME_MAX + c->lens[i];
    if (c->failed || make_room(o, size) != MUSTER_OK)
        return MUSTER_E_NOMEM;
    char *at = put_head(o->bytes + o->len, '*', c->n);
    for (size_t i = 0; i < c->n; i++) {
        at = put_head(at, '$', c->lens[i]);
        at = mempcpy(at, c->argv[i], c->lens[i]);
        at = mempcpy(at, "\r\n", 2);
    }
    o->last = o->len;
    o->len = (size_t)(at - o->bytes);
    return MUSTER_OK;
}

int wire_out_bytes(struct wire_out *o, const struct muster_bytes *parts, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += parts[i].len;
    if (make_room(o, size) != MUSTER_OK)
        return MUSTER_E_NOMEM;
    o->last = o->len;
    for (size_t i = 0; i < n; i++) {
        memcpy(o->bytes + o->len, parts[i].data, parts[i].len);
        o->len += parts[i].len;
    }
    return MUSTER_OK;
}

void wire_out_forget(struct wire_out *o, size_t n)
{
    o->sent += n;
    if (o->sent < o->len)
        return;
    o->sent = o->len = 0;
    if (o->cap > KEPT_MAX)
        wire_out_clear(o);
}
