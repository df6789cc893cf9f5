/* SPDX-License-Identifier: MIT
 *
 * Words with names in them. A name may come from anyone, and the words go to a terminal or a log.
 */
#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>

#define WORDS_MAX 400

const char *words_say(const char *format, ...)
{
    static _Thread_local char words[WORDS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return words;
}
