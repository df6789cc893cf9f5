/* SPDX-License-Identifier: MIT
 *
 * Reads parts with their lengths before them; frame.h says where they come from.
 */
#include "protocol/frame.h"

#include <string.h>

/* Enough for more than Redis can hold, and too few to overflow. */
#define DIGITS_MAX 12

static void move_on(struct muster_bytes *rest, size_t n)
{
    rest->data = (const char *)rest->data + n;
    rest->len -= n;
}

int frame_part(struct muster_bytes *rest, size_t len, struct muster_bytes *part)
{
    if (!rest->data || len > rest->len)
        return -1;
    *part = (struct muster_bytes){rest->data, len};
    move_on(rest, len);
    return 0;
}

int frame_field(struct muster_bytes *rest, struct muster_bytes *field)
{
    const char *colon = rest->len > 0 ? memchr(rest->data, ':', rest->len) : NULL;
    if (!colon)
        return -1;
    frame_part(rest, (size_t)(colon - (const char *)rest->data), field);
    move_on(rest, 1);
    return 0;
}

int frame_length(struct muster_bytes *rest, size_t *len)
{
    struct muster_bytes field = {0};
    *len = 0;
    if (frame_field(rest, &field) != 0 || field.len == 0 || field.len > DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < field.len; i++) {
        char digit = ((const char *)field.data)[i];
        if (digit < '0' || digit > '9')
            return -1;
        *len = *len * 10 + (size_t)(digit - '0');
    }
    return 0;
}

int frame_text(char *out, size_t size, struct muster_bytes part)
{
    if (part.len >= size || memchr(part.data, '\0', part.len))
        return -1;
    memcpy(out, part.data, part.len);
    out[part.len] = '\0';
    return 0;
}
