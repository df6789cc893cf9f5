/* SPDX-License-Identifier: MIT
 *
 * The options that every verb takes, and the checks that several verbs' options share.
 */
#include "opt.h"

#include <muster/client.h>

const struct opt opt_common[] = {
    [OPT_URL] = {.name = "url",
                 .kind = OPT_STRING,
                 .argument = "URL",
                 .help = "where Redis is: redis://[user][:password]@host:port/db or unix:///path?db=N",
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
    {.help = NULL},
};

/* The names of groups have the same rules as the names of queues. */
const char *opt_check_group(const char *text)
{
    return muster_queue_check(text) ? "a group has 1 to 200 bytes and no control characters" : NULL;
}
