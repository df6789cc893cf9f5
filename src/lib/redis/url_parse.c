/* SPDX-License-Identifier: MIT
 *
 *   redis://[user][:password]@host:port/db                     rediss:// is the same with TLS, so are the others with ss
 *   unix://[user][:password]@/path?db=n
 *   redis+cluster://[user][:password]@host:port,host:port
 *   redis+sentinel://[user][:password]@host:port,host:port/master/db
 *   redis-sentinel://[[user:]password@]host:port,host:port/db?sentinelMasterId=master, as the Java client Lettuce has it
 *
 * Strict: a part that is not understood is refused, because a typing error must not lead to another server.
 */
#include "redis/url_parse.h"

#include <stdlib.h>
#include <string.h>

#include "redis/url_param.h"
#include "redis/url_text.h"

#define UNIX_PATH_MAX_LEN 107

struct scheme {
    const char *text;
    enum url_kind kind;
    bool is_tls;
    enum url_form form;
    int port;
};

static const struct scheme schemes[] = {
    {"redis://", URL_SINGLE, false, URL_FORM_PATH, 6379},
    {"rediss://", URL_SINGLE, true, URL_FORM_PATH, 6379},
    {"unix://", URL_SINGLE, false, URL_FORM_UNIX, 0},
    {"redis+cluster://", URL_CLUSTER, false, URL_FORM_PATH, 6379},
    {"rediss+cluster://", URL_CLUSTER, true, URL_FORM_PATH, 6379},
    {"redis+sentinel://", URL_SENTINEL, false, URL_FORM_PATH, 26379},
    {"rediss+sentinel://", URL_SENTINEL, true, URL_FORM_PATH, 26379},
    {"redis-sentinel://", URL_SENTINEL, false, URL_FORM_LETTUCE, 26379},
    {"rediss-sentinel://", URL_SENTINEL, true, URL_FORM_LETTUCE, 26379},
};

static const char *parse_login(struct url *url, const char *text, size_t len, enum url_form form)
{
    const char *colon = memchr(text, ':', len), *why = NULL;
    size_t user_len = colon ? (size_t)(colon - text) : len;
    const char *password = colon ? colon + 1 : NULL;
    if (len == 0)
        return "the URL has an '@' but no user before it";
    if (url->kind != URL_SINGLE && memchr(text, ',', len)) /* else the hosts before the last '@' would count as login */
        return "the URL's login stands once, before all hosts, and a comma in it is %2C";
    if (!colon && form == URL_FORM_LETTUCE) {
        user_len = 0;
        password = text;
    }
    if (user_len > 0 && !(url->user = url_text_decode(text, user_len, "the URL's user has a wrong % escape", &why)))
        return why;
    if (password && !(url->password = url_text_decode(password, (size_t)(text + len - password),
                                                      "the URL's password has a wrong % escape", &why)))
        return why;
    return NULL;
}

static const char *parse_host(struct url_node *node, const char *host, size_t len, bool is_in_brackets)
{
    if (len == 0)
        return "the URL has no host";
    if (len > URL_HOST_MAX)
        return "the URL's host is too long";
    if (!url_text_is_host(host, len))
        return "the URL's host has a character that no host can have";
    if (is_in_brackets && !memchr(host, ':', len))
        return "in a URL only an IPv6 address may stand in [brackets]";
    node->host = strndup(host, len);
    return node->host ? NULL : url_text_no_memory;
}

static const char *parse_port(struct url_node *node, const char *text, size_t len)
{
    long port = url_text_number(text, len, 65535);
    if (port < 1)
        return "the URL's port must be a number from 1 to 65535";
    node->port = (int)port;
    return NULL;
}

static const char *parse_node(struct url_node *node, const char *text, size_t len)
{
    const char *no_brackets = "an IPv6 address in a URL must stand in [brackets]";
    bool is_in_brackets = len > 0 && *text == '[';
    const char *host = text + is_in_brackets;
    const char *end = memchr(text, is_in_brackets ? ']' : ':', len);
    if (is_in_brackets && !end)
        return "the URL's IPv6 address has no ']'";
    size_t host_len = (size_t)((end ? end : text + len) - host);
    const char *rest = host + host_len + is_in_brackets;
    size_t rest_len = (size_t)(text + len - rest);
    if (host_len == 0 && len > 1 && text[1] == ':')
        return no_brackets;
    const char *why = parse_host(node, host, host_len, is_in_brackets);
    if (why || rest_len == 0)
        return why;
    if (memchr(rest + 1, ':', rest_len - 1))
        return no_brackets;
    return *rest == ':' ? parse_port(node, rest + 1, rest_len - 1) : "the URL has something after the address";
}

static const char *parse_nodes(struct url *url, const char *text, size_t len, int default_port)
{
    const char *end = text + len, *why = NULL;
    size_t n = 1;
    for (size_t i = 0; i < len; i++)
        n += text[i] == ',';
    if (n > 1 && url->kind == URL_SINGLE)
        return "only redis+cluster:// and redis+sentinel:// may have several hosts";
    if (n > URL_NODES_MAX)
        return "the URL has more than 64 hosts: a few are enough";
    url->nodes = calloc(n, sizeof *url->nodes);
    if (!url->nodes)
        return url_text_no_memory;
    while (!why && url->n_nodes < (int)n) {
        struct url_node *node = &url->nodes[url->n_nodes++];
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma ? comma : end;
        node->port = default_port;
        why = parse_node(node, text, (size_t)(stop - text));
        text = stop + 1;
    }
    return why;
}

static const char *parse_master(struct url *url, const char *text, size_t len)
{
    const char *why;
    url->master = url_text_decode(text, len, "the URL's master has a wrong % escape", &why);
    return why;
}

/* What follows the hosts, from its '/' on: a sentinel's master where the form has it there, and the database. */
static const char *parse_path(struct url *url, const char *text, size_t len, enum url_form form)
{
    const char *end = text + len, *why = NULL;
    if (url->kind == URL_SENTINEL && form == URL_FORM_PATH && len > 1) {
        const char *slash = memchr(text + 1, '/', len - 1);
        why = parse_master(url, text + 1, (size_t)((slash ? slash : end) - text - 1));
        text = slash ? slash : end;
    }
    if (why || end - text <= 1)
        return why;
    return url_param_read_db(url, text + 1, (size_t)(end - text - 1));
}

static const char *parse_hosts_and_path(struct url *url, const char **text, const struct scheme *s)
{
    size_t authority_len = strcspn(*text, "/?#");
    const char *rest = *text + authority_len;
    const char *at = memrchr(*text, '@', authority_len);
    const char *hosts = at ? at + 1 : *text;
    const char *why = at ? parse_login(url, *text, (size_t)(at - *text), s->form) : NULL;
    if (!why)
        why = parse_nodes(url, hosts, (size_t)(rest - hosts), s->port);
    size_t path_len = strcspn(rest, "?#");
    *text = rest + path_len;
    return why ? why : parse_path(url, rest, path_len, s->form);
}

static const char *parse_socket(struct url *url, const char **text, const struct scheme *s)
{
    const char *slash = strchr(*text, '/');
    const char *at = slash ? memchr(*text, '@', (size_t)(slash - *text)) : NULL;
    const char *why = at ? parse_login(url, *text, (size_t)(at - *text), s->form) : NULL;
    const char *path = at ? at + 1 : *text;
    if (why)
        return why;
    if (*path != '/')
        return "a unix URL needs an absolute path: unix:///path/to.sock";
    size_t len = strcspn(path, "?#");
    *text = path + len;
    if (!(url->path = url_text_decode(path, len, "the URL's path has a wrong % escape", &why)))
        return why;
    return strlen(url->path) > UNIX_PATH_MAX_LEN ? "the URL's path is too long for a Unix socket" : NULL;
}

const char *url_parse_conflict(const struct url *url)
{
    if (url->password && url->password_file)
        return "there is a password in the URL already, or beside it: leave it out, or password_file";
    if (url->sentinel_password && url->sentinel_password_file)
        return "there is a sentinel_password already: leave it out, or sentinel_password_file";
    if (url->tls.is_insecure && url->tls.ca)
        return "tls_ca has no effect with tls_insecure, which verifies nothing";
    return NULL;
}

/* What each part may be beside the others. */
static const char *check(const struct url *url, const struct scheme *s)
{
    if (url->kind == URL_SENTINEL && (!url->master || !*url->master))
        return s->form == URL_FORM_LETTUCE ? "a redis-sentinel URL needs the master's name: ?sentinelMasterId=name"
                                           : "a redis+sentinel URL needs the master's name: redis+sentinel://host/name";
    for (const char *c = url->master ? url->master : ""; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return "the URL's master has a character that no name can have";
    if (url->kind == URL_CLUSTER && url->db != 0)
        return "a cluster has no database but 0: leave it out of the URL";
    return url_parse_conflict(url);
}

const char *url_parse_text(struct url *out, const char *text)
{
    const struct scheme *s = schemes, *end = schemes + sizeof schemes / sizeof *schemes;
    while (s < end && strncmp(text, s->text, strlen(s->text)) != 0)
        s++;
    if (s == end)
        return "a URL must begin with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://";
    out->kind = s->kind;
    out->tls.is_on = s->is_tls;
    text += strlen(s->text);
    const char *why = (s->form == URL_FORM_UNIX ? parse_socket : parse_hosts_and_path)(out, &text, s);
    if (!why && strchr(text, '#'))
        return "the URL has a '#': write it as %23";
    if (!why && *text == '?')
        why = url_param_read(out, text + 1, s->form);
    return why ? why : check(out, s);
}
