/* SPDX-License-Identifier: MIT
 *
 * Reading what a server tells of itself and of the connection.
 */
#include "redis/greeting.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_LEAST 7

static bool is_unknown(const struct redisReply *hello)
{
    return reply_kind(hello) == REPLY_ERROR &&
           strncmp(reply_text(hello), GREETING_UNKNOWN, strlen(GREETING_UNKNOWN)) == 0;
}

static const char *version_of(const struct redisReply *hello)
{
    const char *version = reply_text(reply_field(hello, "version"));
    return version && *version >= '0' && *version <= '9' ? version : NULL;
}

bool greeting_is_too_old(const struct redisReply *hello)
{
    const char *version = version_of(hello);
    return is_unknown(hello) || (version && strtol(version, NULL, 10) < VERSION_LEAST);
}

const char *greeting_refusal(const struct redisReply *hello, char *out, size_t size)
{
    if (is_unknown(hello))
        snprintf(out, size, GREETING_NO_HELLO);
    else if (greeting_is_too_old(hello))
        snprintf(out, size, "the server is of version %.20s: " GREETING_NEEDED, version_of(hello));
    else if (reply_kind(hello) == REPLY_ERROR)
        snprintf(out, size, "%s", reply_text(hello));
    else if (!version_of(hello))
        snprintf(out, size, "this is not a Redis");
    else
        return NULL;
    return out;
}

int greeting_database(const struct redisReply *info)
{
    static const char field[] = " db=";
    const char *text = reply_text(info);
    const char *at = text ? strstr(text, field) : NULL;
    if (!at)
        return -1;
    char *end;
    long db = strtol(at + strlen(field), &end, 10);
    return end > at + strlen(field) && db >= 0 && db <= INT_MAX ? (int)db : -1;
}
