/* SPDX-License-Identifier: MIT
 *
 * The options that every verb takes, and the checks that several verbs' options share.
 */
#include "opt.h"

#include <muster/client.h>
#include <stdio.h>
#include <string.h>

#include "connection.h"

static const char *check_file(const char *path)
{
    return *path ? NULL : "it names no file";
}

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
    [OPT_JSON] = {.name = "json", .help = "print JSON: one object per line", .env = "MUSTER_JSON"},
    [OPT_TIMEOUT] = {.name = "timeout",
                     .kind = OPT_DURATION,
                     .argument = "TIME",
                     .help = "how long to wait for the answer of Redis to one request",
                     .fallback = "5s",
                     .env = "MUSTER_TIMEOUT",
                     .min = 1,
                     .max = DAY_MS},
    [OPT_HELP] = {.name = "help", .letter = 'h', .help = "print this help"},
    [OPT_VERSION] = {.name = "version", .help = "print the version"},
    [OPT_PASSWORD_FILE] = {.name = "password-file",
                           .kind = OPT_STRING,
                           .argument = "FILE",
                           .help = "the password, if the URL has none, is the first line of this file, which\n"
                                   "                           others must not be able to read (chmod 600)",
                           .env = "MUSTER_PASSWORD_FILE",
                           .group = "Connection",
                           .check = check_file},
    [OPT_SENTINEL_PASSWORD_FILE] = {.name = "sentinel-password-file",
                                    .kind = OPT_STRING,
                                    .argument = "FILE",
                                    .help = "the same for the password of the sentinels",
                                    .env = "MUSTER_SENTINEL_PASSWORD_FILE",
                                    .check = check_file},
    [OPT_TLS_CA] = {.name = "tls-ca",
                    .kind = OPT_STRING,
                    .argument = "FILE",
                    .help = "with rediss://, trust this CA, a file or a directory, not the system's",
                    .env = "MUSTER_TLS_CA"},
    [OPT_TLS_CERT] = {.name = "tls-cert",
                      .kind = OPT_STRING,
                      .argument = "FILE",
                      .help = "show this certificate to a server that asks for one; with --tls-key",
                      .env = "MUSTER_TLS_CERT"},
    [OPT_TLS_KEY] =
        {.name = "tls-key", .kind = OPT_STRING, .argument = "FILE", .help = "its key", .env = "MUSTER_TLS_KEY"},
    [OPT_TLS_SERVER_NAME] = {.name = "tls-server-name",
                             .kind = OPT_STRING,
                             .argument = "NAME",
                             .help = "whom the server's certificate must be for; else the host of the URL",
                             .env = "MUSTER_TLS_SERVER_NAME"},
    [OPT_TLS_INSECURE] = {.name = "tls-insecure",
                          .help = "verify no certificate: whoever is in between reads all",
                          .env = "MUSTER_TLS_INSECURE"},
    [OPT_REPLICAS] = {.name = "replicas",
                      .kind = OPT_STRING,
                      .argument = "N[,MS]",
                      .help = "what is added must be confirmed by N replicas, within MS milliseconds",
                      .env = "MUSTER_REPLICAS",
                      .check = connection_check_replicas},
    [OPT_FSYNC] = {.name = "fsync",
                   .help = "what is added must be on the disk when it is acknowledged",
                   .env = "MUSTER_FSYNC"},
    {.help = NULL},
};

const char opt_common_about[] =
    "  The URL may have most of these as parameters: rediss://host?tls_ca=FILE&replicas=1. What is in capitals and\n"
    "  brackets is a variable of the environment that stands for the option; an option wins over its variable.\n";

const char *opt_label(char out[OPT_LABEL_SIZE], const struct opt *o, const struct opt_value *value)
{
    if (value->from_environment)
        return o->env;
    if (o->name)
        snprintf(out, OPT_LABEL_SIZE, "--%s", o->name);
    else
        snprintf(out, OPT_LABEL_SIZE, "-%c", o->letter);
    return out;
}

const struct opt *opt_find(const struct opt *table, const char *name)
{
    for (; table->help; table++)
        if ((table->name && strcmp(table->name, name) == 0) || (table->letter && table->letter == name[0] && !name[1]))
            return table;
    return NULL;
}

int64_t opt_wait_ms(const struct opt_value *timeout, int64_t for_ever)
{
    return timeout->set && !timeout->from_environment ? timeout->number : for_ever;
}

/* The names of groups have the same rules as the names of queues. */
const char *opt_check_group(const char *text)
{
    return muster_queue_check(text) ? "a group has 1 to 200 bytes and no control characters" : NULL;
}
