/* SPDX-License-Identifier: MIT
 *
 * muster web: the dashboard.
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "connection.h"
#include "place.h"
#include "web/web.h"

enum { LISTEN, TOKEN_FILE, NAME, READ_ONLY };

#define PORT "8379"

static const char *check_place(const char *text)
{
    char *host;
    int port = place_read(text, &host);
    free(host);
    return port < 0 ? "it must be ADDR:PORT or PORT, as 127.0.0.1:" PORT " or [::1]:" PORT : NULL;
}

static const struct opt options[] = {
    [LISTEN] = {.name = "listen",
                .kind = OPT_STRING,
                .argument = "ADDR:PORT",
                .help = "where to serve",
                .fallback = "127.0.0.1:" PORT,
                .env = "MUSTER_WEB_LISTEN",
                .check = check_place},
    [TOKEN_FILE] = {.name = "token-file",
                    .kind = OPT_STRING,
                    .argument = "FILE",
                    .help = "who shows its first line may come in; needed beyond loopback",
                    .env = "MUSTER_WEB_TOKEN_FILE"},
    [NAME] = {.name = "name",
              .kind = OPT_LIST,
              .argument = "HOST",
              .help = "a name by which browsers may call this host, as behind a proxy; may be given more than once"},
    [READ_ONLY] = {.name = "read-only", .help = "show everything, change nothing", .env = "MUSTER_WEB_READ_ONLY"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    char *host, *token = NULL;
    int port = place_read(own[LISTEN].text, &host);
    int code = own[TOKEN_FILE].text ? connection_read_secret(call, &options[TOKEN_FILE], &own[TOKEN_FILE], &token) : 0;
    if (!code && !token && !place_is_loopback(host))
        code = complain_usage(call, "--listen %s: beyond loopback a token is needed: --token-file", own[LISTEN].text);
    const struct web_options o = {
        .call = call,
        .place = {.host = host,
                  .port = port,
                  .token = token,
                  .names = own[NAME].texts,
                  .n_names = own[NAME].n_texts,
                  .unknown_host = "this is not a name of this host; add it with --name",
                  .connections = WEB_CONNECTIONS},
        .is_read_only = own[READ_ONLY].set,
    };
    if (!code)
        code = web_run(&o);
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
    free(host);
    return code;
}

const struct command cmd_web = {
    .name = "web",
    .operands = "",
    .summary = "Serve a dashboard, an API and metrics over HTTP, until it is interrupted",
    .about =
        "/ is the dashboard, /metrics is for Prometheus, /healthz tells whether Redis answers, and /api has the same\n"
        "in JSON, in the shapes of --json. One look at Redis a second is enough for all who view. Beyond loopback\n"
        "everything needs a token, as `Authorization: Bearer` or by signing in; without TLS it goes over the wire as\n"
        "it is, so put a proxy with TLS in front. Nothing is fetched from elsewhere.\n",
    .examples = "muster web\n"
                "muster web --listen 127.0.0.1:9000 --read-only\n"
                "muster web --listen 0.0.0.0:8379 --token-file /etc/muster/web.token --name queue.example.org\n",
    .options = options,
    .run = run,
};
