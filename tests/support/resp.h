/* SPDX-License-Identifier: MIT
 *
 * The form of what a client and Redis send each other, seen from between them: where a value ends, and its parts.
 */
#ifndef RESP_H
#define RESP_H

#include <stddef.h>
#include <stdint.h>

/* A value's first line: its type ('+', '-', ':', '$' or '*'), its number (of '+' and '-' 0), and where its bytes or its
 * first element begin. */
struct resp {
    char type;
    long long n;
    const char *body;
};

#define RESP_MALFORMED SIZE_MAX

/* The length of the value that `data` begins with; 0: it is not complete yet. */
size_t resp_length(const char *data, size_t len);

/* Of a complete value. */
struct resp resp_open(const char *data);
/* Where the next value begins. */
const char *resp_skip(const char *data);
/* How many values there are in it, itself included. */
size_t resp_count(const char *data);

#endif
