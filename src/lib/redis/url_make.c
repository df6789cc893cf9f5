/* SPDX-License-Identifier: MIT
 *
 * First the text, or the environment's; then the options beside it; then what must be given together, wherever each
 * part comes from.
 */
#include "redis/url_make.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "redis/tls.h"
#include "redis/url_param.h"
#include "redis/url_parse.h"
#include "redis/url_text.h"

/* An empty variable counts as none. */
static const char *url_of_environment(void)
{
    const char *text = secure_getenv("MUSTER_URL");
    return text && *text ? text : NULL;
}

static const char *read_text(struct url *out, const char *text)
{
    if (!text)
        text = url_of_environment();
    const char *why = url_parse_text(out, text ? text : URL_DEFAULT);
    return !why && out->tls.is_on ? tls_missing() : why;
}

static const char *take_text(char **out, const char *text)
{
    if (text && !(*out = strdup(text)))
        return url_text_no_memory;
    return NULL;
}

static const char *apply_login(struct url *out, const struct url_options *o)
{
    if (o->user && !*o->user)
        return "user has no value";
    if (o->user && out->user)
        return "there is a user in the URL already: leave out one of the two";
    if (o->password && out->password)
        return "there is a password in the URL already: leave out one of the two";
    const char *why = take_text(&out->user, o->user);
    return why ? why : take_text(&out->password, o->password);
}

static const char *check_together(const struct url *url)
{
    if (url->user && !url->password && !url->password_file)
        return "there is a user but no password: redis://user:password@host";
    if (url->sentinel_user && !url->sentinel_password && !url->sentinel_password_file)
        return "there is a sentinel_user but no sentinel_password";
    if (!url->tls.cert != !url->tls.key)
        return url->tls.cert ? "there is a tls_cert but no tls_key" : "there is a tls_key but no tls_cert";
    if (url->tls.server_name && strlen(url->tls.server_name) > URL_HOST_MAX)
        return "tls_server_name is too long";
    return url_parse_conflict(url);
}

static const char *apply_options(struct url *out, const struct url_options *o)
{
    const char *why = apply_login(out, o);
    if (!why)
        why = url_param_apply(out, o);
    return why ? why : check_together(out);
}

static int end(struct url *out, const char *why)
{
    if (!why)
        return MUSTER_OK;
    url_clear(out);
    return why == url_text_no_memory ? MUSTER_E_NOMEM : MUSTER_E_INVALID;
}

int url_make(struct url *out, const struct url_options *o)
{
    *out = (struct url){0};
    const char *why = read_text(out, o->url);
    return end(out, why ? why : apply_options(out, o));
}

int url_parse(struct url *out, const char *text, const char **why)
{
    *out = (struct url){0};
    *why = read_text(out, text);
    if (!*why)
        *why = check_together(out);
    return end(out, *why);
}

const char *url_make_check(const struct url_options *o)
{
    struct url url = {0};
    const char *why = read_text(&url, o->url);
    if (why)
        why = words_say("%s: %s", o->url ? "url" : "MUSTER_URL", why);
    else
        why = apply_options(&url, o);
    url_clear(&url);
    return why;
}

static const char *apply_handed_in(struct url *out, const struct url_options *o)
{
    const struct url_options confirmed = {.replicas = o->replicas, .replicas_ms = o->replicas_ms, .fsync = o->fsync};
    bool is_other = o->user || o->password;
#define X(name, where, how, what) is_other = is_other || o->name != confirmed.name;
    URL_OPTIONS(X)
#undef X
    if (is_other)
        return "user, password, tls_... and sentinel_... have no effect on a connection that is handed in";
    return url_param_apply(out, &confirmed);
}

int url_make_handed_in(struct url *out, const struct url_options *o)
{
    *out = (struct url){0};
    return end(out, apply_handed_in(out, o));
}

const char *url_make_check_handed_in(const struct url_options *o)
{
    struct url url = {0};
    return apply_handed_in(&url, o);
}

const char *muster_url_check(const char *text)
{
    struct url url = {0};
    const char *why = text ? read_text(&url, text) : "a URL is needed";
    url_clear(&url);
    return why;
}
