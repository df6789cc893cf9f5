/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the public structs that begin with their size.
 */
#include "base/sized.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* No version will add more bytes than this. A larger size was never set, and what lies behind must not be read. */
#define ADDED_MAX 1024

/*
 *   len, least, unit  the size that this version knows, the smallest one that a program can have, and the alignment
 *   no_null, no_size, wrong_size, unknown_field
 *                     what is wrong, in words
 */
struct kind {
    size_t len, least, unit;
    enum sized_null null;
    const char *no_null, *no_size, *wrong_size, *unknown_field;
};

#define END_OF(name, field) (offsetof(struct name, field) + sizeof((struct name *)0)->field)

static const struct kind kinds[] = {
#define SIZED_KIND(id, name, last, null_rule)                                                                     \
    [id] = {.len = sizeof(struct name),                                                                           \
            .least = END_OF(name, last),                                                                          \
            .unit = _Alignof(struct name),                                                                        \
            .null = (null_rule),                                                                                  \
            .no_null = "a struct " #name " is needed, not NULL",                                                  \
            .no_size = "the member `size` of a struct " #name " is 0; it must be the sizeof of the struct",       \
            .wrong_size = "the member `size` of a struct " #name " is not the sizeof of the struct in a version", \
            .unknown_field = "a struct " #name " has a field set that this version of muster does not know"},
    SIZED_STRUCTS(SIZED_KIND)
#undef SIZED_KIND
};

/* Each of the structs begins with its size. */
static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

#define SIZED_BEGIN(id, name, last, null) \
    _Static_assert(offsetof(struct name, size) == 0, "the struct begins with its size");
SIZED_STRUCTS(SIZED_BEGIN)
#undef SIZED_BEGIN

static const char *check_size(const struct kind *k, const void *given)
{
    if (!given)
        return k->no_null;
    size_t size = size_of(given);
    if (size == 0)
        return k->no_size;
    return size < k->least || size % k->unit != 0 || size > k->len + ADDED_MAX ? k->wrong_size : NULL;
}

static bool has_unknown(const struct kind *k, const unsigned char *given)
{
    for (size_t i = k->len; i < size_of(given); i++)
        if (given[i])
            return true;
    return false;
}

const char *sized_read(enum sized what, void *out, const void *given)
{
    const struct kind *k = &kinds[what];
    memset(out, 0, k->len);
    if (!given && k->null == SIZED_MAY_BE_NULL)
        return NULL;
    const char *why = check_size(k, given);
    if (!why && has_unknown(k, given))
        why = k->unknown_field;
    if (!why)
        memcpy(out, given, size_of(given) < k->len ? size_of(given) : k->len);
    return why;
}

const char *sized_clear(enum sized what, void *out)
{
    const char *why = check_size(&kinds[what], out);
    if (!why)
        memset((char *)out + sizeof(size_t), 0, size_of(out) - sizeof(size_t));
    return why;
}

void sized_write(enum sized what, void *out, const void *own)
{
    size_t size = size_of(out), len = size < kinds[what].len ? size : kinds[what].len;
    memcpy((char *)out + sizeof size, (const char *)own + sizeof size, len - sizeof size);
}
