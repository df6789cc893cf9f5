/* SPDX-License-Identifier: MIT
 *
 * A program that fails says why in its last lines. They become the message of a failure, which is shown in terminals,
 * logs and pages: so colours and other controls are taken out, and what is no UTF-8 becomes a '?'.
 */
#include "base/tail.h"

#include <string.h>

void tail_add(struct tail *t, const char *bytes, size_t len)
{
    if (len > sizeof t->bytes) {
        bytes += len - sizeof t->bytes;
        len = sizeof t->bytes;
        t->is_cut = true;
    }
    size_t over = t->n + len > sizeof t->bytes ? t->n + len - sizeof t->bytes : 0;
    if (over > 0) {
        memmove(t->bytes, t->bytes + over, t->n - over);
        t->n -= over;
        t->is_cut = true;
    }
    memcpy(t->bytes + t->n, bytes, len);
    t->n += len;
}

/* ---- what a terminal would not show ---- */

/* What begins a text for the terminal, such as a window's title or a link. */
static const char texts[] = {']', 'P', 'X', '^', '_'};

/* Such a text goes up to a bell, or to an escape with a backslash; or, if neither comes, to the end of its line. */
static const unsigned char *behind_text(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at != '\a' && *at != 0x1b && *at != '\n')
        at++;
    if (end - at > 1 && at[0] == 0x1b && at[1] == '\\')
        return at + 2;
    return at < end && *at == '\a' ? at + 1 : at;
}

/* An escape sequence begins at `at`: what follows it. Colours and moves have a '[', numbers and a letter. The others have
 * a letter, or some of ' ' to '/' before one: a choice of characters, as `tput sgr0` makes it. */
static const unsigned char *behind_escape(const unsigned char *at, const unsigned char *end)
{
    if (++at < end && memchr(texts, *at, sizeof texts))
        return behind_text(at, end);
    const unsigned char between = at < end && *at == '[' ? 0x3f : 0x2f;
    at += between == 0x3f;
    while (at < end && *at >= 0x20 && *at <= between)
        at++;
    return at < end && *at >= 0x20 && *at < 0x7f ? at + 1 : at;
}

/* How many bytes a character of UTF-8 has; 0: it is none. What some terminals obey (U+0080 to U+009F) is none. */
static size_t character_len(const unsigned char *at, const unsigned char *end)
{
    size_t len = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
    if (len == 0 || len > (size_t)(end - at))
        return 0;
    for (size_t i = 1; i < len; i++)
        if (at[i] >> 6 != 2)
            return 0;
    bool is_overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool is_beyond = (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90);
    bool is_control = at[0] == 0xc2 && at[1] < 0xa0;
    return is_overlong || is_beyond || is_control ? 0 : len;
}

/* A character that is printed as it is, or stands for one. Returns what follows it. */
static const unsigned char *copy_character(char **to, const unsigned char *at, const unsigned char *end)
{
    size_t len = character_len(at, end);
    if (len == 1 && *at == '\t')
        *(*to)++ = ' ';
    else if (len == 0 || (len == 1 && (*at < 0x20 || *at == 0x7f)))
        *(*to)++ = '?';
    else
        *to = mempcpy(*to, at, len);
    return at + (len ? len : 1);
}

/* `out` has room for as many bytes. A carriage return begins a line: a progress bar has many. Lines are never empty. */
static size_t clean(char *out, const struct tail *t)
{
    const unsigned char *at = (const unsigned char *)t->bytes, *end = at + t->n;
    char *to = out;
    while (t->is_cut && at < end && *at >> 6 == 2)
        at++; /* the rest of a character */
    while (at < end) {
        bool is_line_end = *at == '\n' || *at == '\r';
        if (*at == 0x1b) {
            at = behind_escape(at, end);
        } else if (is_line_end) {
            if (to > out && to[-1] != '\n')
                *to++ = '\n';
            at++;
        } else {
            at = copy_character(&to, at, end);
        }
    }
    while (to > out && (to[-1] == '\n' || to[-1] == ' '))
        to--;
    return (size_t)(to - out);
}

/* Where the last lines begin that fit. If not even the last one does, its end. */
static const char *begin_of(const char *text, size_t len, bool is_cut)
{
    const char *from = len > TAIL_TEXT_MAX ? text + len - TAIL_TEXT_MAX : text;
    bool is_line = from == text ? !is_cut : from[-1] == '\n';
    const char *newline = is_line ? NULL : memchr(from, '\n', (size_t)(text + len - from));
    if (newline)
        return newline + 1;
    while (from > text && (unsigned char)*from >> 6 == 2)
        from++;
    return from;
}

size_t tail_words(const struct tail *t, char out[TAIL_TEXT_MAX + 1])
{
    char text[TAIL_KEPT];
    size_t len = clean(text, t);
    const char *from = begin_of(text, len, t->is_cut);
    size_t n = (size_t)(text + len - from);
    memcpy(out, from, n);
    out[n] = '\0';
    return n;
}
