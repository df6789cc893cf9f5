/* SPDX-License-Identifier: MIT
 *
 * What the scripts' files share: the beginning of every command, and the reading of single values.
 */
#ifndef SCRIPT_PRIVATE_H
#define SCRIPT_PRIVATE_H

#include <stdbool.h>

#include "protocol/script.h"

void script_begin(struct command *c, enum script_id id, const struct script_root *root);
void script_begin_as(struct command *c, enum script_id id, const struct script_root *root,
                     const struct script_caller *caller);

void script_add_queues(struct command *c, const struct script_queue *queues, size_t n);
void script_add_flag(struct command *c, bool is_set);

/* NULL if it is no text. */
const char *script_read_name(const struct redisReply *r);
/* A number: a time, a span, a place; -1 for what is none. Whatever came, sums of a few of these do not overflow. */
int64_t script_read_number(const struct redisReply *r);
/* An integer that is not negative. */
int script_read_count(const struct redisReply *r, uint64_t *n);
int script_read_token(const struct redisReply *r, uint64_t *token);

#endif
