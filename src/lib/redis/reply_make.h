/* SPDX-License-Identifier: MIT
 *
 * Answers as a script would have given them, made of those of plain commands.
 */
#ifndef REPLY_MAKE_H
#define REPLY_MAKE_H

#include "redis/reply.h"

/* Cut each text of more than `most` bytes: reply_head() reads it. False: there is no memory. */
bool reply_cut(struct redisReply **r, size_t most);

/* A text of so many bytes of which there is nothing; to be freed. NULL: there is no memory. */
struct redisReply *reply_left_out(uint64_t len);

/* Put `one`, which is taken over, into the list. False if it is NULL, or there is no such place. */
bool reply_put(struct redisReply *list, size_t i, struct redisReply *one);

/* The list with what is in `more` behind it, which is taken over; `list` NULL: `more` itself. NULL: there is no memory, and
 * both are freed. */
struct redisReply *reply_join(struct redisReply *list, struct redisReply *more);

/* {name, value, ...} of two lists, which lose what is in them; to be freed. NULL: there is no memory. */
struct redisReply *reply_pairs(struct redisReply *names, struct redisReply *values);

/* {name, nothing, ...}, to be filled by reply_put(); the names are taken over. NULL: there is no memory. */
struct redisReply *reply_spread(struct redisReply *names);

/* {cursor, pairs} of a SCAN that has come to its end; the pairs are taken over. NULL: there is no memory. */
struct redisReply *reply_scanned(struct redisReply *pairs);

#endif
