/* SPDX-License-Identifier: MIT
 *
 * Texts of Redis, and words that have one spelling, are read as in the C locale. A program may have set any: in one the
 * point of "1.5" ends the number, in another one "FRI" and "fri" differ by more than their case.
 */
#ifndef C_LOCALE_H
#define C_LOCALE_H

#include <stdbool.h>
#include <stddef.h>

/* 0: it is no number. */
double c_locale_real(const char *text);

/* Are the first `n` bytes the same, or all up to the end of both, apart from the case of letters? */
bool c_locale_is_word(const char *text, const char *word, size_t n);

#endif
