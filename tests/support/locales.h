/* SPDX-License-Identifier: MIT
 *
 * A program that has set a locale: made for the test, from the sources that Debian's package `locales` has.
 */
#ifndef LOCALES_H
#define LOCALES_H

#include <stdbool.h>

/* One in which the point of "1.5" ends a number, and one in which "FRI" and "fri" differ by more than their case. */
#define LOCALE_COMMA "de_DE"
#define LOCALE_DOTLESS "tr_TR"

/* From now on, for all that a locale says. False: there are no such sources here; the test is to be skipped. */
bool locales_set(const char *name);
/* Back to that of C. It may be called always. */
void locales_clear(void);

#endif
