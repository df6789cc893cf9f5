/* SPDX-License-Identifier: MIT
 *
 * Reads what INFO answers. Valkey says that it is some Redis, too, for programs that know no other.
 */
#include "client/server_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "redis/info.h"

static int64_t number(const char *info, const char *name)
{
    char text[INFO_VALUE_SIZE], *end;
    if (!info_text(info, name, text))
        return -1;
    long long value = strtoll(text, &end, 10);
    return end == text || value < 0 ? -1 : value;
}

/* "12.345678", in seconds. */
static int64_t time_ms(const char *info, const char *name)
{
    char text[INFO_VALUE_SIZE];
    double seconds = info_text(info, name, text) ? c_locale_real(text) : -1;
    return seconds >= 0 && seconds < 1e12 ? (int64_t)(seconds * 1000) : -1;
}

static int64_t sum(int64_t one, int64_t other)
{
    return one < 0 || other < 0 ? -1 : one + other;
}

static void text(const char *info, const char *name, char out[32])
{
    char value[INFO_VALUE_SIZE];
    (void)info_text(info, name, value);
    snprintf(out, 32, "%.31s", value);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?'; /* it is shown to people */
}

void server_info_read(struct muster_server_info *s, const char *info)
{
    text(info, "valkey_version", s->version);
    snprintf(s->engine, sizeof s->engine, "%s", *s->version ? "Valkey" : "Redis");
    if (!*s->version)
        text(info, "redis_version", s->version);
    text(info, "maxmemory_policy", s->eviction);
    s->memory = number(info, "used_memory");
    s->memory_max = number(info, "maxmemory");
    s->clients = number(info, "connected_clients");
    s->commands_per_s = number(info, "instantaneous_ops_per_sec");
    s->cpu_ms = sum(time_ms(info, "used_cpu_user"), time_ms(info, "used_cpu_sys"));
    s->uptime_s = number(info, "uptime_in_seconds");
    s->replicas = number(info, "connected_slaves");
    s->append_only = number(info, "aof_enabled");
    s->unsaved = number(info, "rdb_changes_since_last_save");
}
