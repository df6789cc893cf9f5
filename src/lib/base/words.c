/* SPDX-License-Identifier: MIT
 *
 * Words with names in them. A name may come from anyone, and the words go to a terminal or a log.
 */
#include "base/words.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define WORDS_MAX 768

const char *words_say(const char *format, ...)
{
    static _Thread_local char words[WORDS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    words_clean(words);
    return words;
}

/* U+0080 to U+009F, which some terminals obey, are two bytes in UTF-8. */
static bool is_long_control(const unsigned char *at)
{
    return at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
}

void words_clean(char *words)
{
    for (unsigned char *at = (unsigned char *)words; *at; at++) {
        if (is_long_control(at))
            *at++ = '?';
        else if (*at >= 0x20 && *at != 0x7f)
            continue;
        *at = '?';
    }
}
