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

/* What people can do about a P:format of a wrong type. */
#define FORMAT_MENDING                                                                                     \
    "nobody knows in which layout the namespace is written. Look at it, and move it away with RENAME; if " \
    "it was not format " FORMAT_VERSION ", then SET the key to its number"

/* Why a namespace is refused whose P:format says `found`, and what to do. */
void format_refusal(char *out, size_t size, const char *prefix, const char *found);

/* The same if P:format, which is `key`, has a wrong type. */
void format_refuse_type(char *out, size_t size, const char *key);

#endif
