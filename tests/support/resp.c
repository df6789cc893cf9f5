/* SPDX-License-Identifier: MIT
 *
 * The form of what a client and Redis send each other.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "resp.h"

static bool has_bytes(const struct resp *v)
{
    return v->type == '$' && v->n >= 0;
}

static size_t elements(const struct resp *v)
{
    return v->type == '*' && v->n > 0 ? (size_t)v->n : 0;
}

/* The length of the first line, with its line end. */
static size_t first_line(const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    return end ? (size_t)(end - data) + 1 : 0;
}

struct resp resp_open(const char *data)
{
    struct resp v = {.type = *data};
    v.n = strchr(":$*", *data) ? strtoll(data + 1, NULL, 10) : 0;
    v.body = strchr(data, '\n') + 1;
    return v;
}

size_t resp_length(const char *data, size_t len)
{
    size_t at = first_line(data, len);
    if (at == 0)
        return 0;
    if (!strchr("+-:$*", *data))
        return RESP_MALFORMED;
    struct resp v = resp_open(data);
    if (has_bytes(&v))
        return at + (size_t)v.n + 2 <= len ? at + (size_t)v.n + 2 : 0;
    for (size_t i = 0; i < elements(&v); i++) {
        size_t part = at < len ? resp_length(data + at, len - at) : 0;
        if (part == 0 || part == RESP_MALFORMED)
            return part;
        at += part;
    }
    return at;
}

const char *resp_skip(const char *data)
{
    struct resp v = resp_open(data);
    const char *at = v.body;
    if (has_bytes(&v))
        return at + v.n + 2;
    for (size_t i = 0; i < elements(&v); i++)
        at = resp_skip(at);
    return at;
}

size_t resp_count(const char *data)
{
    struct resp v = resp_open(data);
    size_t n = 1;
    const char *at = v.body;
    for (size_t i = 0; i < elements(&v); i++, at = resp_skip(at))
        n += resp_count(at);
    return n;
}
