/* SPDX-License-Identifier: MIT
 *
 * Where Redis is, how to get there, and as whom to talk to it.
 */
#ifndef URL_H
#define URL_H

#include <muster/client.h>
#include <stdbool.h>

#define URL_DEFAULT "redis://127.0.0.1:6379"
#define URL_NODES_MAX 64
#define URL_HOST_MAX 255

enum url_kind {
    URL_SINGLE,  /* one Redis: at the one node, or at the path */
    URL_CLUSTER, /* the nodes are some of the cluster's */
    URL_SENTINEL /* the nodes are sentinels, which know where `master` is */
};

struct url_node {
    char *host; /* a name or an address, without brackets */
    int port;
};

struct url_tls {
    bool is_on;
    bool is_insecure;
    char *ca; /* these may be NULL; `cert` and `key` are given both or not at all */
    char *cert;
    char *key;
    char *server_name;
};

/* Either `path` (a Unix socket) or one node or more. The url owns all strings; those but `path` may be NULL. */
struct url {
    enum url_kind kind;
    struct url_node *nodes;
    int n_nodes;
    char *path;
    char *user;
    char *password;
    int db;
    char *master;        /* set with URL_SENTINEL, and only then */
    char *sentinel_user; /* the sentinels' own login; `user` and `password` are those of the master */
    char *sentinel_password;
    char *password_file, *sentinel_password_file;   /* which have these passwords; they are set when first read */
    bool is_password_old, is_sentinel_password_old; /* its file cannot be read any more, as was told */
    struct url_tls tls;                             /* with URL_SENTINEL for the sentinels, too */
    int replicas;                                   /* how many of them must confirm what is added; 0: none */
    int replicas_ms;                                /* how long that may take; 0: nothing was said */
    bool fsync;
};

/* Parse. A NULL text means MUSTER_URL, or the default if that is not set. On an error `out` is empty, and `*why` is a
 * static string. E_INVALID also if it needs TLS, and this build has none. */
int url_parse(struct url *out, const char *text, const char **why);
int url_copy(struct url *out, const struct url *from);
void url_clear(struct url *url);
/* Free a text that others must not find in freed memory. NULL is allowed. */
void url_wipe(char *text);

/* The place for people, without passwords: "127.0.0.1:6379", the socket's path, "h1:7000,h2:7001 (cluster)" or
 * "mymaster by h1:26379,h2:26379". */
void url_describe(const struct url *url, char *out, size_t size);

#endif
