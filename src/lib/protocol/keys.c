/* SPDX-License-Identifier: MIT
 *
 * Makes keys, channels, tokens and process ids. Names were checked before they come here, so all of it fits.
 */
#include "protocol/keys.h"

#include <stdio.h>
#include <string.h>

static const char *const key_texts[KEY_COUNT] = {
#define KEY_TEXT(name, text) [name] = (text),
    KEYS(KEY_TEXT)
#undef KEY_TEXT
};

size_t key_root(char out[KEY_MAX], const char *prefix)
{
    return (size_t)snprintf(out, KEY_MAX, "%s:", prefix);
}

size_t key_of(char out[KEY_MAX], const char *prefix, enum key key, const char *name)
{
    return (size_t)snprintf(out, KEY_MAX, "%s:%s%s", prefix, key_texts[key], name);
}

size_t key_processing(char out[KEY_MAX], const char *prefix, const char *worker, const char *queue)
{
    return (size_t)snprintf(out, KEY_MAX, "%s:%s%s:%s", prefix, key_texts[KEY_PROCESSING], worker, queue);
}

size_t channel_of(char out[KEY_MAX], const char *prefix, const char *queue, const char *what)
{
    return (size_t)snprintf(out, KEY_MAX, "%s_%s_%s", prefix, queue, what);
}

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

void process_id_format(char out[PROCESS_ID_MAX], const char *worker, const char *token, const char *queue)
{
    snprintf(out, PROCESS_ID_MAX, "%s:%s:%s", worker, token, queue);
}
