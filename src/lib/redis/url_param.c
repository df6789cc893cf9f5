/* SPDX-License-Identifier: MIT
 *
 * One row per parameter, and all its refusals as static strings: a value may be a password, so no words show it. A
 * parameter that would change nothing is refused, because who wrote it believes that it does something.
 */
#include "redis/url_param.h"

#include <stddef.h>
#include <string.h>

#include "redis/url_text.h"

#define DB_MAX 1000000

enum need { NEED_ANY, NEED_TLS, NEED_SENTINEL, NEED_UNIX, NEED_LETTUCE };
#define WORDS_ANY ""
#define WORDS_TLS " needs TLS: rediss://, rediss+cluster:// or rediss+sentinel://"
#define WORDS_SENTINEL " is for Sentinel only: redis+sentinel://"
#define WORDS_UNIX " is for unix:// only: the database of other URLs is the path, redis://host/1"
#define WORDS_LETTUCE " is for redis-sentinel:// only: else the master is in the path, redis+sentinel://host/master"

struct parameter {
    const char *name;
    size_t at; /* in struct url */
    const char *(*read)(const struct parameter *p, struct url *url, const char *text, size_t len);
    enum need need;
    const char *no_effect, *empty, *wrong_escape, *twice, *not_one;
};

static const char *read_TEXT(const struct parameter *p, struct url *url, const char *text, size_t len)
{
    const char *why;
    char *value = url_text_decode(text, len, p->wrong_escape, &why);
    if (value)
        memcpy((char *)url + p->at, &value, sizeof value);
    return why;
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
    long n = url_text_number(text, n_len, URL_REPLICAS_MAX);
    long ms = comma ? url_text_number(comma + 1, len - n_len - 1, URL_REPLICAS_MS_MAX) : 0;
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

static const struct parameter parameters[] = {
#define X(n, where, how, what)                                \
    {.name = #n,                                              \
     .at = offsetof(struct url, where),                       \
     .read = read_##how,                                      \
     .need = NEED_##what,                                     \
     .no_effect = "the URL's " #n WORDS_##what,               \
     .empty = "the URL's " #n " has no value",                \
     .wrong_escape = "the URL's " #n " has a wrong % escape", \
     .twice = "the URL has " #n " twice",                     \
     .not_one = "the URL's " #n " must be 1, or be left out"},
    URL_PARAMS(X)
#undef X
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

static const char *read_one(struct url *url, const char *text, size_t len, enum url_form form, unsigned *given)
{
    const char *is = memchr(text, '=', len);
    size_t name_len = is ? (size_t)(is - text) : len, i = 0;
    while (i < N_PARAMETERS &&
           (strlen(parameters[i].name) != name_len || memcmp(parameters[i].name, text, name_len) != 0))
        i++;
    if (i == N_PARAMETERS)
        return "the URL has a parameter that is not known: there are tls_ca, tls_cert, tls_key, tls_server_name, "
               "tls_insecure, sentinel_user, sentinel_password, replicas and fsync";
    const struct parameter *p = &parameters[i];
    if (!has_need(url, form, p->need))
        return p->no_effect;
    if (*given & 1u << i)
        return p->twice;
    *given |= 1u << i;
    return len > name_len + 1 ? p->read(p, url, is + 1, len - name_len - 1) : p->empty;
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
