/* SPDX-License-Identifier: MIT
 *
 * The options that every verb takes, and the checks that several verbs' options share.
 */
#include "opt.h"

#include <muster/client.h>

#include "connection.h"

const struct opt opt_common[] = {
    [OPT_URL] = {.name = "url",
                 .kind = OPT_STRING,
                 .argument = "URL",
                 .help =
                     "where Redis is: redis://[user][:password]@host:port/db or unix:///path?db=N;\n"
                     "                           rediss:// with TLS; redis+cluster://host,host;\n"
                     "                           redis+sentinel://host,host/master/db; a password in it shows in `ps`",
                 .fallback = "redis://127.0.0.1:6379",
                 .env = "MUSTER_URL",
                 .check = muster_url_check},
    [OPT_PREFIX] = {.name = "prefix",
                    .kind = OPT_STRING,
                    .argument = "NAME",
                    .help = "the namespace: all keys begin with this",
                    .fallback = "muster",
                    .env = "MUSTER_PREFIX",
                    .check = muster_prefix_check},
    [OPT_JSON] = {.name = "json", .help = "print JSON: one object per line"},
    [OPT_TIMEOUT] = {.name = "timeout",
                     .kind = OPT_DURATION,
                     .argument = "TIME",
                     .help = "how long to wait for the answer of Redis to one request",
                     .fallback = "5s",
                     .min = 1,
                     .max = DAY_MS},
    [OPT_HELP] = {.name = "help", .help = "print this help"},
    [OPT_VERSION] = {.name = "version", .help = "print the version"},
    [OPT_TLS_CA] = {.name = "tls-ca",
                    .kind = OPT_STRING,
                    .argument = "FILE",
                    .help = "with rediss://, trust this CA, a file or a directory, and not those of the system",
                    .group = "Connection"},
    [OPT_TLS_CERT] = {.name = "tls-cert",
                      .kind = OPT_STRING,
                      .argument = "FILE",
                      .help = "show this certificate to a server that asks for one; with --tls-key"},
    [OPT_TLS_KEY] = {.name = "tls-key", .kind = OPT_STRING, .argument = "FILE", .help = "its key"},
    [OPT_TLS_SERVER_NAME] = {.name = "tls-server-name",
                             .kind = OPT_STRING,
                             .argument = "NAME",
                             .help = "whom the server's certificate must be for; else the host of the URL"},
    [OPT_TLS_INSECURE] = {.name = "tls-insecure", .help = "verify no certificate: whoever is in between reads all"},
    [OPT_REPLICAS] = {.name = "replicas",
                      .kind = OPT_STRING,
                      .argument = "N[,MS]",
                      .help = "what is added must be confirmed by N replicas, within MS milliseconds",
                      .check = connection_check_replicas},
    [OPT_FSYNC] = {.name = "fsync", .help = "what is added must be on the disk when it is acknowledged"},
    {.help = NULL},
};

const char opt_common_about[] =
    "  The URL may have most of these as parameters: rediss://host?tls_ca=FILE&replicas=1. A password that is not in\n"
    "  the URL is the first line of the file that " OPT_PASSWORD_FILE " names; that of sentinels,\n"
    "  of the file that " OPT_SENTINEL_PASSWORD_FILE " names.\n";

/* The names of groups have the same rules as the names of queues. */
const char *opt_check_group(const char *text)
{
    return muster_queue_check(text) ? "a group has 1 to 200 bytes and no control characters" : NULL;
}
