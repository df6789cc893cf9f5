/* SPDX-License-Identifier: MIT
 *
 * The layout of a namespace in Redis: which one this library reads, what P:format says of it, and what to tell people
 * whose namespace has another one.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>

#define FORMAT_VERSION "2"
/* The one that can be upgraded, and what P:format says from the beginning of the upgrade to its end. */
#define FORMAT_BEFORE "1"
#define FORMAT_UPGRADING "1-2"

/* Why a namespace is refused whose P:format says `found`, and what to do. */
void format_refusal(char *out, size_t size, const char *prefix, const char *found);

#endif
