/* SPDX-License-Identifier: MIT
 *
 * A fuzzer for URLs and the options beside them. The lines of the input are the URL and, for each bit of the first byte,
 * an option. Whatever they are: what is accepted can be written as a URL that says the same, copied and shown; the check
 * and the making agree; a refusal has words and leaves nothing behind.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/url_make.h"
#include "redis/url_parse.h"

#define TEXT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "it does not hold: %s\n", what);
        abort();
    }
}

/* ---- the same URL, written anew ---- */

static char *put(char *out, const char *text)
{
    return stpcpy(out, text);
}

/* Each byte that could mean something is escaped. */
static char *put_escaped(char *out, const char *text)
{
    for (; *text; text++)
        out += sprintf(out, "%%%02x", (unsigned char)*text);
    return out;
}

static char *put_login(char *out, const struct url *url)
{
    if (!url->password && !url->user)
        return out;
    out = url->user ? put_escaped(out, url->user) : out;
    if (!url->password)
        return put(out, "@");
    out = put(out, ":");
    out = put_escaped(out, url->password);
    return put(out, "@");
}

static char *put_text(char *out, char *mark, const char *name, const char *value)
{
    if (!value)
        return out;
    out += sprintf(out, "%c%s=", *mark, name);
    *mark = '&';
    return put_escaped(out, value);
}

static char *put_number(char *out, char *mark, const char *name, int value)
{
    if (value == 0)
        return out;
    out += sprintf(out, "%c%s=%d", *mark, name, value);
    *mark = '&';
    return out;
}

static void put_parameters(char *out, const struct url *url)
{
    char mark = '?';
    out = put_text(out, &mark, "tls_ca", url->tls.ca);
    out = put_text(out, &mark, "tls_cert", url->tls.cert);
    out = put_text(out, &mark, "tls_key", url->tls.key);
    out = put_text(out, &mark, "tls_server_name", url->tls.server_name);
    out = put_number(out, &mark, "tls_insecure", url->tls.is_insecure);
    out = put_text(out, &mark, "sentinel_user", url->sentinel_user);
    out = put_text(out, &mark, "sentinel_password", url->sentinel_password);
    out = put_text(out, &mark, "password_file", url->password_file);
    out = put_text(out, &mark, "sentinel_password_file", url->sentinel_password_file);
    out = put_number(out, &mark, "db", url->path ? url->db : 0);
    out = put_number(out, &mark, "fsync", url->fsync);
    out = put_number(out, &mark, "replicas", url->replicas);
    if (url->replicas_ms)
        sprintf(out, ",%d", url->replicas_ms);
}

static void write_url(char *out, const struct url *url)
{
    static const char *const kinds[] = {[URL_SINGLE] = "", [URL_CLUSTER] = "+cluster", [URL_SENTINEL] = "+sentinel"};
    if (url->path)
        out = put(out, "unix://");
    else
        out += sprintf(out, "redis%s%s://", url->tls.is_on ? "s" : "", kinds[url->kind]);
    out = put_login(out, url);
    if (url->path) { /* its beginning must be seen */
        out = put(out, "/");
        out = put_escaped(out, url->path + 1);
    }
    for (int i = 0; i < url->n_nodes; i++) {
        const struct url_node *node = &url->nodes[i];
        const char *comma = i > 0 ? "," : "";
        out += sprintf(out, strchr(node->host, ':') ? "%s[%s]:%d" : "%s%s:%d", comma, node->host, node->port);
    }
    if (url->master) {
        out = put(out, "/");
        out = put_escaped(out, url->master);
    }
    if (!url->path)
        out += sprintf(out, "/%d", url->db);
    put_parameters(out, url);
}

/* ---- comparing ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct url *a, const struct url *b)
{
    bool is = a->kind == b->kind && a->n_nodes == b->n_nodes && a->db == b->db && a->tls.is_on == b->tls.is_on &&
              a->tls.is_insecure == b->tls.is_insecure && a->replicas == b->replicas &&
              a->replicas_ms == b->replicas_ms && a->fsync == b->fsync;
    is = is && is_same_text(a->path, b->path) && is_same_text(a->user, b->user) &&
         is_same_text(a->password, b->password) && is_same_text(a->master, b->master);
    is = is && is_same_text(a->sentinel_user, b->sentinel_user) &&
         is_same_text(a->sentinel_password, b->sentinel_password) && is_same_text(a->tls.ca, b->tls.ca);
    is = is && is_same_text(a->tls.cert, b->tls.cert) && is_same_text(a->tls.key, b->tls.key) &&
         is_same_text(a->tls.server_name, b->tls.server_name);
    is = is && is_same_text(a->password_file, b->password_file) &&
         is_same_text(a->sentinel_password_file, b->sentinel_password_file);
    for (int i = 0; is && i < a->n_nodes; i++)
        is = a->nodes[i].port == b->nodes[i].port && is_same_text(a->nodes[i].host, b->nodes[i].host);
    return is;
}

static void check_accepted(const struct url *url)
{
    static char text[TEXT_MAX];
    char shown[40];
    const char *why;
    struct url again, copy;
    must(url->path ? url->n_nodes == 0 && *url->path == '/' : url->n_nodes > 0, "it leads somewhere");
    must((url->kind == URL_SENTINEL) == (url->master != NULL), "sentinels know a master");
    must(url->password || !url->user, "a user has a password");
    write_url(text, url);
    must(url_parse(&again, text, &why) == MUSTER_OK, "it can be written");
    must(is_same(url, &again), "what is written says the same");
    must(url_copy(&copy, url) == MUSTER_OK, "there is memory");
    must(is_same(url, &copy), "a copy is the same");
    memset(shown, '#', sizeof shown);
    url_describe(url, shown, sizeof shown);
    must(memchr(shown, '\0', sizeof shown) != NULL, "what is shown has an end");
    url_clear(&again);
    url_clear(&copy);
}

/* ---- the input ---- */

static const char *take_line(char **rest)
{
    return strsep(rest, "\n");
}

static struct url_options read_options(unsigned given, char **rest)
{
    struct url_options o = {.url = take_line(rest)};
    const char **const texts[] = {&o.user,     &o.password,        &o.tls_ca,
                                  &o.tls_cert, &o.tls_server_name, &o.sentinel_password};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (given & 1u << i)
            *texts[i] = take_line(rest);
    if (o.tls_cert)
        o.tls_key = take_line(rest);
    o.tls_insecure = given >> 6 & 1;
    o.replicas = given & 0x80 ? (int)given % 130 - 5 : 0;
    return o;
}

static void check_text(const char *text)
{
    struct url url = {0};
    const char *why = url_parse_text(&url, text);
    must(!why || *why, "a refusal has words");
    url_clear(&url);
    must(!muster_url_check(text) == !why, "the check of a URL agrees");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    char *text = strndup((const char *)data + 1, size - 1), *rest = text;
    must(text != NULL, "there is memory");
    struct url_options o = read_options(data[0], &rest);
    struct url url;
    check_text(o.url);
    bool is_refused = url_make_check(&o) != NULL;
    int err = url_make(&url, &o);
    must(is_refused == (err == MUSTER_E_INVALID) && (is_refused || err == MUSTER_OK), "the check of options agrees");
    if (!is_refused)
        check_accepted(&url);
    else
        must(!url.nodes && !url.path && !url.password, "a refusal leaves nothing behind");
    url_clear(&url);
    free(text);
    return 0;
}
