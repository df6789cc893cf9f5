/* SPDX-License-Identifier: MIT
 *
 * A URL as a value: copied, shown, wiped.
 */
#include "redis/url.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All texts but the hosts. */
#define URL_TEXTS(X)          \
    X(password_file)          \
    X(sentinel_password_file) \
    X(path)                   \
    X(user)                   \
    X(password)               \
    X(master)                 \
    X(sentinel_user)          \
    X(sentinel_password)      \
    X(tls.ca)                 \
    X(tls.cert)               \
    X(tls.key)                \
    X(tls.server_name)

static bool copy_text(char **out, const char *from)
{
    *out = from ? strdup(from) : NULL;
    return *out || !from;
}

static bool copy_nodes(struct url *out, const struct url *from)
{
    bool is_good = true;
    out->nodes = from->n_nodes > 0 ? calloc((size_t)from->n_nodes, sizeof *out->nodes) : NULL;
    out->n_nodes = out->nodes ? from->n_nodes : 0;
    for (int i = 0; i < out->n_nodes; i++) {
        out->nodes[i].port = from->nodes[i].port;
        is_good = copy_text(&out->nodes[i].host, from->nodes[i].host) && is_good;
    }
    return is_good && out->n_nodes == from->n_nodes;
}

int url_copy(struct url *out, const struct url *from)
{
    *out = *from;
    bool is_good = copy_nodes(out, from);
#define X(field) is_good = copy_text(&out->field, from->field) && is_good;
    URL_TEXTS(X)
#undef X
    if (is_good)
        return MUSTER_OK;
    url_clear(out);
    return MUSTER_E_NOMEM;
}

void url_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void url_clear(struct url *url)
{
    for (int i = 0; i < url->n_nodes; i++)
        url_wipe(url->nodes[i].host);
    free(url->nodes);
#define X(field) url_wipe(url->field);
    URL_TEXTS(X)
#undef X
    *url = (struct url){0};
}

/* Append, as far as there is room. */
static void __attribute__((format(printf, 3, 4))) add(char *out, size_t size, const char *format, ...)
{
    size_t len = strnlen(out, size);
    va_list args;
    va_start(args, format);
    vsnprintf(out + len, size - len, format, args);
    va_end(args);
}

void url_describe(const struct url *url, char *out, size_t size)
{
    *out = '\0';
    if (url->path)
        add(out, size, "%s", url->path);
    if (url->kind == URL_SENTINEL)
        add(out, size, "%s by ", url->master);
    for (int i = 0; i < url->n_nodes; i++) {
        const struct url_node *node = &url->nodes[i];
        add(out, size, strchr(node->host, ':') ? "%s[%s]:%d" : "%s%s:%d", i > 0 ? "," : "", node->host, node->port);
    }
    if (url->kind == URL_CLUSTER)
        add(out, size, " (cluster)");
}
