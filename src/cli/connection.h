/* SPDX-License-Identifier: MIT
 *
 * Where Redis is, as whom to talk to it, and what must be confirmed: from the common options, and from the files with
 * passwords that these name. The library reads a file again before each connection; what came by a pipe is read once.
 */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include "command.h"
#include <stdbool.h>

struct connection {
    const struct opt_value *common;
    char *url;                          /* with the files of passwords; NULL: there are none */
    char *password, *sentinel_password; /* NULL: none came by a pipe */
    int replicas, replicas_ms;
};

/* Returns EXIT_DONE; on an error it prints a line about it and returns another exit code. */
int connection_read(const struct call *call, struct connection *out);
void connection_clear(struct connection *c);

/* Name it in the environment, for the programs that this one starts: they find the same Redis. What came by a pipe is a
 * file for them, as long as this program runs. On an error it clears `c`, and returns as connection_read(). */
int connection_pass_on(const struct call *call, struct connection *c);

/* For a verb that connects to nothing, or not in this way: complain about an option of the group. The environment, which
 * may be meant for other verbs, is complained about only if the verb connects after all. */
int connection_refuse(const struct call *call, const char *why);
int connection_refuse_environment(const struct call *call, const char *why);

/* A `check` for --replicas. */
const char *connection_check_replicas(const char *text);

/* The fields of the options of a client or a worker. */
#define CONNECTION_OPTIONS(c)                                                                                      \
    .url = (c)->url ? (c)->url : (c)->common[OPT_URL].text, .prefix = (c)->common[OPT_PREFIX].text,                \
    .password = (c)->password, .tls_ca = (c)->common[OPT_TLS_CA].text, .tls_cert = (c)->common[OPT_TLS_CERT].text, \
    .tls_key = (c)->common[OPT_TLS_KEY].text, .tls_server_name = (c)->common[OPT_TLS_SERVER_NAME].text,            \
    .sentinel_password = (c)->sentinel_password, .tls_insecure = (c)->common[OPT_TLS_INSECURE].set,                \
    .replicas = (c)->replicas, .replicas_ms = (c)->replicas_ms, .fsync = (c)->common[OPT_FSYNC].set

/* Does the URL lead to sentinels? */
bool connection_is_by_sentinel(const struct call *call);

/* Where Redis is, for people: the URL without user, password and parameters; to be freed. NULL or "": the default. */
char *connection_where(const char *url);

/* The library's words with what the user has said in the place of a parameter's name: `tls_ca` becomes "--tls-ca", or
 * MUSTER_TLS_CA. The caller frees. */
char *connection_words(const struct call *call, const char *words);

/* Read the first line of the file that an option names, by the rule for passwords; to be freed. An option that is not
 * given reads nothing. Returns an exit code, after a line about what is wrong. */
int connection_read_secret(const struct call *call, const struct opt *o, const struct opt_value *value, char **out);

#endif
