/* SPDX-License-Identifier: MIT
 *
 * Reads UTF-8 itself, because it is what texts are in, whatever the locale.
 */
#include "top_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN L'?'

/* Characters without width that change what stands around them. */
static bool is_steering(wchar_t c)
{
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff || c == 0xad || c == 0x61c;
}

/* A locale of single bytes has ASCII only, as far as anyone knows. */
static bool is_shown(wchar_t c)
{
    return MB_CUR_MAX == 1 ? c >= ' ' && c <= '~' : wcwidth(c) >= 0 && !is_steering(c);
}

/* The character at `*text`, which moves behind it. Bytes that are no UTF-8 count one by one. */
static wchar_t next(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    int n = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    wchar_t c = *p < 0x80 ? *p : n ? *p & (0x3f >> n) : 0xfffd;
    for (int i = 1; i <= n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *text += 1;
            return FOREIGN;
        }
        c = (c << 6) | (p[i] & 0x3f);
    }
    *text += n + 1;
    return is_shown(c) ? c : FOREIGN;
}

static size_t cells(wchar_t c)
{
    int width = wcwidth(c);
    return width < 0 ? 1 : (size_t)width;
}

size_t top_text_width(const char *text)
{
    size_t width = 0;
    while (*text)
        width += cells(next(&text));
    return width;
}

/* Put as many characters into `out` as fit into `width` cells. Returns their number; `*used`: their cells. */
static size_t fill(wchar_t *out, size_t n, const char *text, size_t width, size_t *used)
{
    size_t len = 0;
    *used = 0;
    while (*text && len < n) {
        wchar_t c = next(&text);
        if (*used + cells(c) > width)
            break;
        *used += cells(c);
        out[len++] = c;
    }
    return len;
}

size_t top_text_fit(wchar_t *out, size_t n, const char *text, size_t width)
{
    size_t used;
    bool is_cut = top_text_width(text) > width;
    size_t len = fill(out, is_cut && n ? n - 1 : n, text, is_cut && width ? width - 1 : width, &used);
    if (is_cut && width > used && len < n) {
        out[len++] = is_shown(L'…') ? L'…' : L'~';
        used++;
    }
    out[len] = L'\0';
    return used;
}
