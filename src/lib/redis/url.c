/* SPDX-License-Identifier: MIT
 *
 * redis://[user][:password]@host:port/db and unix:///path?db=n. Strict: a part that is not understood is refused,
 * because a typing error must not lead to another server.
 */
#include "redis/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define PORT_DEFAULT 6379
#define DB_MAX 1000000
#define HOST_MAX 255
#define UNIX_PATH_MAX_LEN 107

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char out_of_memory[] = "out of memory";

/* A part of the URL with %XX decoded. On a failure it is NULL, and `why` is the reason: `wrong` if a % is wrong or
 * stands for NUL. */
static char *decode(const char *text, size_t len, const char *wrong, const char **why)
{
    char *out = malloc(len + 1);
    size_t n = 0;
    *why = out ? NULL : out_of_memory;
    for (size_t i = 0; out && i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 1 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                free(out);
                *why = wrong;
                return NULL;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[n++] = c;
    }
    if (out)
        out[n] = '\0';
    return out;
}

/* The decimal number that the whole text is, from 0 to max; -1 if it is none. */
static long number(const char *text, size_t len, long max)
{
    long value = 0;
    if (len == 0)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
        if (value > max)
            return -1;
    }
    return value;
}

static const char *parse_login(struct url *url, const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? (size_t)(colon - text) : len;
    if (len == 0)
        return "the URL has an '@' but no user before it";
    const char *why = NULL;
    if (user_len > 0 && !(url->user = decode(text, user_len, "the URL's user has a wrong % escape", &why)))
        return why;
    if (colon &&
        !(url->password = decode(colon + 1, len - user_len - 1, "the URL's password has a wrong % escape", &why)))
        return why;
    if (url->user && !url->password)
        return "the URL has a user but no password: redis://user:password@host";
    return NULL;
}

static const char *parse_port(struct url *url, const char *text, size_t len)
{
    long port = number(text, len, 65535);
    if (port < 1)
        return "the URL's port must be a number from 1 to 65535";
    url->port = (int)port;
    return NULL;
}

static const char *parse_address(struct url *url, const char *text, size_t len)
{
    const char *host = text, *rest;
    size_t host_len;
    if (len > 0 && *text == '[') {
        const char *end = memchr(text, ']', len);
        if (!end)
            return "the URL's IPv6 address has no ']'";
        host = text + 1;
        host_len = (size_t)(end - host);
        rest = end + 1;
    } else {
        host_len = strcspn(text, ":");
        if (host_len > len)
            host_len = len;
        rest = text + host_len;
    }
    size_t rest_len = len - (size_t)(rest - text);
    if (host_len == 0)
        return len > 1 && text[1] == ':' ? "an IPv6 address in a URL must stand in [brackets]" : "the URL has no host";
    if (host_len > HOST_MAX)
        return "the URL's host is too long";
    for (size_t i = 0; i < host_len; i++)
        if ((unsigned char)host[i] <= ' ' || host[i] == 0x7f || strchr("%[]", host[i]))
            return "the URL's host has a character that no host can have";
    if (host != text && !memchr(host, ':', host_len))
        return "in a URL only an IPv6 address may stand in [brackets]";
    if (rest_len > 0 && memchr(rest + 1, ':', rest_len - 1))
        return "an IPv6 address in a URL must stand in [brackets]";
    url->host = strndup(host, host_len);
    url->port = PORT_DEFAULT;
    if (rest_len == 0)
        return NULL;
    return *rest == ':' ? parse_port(url, rest + 1, rest_len - 1) : "the URL has something after the address";
}

static const char *parse_db(struct url *url, const char *text, size_t len)
{
    long db = number(text, len, DB_MAX);
    if (db < 0)
        return "the URL's database must be a number";
    url->db = (int)db;
    return NULL;
}

static const char *parse_redis(struct url *url, const char *text)
{
    size_t authority_len = strcspn(text, "/?#");
    const char *rest = text + authority_len;
    const char *at = memrchr(text, '@', authority_len);
    const char *why = at ? parse_login(url, text, (size_t)(at - text)) : NULL;
    const char *address = at ? at + 1 : text;
    if (!why)
        why = parse_address(url, address, (size_t)(rest - address));
    if (why || *rest == '\0' || strcmp(rest, "/") == 0)
        return why;
    return *rest == '/' ? parse_db(url, rest + 1, strlen(rest + 1)) : "the URL has something after the address";
}

static const char *parse_unix(struct url *url, const char *text)
{
    const char *slash = strchr(text, '/');
    const char *at = slash ? memchr(text, '@', (size_t)(slash - text)) : NULL;
    const char *why = at ? parse_login(url, text, (size_t)(at - text)) : NULL;
    if (why)
        return why;
    text = at ? at + 1 : text;
    if (*text != '/')
        return "a unix URL needs an absolute path: unix:///path/to.sock";
    size_t path_len = strcspn(text, "?#");
    if (!(url->path = decode(text, path_len, "the URL's path has a wrong % escape", &why)))
        return why;
    if (strlen(url->path) > UNIX_PATH_MAX_LEN)
        return "the URL's path is too long for a Unix socket";
    text += path_len;
    if (*text == '\0')
        return NULL;
    return strncmp(text, "?db=", 4) == 0 ? parse_db(url, text + 4, strlen(text + 4))
                                         : "after its path a unix URL may have ?db=N only";
}

/* An empty variable counts as none. */
static const char *url_of_environment(void)
{
    const char *text = secure_getenv("MUSTER_URL");
    return text && *text ? text : NULL;
}

int url_parse(struct url *out, const char *text, const char **why)
{
    *out = (struct url){0};
    *why = NULL;
    if (!text)
        text = url_of_environment();
    text = text ? text : URL_DEFAULT;
    if (strncmp(text, "redis://", 8) == 0)
        *why = parse_redis(out, text + 8);
    else if (strncmp(text, "unix://", 7) == 0)
        *why = parse_unix(out, text + 7);
    else if (strncmp(text, "rediss://", 9) == 0)
        *why = "rediss:// needs TLS, which muster does not have: use a TLS tunnel and redis://";
    else
        *why = "a URL must begin with redis:// or unix://";
    if (!*why && !out->host && !out->path)
        *why = out_of_memory;
    if (!*why)
        return MUSTER_OK;
    url_clear(out);
    return *why == out_of_memory ? MUSTER_E_NOMEM : MUSTER_E_INVALID;
}

static int copy_text(char **out, const char *from)
{
    *out = from ? strdup(from) : NULL;
    return from && !*out ? MUSTER_E_NOMEM : MUSTER_OK;
}

int url_copy(struct url *out, const struct url *from)
{
    *out = (struct url){.port = from->port, .db = from->db};
    if (copy_text(&out->host, from->host) || copy_text(&out->path, from->path) || copy_text(&out->user, from->user) ||
        copy_text(&out->password, from->password)) {
        url_clear(out);
        return MUSTER_E_NOMEM;
    }
    return MUSTER_OK;
}

void url_clear(struct url *url)
{
    if (url->password)
        explicit_bzero(url->password, strlen(url->password));
    free(url->host);
    free(url->path);
    free(url->user);
    free(url->password);
    *url = (struct url){0};
}

void url_describe(const struct url *url, char *out, size_t size)
{
    if (url->path)
        snprintf(out, size, "%s", url->path);
    else
        snprintf(out, size, strchr(url->host, ':') ? "[%s]:%d" : "%s:%d", url->host, url->port);
}

const char *url_check_option(const char *text)
{
    struct url url;
    const char *why;
    if (url_parse(&url, text, &why) == MUSTER_OK) {
        url_clear(&url);
        return NULL;
    }
    return words_say("%s: %s", text ? "url" : "MUSTER_URL", why);
}

const char *muster_url_check(const char *text)
{
    struct url url;
    const char *why = "a URL is needed";
    if (text)
        url_parse(&url, text, &why);
    if (text && !why)
        url_clear(&url);
    return why;
}
