/* SPDX-License-Identifier: MIT
 *
 * Replies of Redis made by hand, as values of the block that they stand in. hiredis promises a NUL after each text.
 */
#ifndef MADE_REPLY_H
#define MADE_REPLY_H

#include <hiredis/hiredis.h>

#include "testing.h"

#define INTEGER(n) (&(redisReply){.type = REDIS_REPLY_INTEGER, .integer = (n)})
#define NIL (&(redisReply){.type = REDIS_REPLY_NIL})

/* Of string literals, which may hold NULs. */
#define OF_LITERAL(kind, text) (&(redisReply){.type = (kind), .str = (char *)(text), .len = sizeof(text "") - 1})
#define TEXT(text) OF_LITERAL(REDIS_REPLY_STRING, text)
#define STATUS(text) OF_LITERAL(REDIS_REPLY_STATUS, text)
#define ERROR(text) OF_LITERAL(REDIS_REPLY_ERROR, text)

#define ELEMENTS(...) ((redisReply *[]){__VA_ARGS__})
#define LIST(...)   \
    (&(redisReply){ \
        .type = REDIS_REPLY_ARRAY, .elements = N_OF(ELEMENTS(__VA_ARGS__)), .element = ELEMENTS(__VA_ARGS__)})
#define EMPTY_LIST (&(redisReply){.type = REDIS_REPLY_ARRAY})

#endif
