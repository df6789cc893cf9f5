/* SPDX-License-Identifier: MIT
 *
 * One row per parameter, and all its refusals as static strings: a value may be a password, so no words show it. A
 * parameter that would change nothing is refused, because who wrote it believes that it does something.
 */
#include "redis/url_param.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "redis/url_text.h"

#define DB_MAX 1000000

enum need { NEED_ANY, NEED_TLS, NEED_SENTINEL, NEED_UNIX, NEED_LETTUCE };
#define WORDS_ANY ""
#define WORDS_TLS " needs TLS: rediss://"
#define WORDS_SENTINEL " is for Sentinel only: redis+sentinel://"
#define WORDS_UNIX " is for unix:// only: the database of other URLs is the path, redis://host/1"
#define WORDS_LETTUCE " is for redis-sentinel:// only: else the master is in the path, redis+sentinel://host/master"

struct parameter {
    const char *name;
    size_t at; /* in struct url */
    const char *(*read)(const struct parameter *p, struct url *url, const char *text, size_t len);
    enum need need;
    const char *no_effect, *empty, *wrong_escape, *twice, *not_one;
    /* As an option: where it lies in struct url_options, and how it is put into struct url. NULL: it is none. */
    size_t option_at;
    bool (*is_given)(const void *option);
    const char *(*apply)(const struct parameter *p, struct url *url, const void *option);
};

static const char *read_TEXT(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    char *value = strndup(text, len);
    if (!value)
        return url_text_no_memory;
    memcpy((char *)url + p->at, &value, sizeof value);
    return NULL;
}

static const char *read_FLAG(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    const bool yes = true;
    if (len != 1 || *text != '1')
        return p->not_one;
    memcpy((char *)url + p->at, &yes, sizeof yes);
    return NULL;
}

static const char *read_REPLICAS(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    const char *comma = memchr(text, ',', len);
    size_t n_len = comma ? (size_t)(comma - text) : len;
    long n = url_text_number(text, n_len, MUSTER_REPLICAS_MAX);
    long ms = comma ? url_text_number(comma + 1, len - n_len - 1, MUSTER_REPLICAS_MS_MAX) : 0;
    (void)p;
    if (n < 1 || (comma && ms < 1))
        return "the URL's replicas must be N or N,MS: N from 1 to 100, MS from 1 to 3600000";
    url->replicas = (int)n;
    url->replicas_ms = (int)ms;
    return NULL;
}

static const char *read_DB(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    (void)p;
    return url_param_read_db(url, text, len);
}

static const char *apply_TEXT(const struct parameter *p, struct url *url, const void *option)
{
    const char *text;
    char *old, *value;
    memcpy(&text, option, sizeof text);
    if (!*text)
        return p->empty;
    value = strdup(text);
    if (!value)
        return url_text_no_memory;
    memcpy(&old, (char *)url + p->at, sizeof old);
    url_wipe(old);
    memcpy((char *)url + p->at, &value, sizeof value);
    return NULL;
}

static const char *apply_FLAG(const struct parameter *p, struct url *url, const void *option)
{
    const bool yes = true;
    (void)option;
    memcpy((char *)url + p->at, &yes, sizeof yes);
    return NULL;
}

static bool has_TEXT(const void *option)
{
    const char *text;
    memcpy(&text, option, sizeof text);
    return text;
}

static bool has_FLAG(const void *option)
{
    int flag;
    memcpy(&flag, option, sizeof flag);
    return flag;
}

static const struct parameter parameters[] = {
#define ROW(n, where, how, what)                                                                  \
    .name = #n, .at = offsetof(struct url, where), .read = read_##how, .need = NEED_##what,       \
    .no_effect = #n WORDS_##what, .empty = #n " has no value",                                    \
    .wrong_escape = "the URL's " #n " has a wrong % escape", .twice = "the URL has " #n " twice", \
    .not_one = "the URL's " #n " must be 1, or be left out"
#define PARAMETER(n, where, how, what) {ROW(n, where, how, what)},
#define OPTION(n, where, how, what)                                                                \
    {ROW(n, where, how, what), .option_at = offsetof(struct url_options, n), .apply = apply_##how, \
     .is_given = has_##how},
    URL_OPTIONS(OPTION) URL_PARAMS(PARAMETER)
#undef OPTION
#undef PARAMETER
#undef ROW
};
#define N_PARAMETERS (sizeof parameters / sizeof *parameters)

const char *url_param_read_db(struct url *url, const char *text, size_t len)
{
    long db = url_text_number(text, len, DB_MAX);
    if (db < 0)
        return "the URL's database must be a number";
    url->db = (int)db;
    return NULL;
}

static bool has_need(const struct url *url, enum url_form form, enum need need)
{
    switch (need) {
    case NEED_TLS:
        return url->tls.is_on;
    case NEED_SENTINEL:
        return url->kind == URL_SENTINEL;
    case NEED_UNIX:
        return form == URL_FORM_UNIX;
    case NEED_LETTUCE:
        return form == URL_FORM_LETTUCE;
    case NEED_ANY:
        break;
    }
    return true;
}

static const char *read_decoded(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    const char *why;
    char *value = url_text_decode(text, len, p->wrong_escape, &why);
    if (value)
        why = p->read(p, url, value, strlen(value));
    url_wipe(value);
    return why;
}

static const char *read_one(struct url *url, const char *text, size_t len, enum url_form form, unsigned *given)
{
    const char *is = memchr(text, '=', len);
    size_t name_len = is ? (size_t)(is - text) : len, i = 0;
    while (i < N_PARAMETERS &&
           (strlen(parameters[i].name) != name_len || memcmp(parameters[i].name, text, name_len) != 0))
        i++;
    if (i == N_PARAMETERS)
        return "the URL has a parameter that is not known: there are tls_ca, tls_cert, tls_key, tls_server_name, "
               "tls_insecure, sentinel_user, sentinel_password, sentinel_password_file, password_file, replicas and "
               "fsync";
    const struct parameter *p = &parameters[i];
    if (!has_need(url, form, p->need))
        return p->no_effect;
    if (*given & 1u << i)
        return p->twice;
    *given |= 1u << i;
    return len > name_len + 1 ? read_decoded(p, url, is + 1, len - name_len - 1) : p->empty;
}

const char *url_param_read(struct url *url, const char *text, enum url_form form)
{
    unsigned given = 0;
    const char *why = NULL;
    for (bool is_more = true; is_more && !why;) {
        size_t len = strcspn(text, "&");
        why = read_one(url, text, len, form, &given);
        is_more = text[len] == '&';
        text += len + 1;
    }
    return why;
}

static const char *apply_replicas(struct url *url, const struct url_options *o)
{
    if (o->replicas < 0 || o->replicas > MUSTER_REPLICAS_MAX)
        return "replicas must be from 1 to 100, or 0 for none";
    if (o->replicas_ms < 0 || o->replicas_ms > MUSTER_REPLICAS_MS_MAX)
        return "replicas_ms must be from 1 to 3600000, or 0 for the default";
    if (o->replicas) {
        url->replicas = o->replicas;
        url->replicas_ms = 0;
    }
    if (o->replicas_ms && !url->replicas)
        return "replicas_ms has no effect without replicas";
    if (o->replicas_ms)
        url->replicas_ms = o->replicas_ms;
    return NULL;
}

const char *url_param_apply(struct url *url, const struct url_options *o)
{
    const char *why = NULL;
    for (const struct parameter *p = parameters; !why && p < parameters + N_PARAMETERS; p++) {
        const void *option = (const char *)o + p->option_at;
        if (p->apply && p->is_given(option))
            why = has_need(url, URL_FORM_PATH, p->need) ? p->apply(p, url, option) : p->no_effect;
    }
    return why ? why : apply_replicas(url, o);
}
