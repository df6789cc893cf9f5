/* SPDX-License-Identifier: MIT
 *
 * Escapes and numbers of a URL. Strict: what is not wholly understood is refused.
 */
#include "redis/url_text.h"

#include <stdlib.h>
#include <string.h>

#include "redis/url.h"

const char url_text_no_memory[] = "out of memory";

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *url_text_decode(const char *text, size_t len, const char *wrong, const char **why)
{
    char *out = malloc(len + 1);
    size_t n = 0;
    *why = out ? NULL : url_text_no_memory;
    for (size_t i = 0; out && i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 1 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                free(out);
                *why = wrong;
                return NULL;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[n++] = c;
    }
    if (out)
        out[n] = '\0';
    return out;
}

bool url_text_is_host(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || strchr("%[]/?#@,", text[i]))
            return false;
    return len > 0 && len <= URL_HOST_MAX;
}

long url_text_number(const char *text, size_t len, long max)
{
    long value = 0;
    if (len == 0)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
        if (value > max)
            return -1;
    }
    return value;
}
