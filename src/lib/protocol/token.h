/* SPDX-License-Identifier: MIT
 *
 * Tokens. Each process has one: a number, and its text of fixed width in base 32, which sorts as the number counts.
 */
#ifndef TOKEN_H
#define TOKEN_H

#include <stddef.h>
#include <stdint.h>

#define TOKEN_LEN 11

void token_format(char out[TOKEN_LEN + 1], uint64_t token);
/* MUSTER_OK, or E_INVALID: `*token` is unchanged. */
int token_parse(const char *text, size_t len, uint64_t *token);

/* When it was made. */
int64_t token_at_ms(uint64_t token);

#endif
