/* SPDX-License-Identifier: MIT
 *
 * Tokens as text and as number.
 */
#include "protocol/token.h"

#include <muster/error.h>
#include <string.h>

static const char digits[] = "0123456789abcdefghijklmnopqrstuv";

void token_format(char out[TOKEN_LEN + 1], uint64_t token)
{
    for (int i = TOKEN_LEN - 1; i >= 0; i--) {
        out[i] = digits[token & 31];
        token >>= 5;
    }
    out[TOKEN_LEN] = '\0';
}

int token_parse(const char *text, size_t len, uint64_t *token)
{
    uint64_t number = 0;
    if (len != TOKEN_LEN)
        return MUSTER_E_INVALID;
    for (size_t i = 0; i < len; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return MUSTER_E_INVALID;
        number = number << 5 | (uint64_t)(digit - digits);
    }
    *token = number;
    return MUSTER_OK;
}

int64_t token_at_ms(uint64_t token)
{
    return (int64_t)(token / 1000);
}
