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

size_t key_channels(char out[CHANNELS_MAX], const char *prefix, int db)
{
    return (size_t)snprintf(out, CHANNELS_MAX, db ? "%s@%d" : "%s", prefix, db);
}

size_t key_wake(char out[CHANNEL_MAX], const char *channels, const char *worker)
{
    return (size_t)snprintf(out, CHANNEL_MAX, "%s:wake:%s", channels, worker);
}

size_t key_events(char out[CHANNEL_MAX], const char *channels)
{
    return (size_t)snprintf(out, CHANNEL_MAX, "%s:events", channels);
}

size_t key_channel(char out[CHANNEL_MAX], const char *channels, const char *queue, const char *what)
{
    return (size_t)snprintf(out, CHANNEL_MAX, "%s_%s_%s", channels, queue, what);
}
