/* SPDX-License-Identifier: MIT
 *
 * Makes keys and channels. All names were checked before they come here, so they fit.
 */
#include "protocol/keys.h"

#include <stdio.h>

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

size_t key_channel(char out[KEY_MAX], const char *prefix, const char *queue, const char *what)
{
    return (size_t)snprintf(out, KEY_MAX, "%s_%s_%s", prefix, queue, what);
}
