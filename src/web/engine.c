/* SPDX-License-Identifier: MIT
 *
 * A refusal is asked about seldom: each leaves an entry in the server's log of denied commands.
 */
#include "engine.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <muster/client.h>
#include <stdbool.h>
#include <stdio.h>

#include "need.h"
#include "now.h"

#define AGE_MS 5000
#define DENIED_MS 60000

static void add_number(cJSON *object, const char *key, double number)
{
    bool is_known = number >= 0; /* not of NAN */
    if (!cJSON_AddItemToObject(object, key, need(is_known ? cJSON_CreateNumber(number) : cJSON_CreateNull())))
        need(NULL);
}

/* How many processors it kept busy since it was asked last; -1 at first, and after it began anew. */
static double cpu(const struct engine *e, int64_t at_ms, int64_t cpu_ms)
{
    if (e->at_ms == 0 || e->cpu_ms < 0 || cpu_ms < e->cpu_ms || at_ms <= e->at_ms)
        return -1;
    return round((double)(cpu_ms - e->cpu_ms) / (double)(at_ms - e->at_ms) * 1000) / 1000;
}

static cJSON *figures(struct engine *e, const struct muster_server_info *info)
{
    cJSON *object = need(cJSON_CreateObject());
    char name[sizeof info->engine + sizeof info->version + 1];
    int64_t at_ms = now_ms();
    snprintf(name, sizeof name, "%s %s", info->engine, info->version);
    need(cJSON_AddStringToObject(object, "engine", name));
    add_number(object, "used_memory", (double)info->memory);
    add_number(object, "maxmemory", (double)info->memory_max);
    need(cJSON_AddStringToObject(object, "maxmemory_policy", info->eviction));
    add_number(object, "clients", (double)info->clients);
    add_number(object, "commands_per_s", (double)info->commands_per_s);
    add_number(object, "cpu", cpu(e, at_ms, info->cpu_ms));
    add_number(object, "replicas", (double)info->replicas);
    add_number(object, "append_only", (double)info->append_only);
    add_number(object, "unsaved", (double)info->unsaved);
    add_number(object, "uptime_s", (double)info->uptime_s);
    e->at_ms = at_ms;
    e->cpu_ms = info->cpu_ms;
    return object;
}

static cJSON *refusal(int err, const char *why)
{
    cJSON *object = need(cJSON_CreateObject());
    char words[500];
    snprintf(words, sizeof words, "this user may not read what the server says of itself (ACL SETUSER USER +info): %s",
             why);
    need(cJSON_AddStringToObject(object, "error", muster_err_name(err)));
    need(cJSON_AddStringToObject(object, "message", words));
    return object;
}

struct cJSON *engine_look(struct engine *e, struct muster_client *client)
{
    struct muster_server_info info = {.size = sizeof info};
    if (now_ms() < e->due_ms)
        return NULL;
    int err = muster_client_server(client, &info);
    e->due_ms = now_ms() + (err == MUSTER_E_DENIED ? DENIED_MS : AGE_MS);
    return err == MUSTER_OK         ? figures(e, &info)
           : err == MUSTER_E_DENIED ? refusal(err, muster_client_error(client))
                                    : NULL;
}
