/* SPDX-License-Identifier: MIT
 *
 * Reading what a server tells of itself and of the connection.
 */
#include "redis/greeting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
