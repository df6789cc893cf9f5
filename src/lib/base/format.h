/* SPDX-License-Identifier: MIT
 *
 * The layout of a namespace in Redis: which one this library reads, what P:format says of it, and what to tell people
 * whose namespace has another one.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>

#define FORMAT_VERSION "4"
/* Those that can be upgraded. Of the oldest one keys have to be moved. Of the others nothing but the number changes:
 * the workers of 2 hear nothing on the channels of this one, and those of 3 do not know all that jobs wait for. */
#define FORMAT_OLDEST "1"
#define FORMATS_ALIKE(X) X("2") X("3")
/* What P:format says while keys are moved; and the same by releases that moved them to an earlier layout. */
#define FORMAT_UPGRADING "1-4"
#define FORMATS_UPGRADING_BEFORE(X) X("1-2") X("1-3")

/* What people can do about a P:format of a wrong type. */
#define FORMAT_MENDING                                                                                     \
    "nobody knows in which layout the namespace is written. Look at it, and move it away with RENAME; if " \
    "it was not format " FORMAT_VERSION ", then SET the key to its number"

/* Why a namespace is refused whose P:format says `found`, and what to do. */
void format_refusal(char *out, size_t size, const char *prefix, const char *found);

/* The same if P:format, which is `key`, has a wrong type. */
void format_refuse_type(char *out, size_t size, const char *key);

#endif
