/* SPDX-License-Identifier: MIT */
#include "base/c_locale.h"

#include <locale.h>
#include <stdlib.h>
#include <strings.h>

/* It is the C library's own: it always is there, and takes no memory. */
static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", NULL);
}

double c_locale_real(const char *text)
{
    return strtod_l(text, NULL, c_locale());
}

bool c_locale_is_word(const char *text, const char *word, size_t n)
{
    return strncasecmp_l(text, word, n, c_locale()) == 0;
}
