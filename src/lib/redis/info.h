/* SPDX-License-Identifier: MIT
 *
 * What INFO answers: lines "name:value".
 */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stdint.h>

#define INFO_VALUE_SIZE 128

/* The value of a line, cut to its room; false, and "": there is no such line. `info` may be NULL. */
bool info_text(const char *info, const char *name, char out[INFO_VALUE_SIZE]);
/* The same as a number; 0 if there is none. */
int64_t info_number(const char *info, const char *name);
bool info_is(const char *info, const char *name, const char *value);

#endif
