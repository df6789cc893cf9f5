/* SPDX-License-Identifier: MIT
 *
 * Reads the options of a client, and says what is wrong with them.
 */
#include "protocol/client_options.h"

#include "base/sized.h"
#include "base/words.h"
#include "protocol/names.h"
#include "redis/confirm.h"
#include "redis/url_make.h"
#include "redis/wire.h"

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_MS (24 * 3600 * 1000)

static const char *check_options(const struct muster_client_options *o)
{
    const char *why = names_check_prefix_option(o->prefix);
    if (why)
        return why;
    if (o->timeout_ms < 0 || o->timeout_ms > TIMEOUT_MAX_MS)
        return words_say("timeout_ms is %d; it must be 1 to %d, or 0 for the default of %d", o->timeout_ms,
                         TIMEOUT_MAX_MS, TIMEOUT_DEFAULT_MS);
    if (o->max_task_len > MUSTER_TASK_MAX)
        return words_say("max_task_len is %zu; it must be 1 to %zu, or 0 for the default of %zu", o->max_task_len,
                         MUSTER_TASK_MAX, MUSTER_TASK_MAX_DEFAULT);
    if (o->redis && wire_refusal(o->redis))
        return words_say("redis %s", wire_refusal(o->redis));
    return NULL;
}

static struct url_options place_of(const struct muster_client_options *o)
{
    return (struct url_options)URL_OPTIONS_OF_O;
}

static int timeout_of(const struct muster_client_options *o)
{
    return o->timeout_ms ? o->timeout_ms : TIMEOUT_DEFAULT_MS;
}

/* NULL, or what is wrong with it in words. */
static const char *check_confirm(const struct muster_client_options *o, const struct url_options *place)
{
    struct url url;
    int err = o->redis ? url_make_handed_in(&url, place) : url_make(&url, place);
    const char *why = err == MUSTER_OK ? confirm_check(&url, timeout_of(o)) : NULL;
    url_clear(&url);
    return why;
}

const char *muster_client_options_check(const struct muster_client_options *options)
{
    struct muster_client_options o;
    const char *why = sized_read(SIZED_CLIENT_OPTIONS, &o, options);
    if (!why)
        why = check_options(&o);
    if (why)
        return why;
    const struct url_options place = place_of(&o);
    why = o.redis ? url_make_check_handed_in(&place) : url_make_check(&place);
    return why ? why : check_confirm(&o, &place);
}

int client_options_read(struct client_options *out, const struct muster_client_options *options)
{
    struct muster_client_options o;
    *out = (struct client_options){.timeout_ms = 0};
    if (sized_read(SIZED_CLIENT_OPTIONS, &o, options) || check_options(&o))
        return MUSTER_E_INVALID;
    const struct url_options place = place_of(&o);
    int err = o.redis ? url_make_handed_in(&out->url, &place) : url_make(&out->url, &place);
    out->prefix = names_prefix(o.prefix);
    out->timeout_ms = timeout_of(&o);
    out->max_task_len = o.max_task_len ? o.max_task_len : MUSTER_TASK_MAX_DEFAULT;
    out->redis = o.redis;
    return err == MUSTER_OK && confirm_check(&out->url, out->timeout_ms) ? MUSTER_E_INVALID : err;
}

void client_options_clear(struct client_options *o)
{
    url_clear(&o->url);
}
