/* SPDX-License-Identifier: MIT
 *
 * What a Redis tells of itself (INFO, CONFIG GET), and what that means for a queue. Whatever this user may not see is
 * said to be unknown, with the rule that lets him see it; muster itself needs none of it. doc/engines.md has the reasons
 * for each setting.
 */
#include "client/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/info.h"

#define MEMORY_PERCENT 80

bool doctor_is_over(int err)
{
    return redis_is_unanswered(err) || err == MUSTER_E_NOMEM || err == MUSTER_E_BUSY;
}

void doctor_say(struct doctor *d, enum muster_advice_level level, const char *subject, const char *advice,
                const char *what, ...)
{
    char words[600];
    va_list args;
    if (d->stop)
        return;
    va_start(args, what);
    vsnprintf(words, sizeof words, what, args);
    va_end(args);
    const struct muster_advice told = {.level = level, .subject = subject, .what = words, .advice = advice};
    d->stop = d->fn(&told, d->arg) != 0;
}

/* ---- INFO ---- */

static void look_at_eviction(struct doctor *d, const char *info)
{
    char policy[INFO_VALUE_SIZE];
    if (!info_text(info, "maxmemory_policy", policy))
        doctor_say(d, MUSTER_ADVICE_UNKNOWN, "eviction", "", "this server does not tell its maxmemory-policy");
    else if (strcmp(policy, "noeviction") == 0)
        doctor_say(d, MUSTER_ADVICE_GOOD, "eviction", "", "maxmemory-policy is noeviction");
    else
        doctor_say(d, MUSTER_ADVICE_MEND, "eviction", "CONFIG SET maxmemory-policy noeviction",
                   "maxmemory-policy is %s: a full Redis drops keys, a whole queue among them", policy);
}

static void look_at_memory(struct doctor *d, const char *info)
{
    int64_t used = info_number(info, "used_memory"), most = info_number(info, "maxmemory");
    if (most > 0 && used * 100 / most >= MEMORY_PERCENT)
        doctor_say(
            d, MUSTER_ADVICE_MEND, "memory",
            "raise maxmemory, or make room: `muster queues` shows what failed lists hold, `muster drop` forgets it",
            "%" PRId64 " of %" PRId64 " MiB are used: a full Redis refuses tasks", used >> 20, most >> 20);
    else if (most > 0)
        doctor_say(d, MUSTER_ADVICE_GOOD, "memory", "", "%" PRId64 " of %" PRId64 " MiB are used", used >> 20,
                   most >> 20);
    else
        doctor_say(d, MUSTER_ADVICE_GOOD, "memory", "", "%" PRId64 " MiB are used, without a bound", used >> 20);
}

static void look_at_disk(struct doctor *d, const char *info)
{
    if (info_is(info, "aof_enabled", "0"))
        doctor_say(d, MUSTER_ADVICE_MEND, "disk", "CONFIG SET appendonly yes",
                   "there is no append-only file: a restart begins with what the last snapshot has, or with nothing");
    else if (!info_is(info, "aof_last_write_status", "ok") && info_number(info, "aof_enabled") == 1)
        doctor_say(d, MUSTER_ADVICE_MEND, "disk", "look at the disk, and at the log of Redis",
                   "the append-only file cannot be written");
    else if (info_number(info, "aof_enabled") == 1)
        doctor_say(d, MUSTER_ADVICE_GOOD, "disk", "", "the append-only file is on and written");
    if (info_is(info, "rdb_last_bgsave_status", "err"))
        doctor_say(d, MUSTER_ADVICE_MEND, "snapshot", "look at the disk, and at the log of Redis",
                   "the last snapshot failed; with stop-writes-on-bgsave-error Redis refuses tasks");
}

/* For CONFIG: how many replicas there are. */
static int look_at_info(struct doctor *d, int64_t *n_replicas)
{
    struct redisReply *reply = NULL;
    char version[INFO_VALUE_SIZE];
    int err = client_ask(d->client, &reply, (const char *const[]){"INFO", NULL});
    const char *info = err == MUSTER_OK ? reply_text(reply) : NULL;
    if (info) {
        bool has_version = info_text(info, "redis_version", version);
        doctor_say(d, MUSTER_ADVICE_GOOD, "version", "", "Redis %s", has_version ? version : "of an unknown version");
        look_at_eviction(d, info);
        look_at_memory(d, info);
        look_at_disk(d, info);
        doctor_look_at_replicas(d, info);
        err = doctor_look_at_place(d, info);
        *n_replicas = info_number(info, "connected_slaves");
    } else if (!doctor_is_over(err)) {
        doctor_say_unseen(d, "server", "+info", "eviction, memory, disk and replicas");
        doctor_look_at_confirmation(d, redis_replicas(d->client->redis));
    }
    redis_reply_free(reply);
    return doctor_is_over(err) ? err : MUSTER_OK;
}

/* ---- CONFIG GET ---- */

/* The value of a setting; "" if there is none. */
#define VALUE_SIZE 200
static int config_text(struct doctor *d, const char *name, char out[VALUE_SIZE], bool *is_refused)
{
    struct redisReply *reply = NULL;
    int err = client_ask(d->client, &reply, (const char *const[]){"CONFIG", "GET", name, NULL});
    const char *text = err == MUSTER_OK ? reply_text(reply_at(reply, 1)) : NULL;
    snprintf(out, VALUE_SIZE, "%s", text ? text : "");
    redis_reply_free(reply);
    *is_refused = err != MUSTER_OK;
    return doctor_is_over(err) ? err : MUSTER_OK;
}

/* What is too small for the longest task breaks the connection that carries it, each time. */
static const struct {
    const char *name, *skip; /* the number stands behind this word */
    const char *mend;
} limits[] = {
    {"proto-max-bulk-len", "", "CONFIG SET proto-max-bulk-len 512mb"},
    {"client-query-buffer-limit", "", "CONFIG SET client-query-buffer-limit 1gb"},
    {"client-output-buffer-limit", "normal ", "CONFIG SET client-output-buffer-limit 'normal 0 0 0'"},
};
/* Beside a task, a command or an answer has names. */
#define BESIDE_TASK 1024

/* The hard limit or the soft one behind it, whichever is less; 0: there is none. */
static unsigned long long limit_of(const char *text, const char *skip)
{
    const char *at = *skip ? strstr(text, skip) : text;
    char *end;
    unsigned long long hard = at ? strtoull(at + strlen(skip), &end, 10) : 0;
    unsigned long long soft = at && *skip ? strtoull(end, NULL, 10) : 0;
    return hard == 0 || (soft > 0 && soft < hard) ? soft : hard;
}

static int look_at_limits(struct doctor *d)
{
    char text[VALUE_SIZE];
    bool is_refused, any = false;
    int err = MUSTER_OK;
    const size_t longest = d->client->max_task_len;
    for (size_t i = 0; i < sizeof limits / sizeof *limits && err == MUSTER_OK; i++) {
        err = config_text(d, limits[i].name, text, &is_refused);
        unsigned long long limit = err == MUSTER_OK ? limit_of(text, limits[i].skip) : 0;
        if (limit == 0 || limit >= longest + (i > 0 ? BESIDE_TASK : 0))
            continue;
        any = true;
        doctor_say(d, MUSTER_ADVICE_MEND, "limits", limits[i].mend,
                   "%s is %llu KiB, and a task may have %zu: a longer one, or its result, breaks the connection",
                   limits[i].name, limit >> 10, longest >> 10);
    }
    if (err == MUSTER_OK && !any)
        doctor_say(d, MUSTER_ADVICE_GOOD, "limits", "", "the longest task passes, of %zu MiB", longest >> 20);
    return err;
}

static int look_at_config(struct doctor *d, int64_t n_replicas)
{
    char text[VALUE_SIZE];
    bool is_refused = false;
    int err = config_text(d, "appendfsync", text, &is_refused);
    if (err == MUSTER_OK && is_refused)
        doctor_say_unseen(d, "settings", "+config|get", "appendfsync, min-replicas-to-write, timeout and limits");
    if (err != MUSTER_OK || is_refused)
        return err;
    if (strcmp(text, "no") == 0)
        doctor_say(
            d, MUSTER_ADVICE_MEND, "appendfsync", "CONFIG SET appendfsync everysec",
            "appendfsync is no: a crash of the machine loses what its system had not written, maybe half a minute");
    else if (*text)
        doctor_say(d, MUSTER_ADVICE_GOOD, "appendfsync", "", "appendfsync is %s%s", text,
                   strcmp(text, "everysec") == 0 ? ": a crash can lose a second; `always` loses nothing" : "");
    err = config_text(d, "min-replicas-to-write", text, &is_refused);
    if (err == MUSTER_OK && n_replicas > 0 && strcmp(text, "0") == 0)
        doctor_say(
            d, MUSTER_ADVICE_MEND, "min-replicas", "CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 1",
            "min-replicas-to-write is 0: a master that is cut off from its replicas goes on taking tasks, which a "
            "failover then loses");
    if (err == MUSTER_OK)
        err = config_text(d, "timeout", text, &is_refused);
    if (err == MUSTER_OK && *text && strcmp(text, "0") != 0)
        doctor_say(d, MUSTER_ADVICE_MEND, "timeout", "CONFIG SET timeout 0",
                   "idle connections are closed after %s s, those of idle workers, too", text);
    return err == MUSTER_OK ? look_at_limits(d) : err;
}

/* The format cannot be read, with which each connection begins: without that right nothing can be tried. */
static bool is_format_denied(const char *why)
{
    return strstr(why, "NOPERM") && (strstr(why, "'get'") || reply_missing_right(why) == REPLY_KEY);
}

static int look(struct doctor *d)
{
    int64_t n_replicas = 0;
    int err = doctor_connect(d);
    if (err == MUSTER_E_DENIED && is_format_denied(redis_error(d->client->redis))) {
        doctor_say_missing(d, "+@string", redis_error(d->client->redis));
        return MUSTER_OK;
    }
    if (err == MUSTER_OK)
        err = doctor_look_at_pace(d);
    if (err == MUSTER_OK && !d->stop)
        err = look_at_info(d, &n_replicas);
    if (err == MUSTER_OK && !d->stop)
        err = look_at_config(d, n_replicas);
    if (err == MUSTER_OK && !d->stop && !d->is_replica)
        err = doctor_look_at_rights(d);
    if (err == MUSTER_OK && !d->stop && !d->is_replica)
        err = doctor_try(d);
    return err;
}

/* What is refused for a reason that passes is told, and not waited for. */
int muster_client_advise(struct muster_client *c, enum muster_role role, muster_advice_fn *fn, void *arg)
{
    struct doctor d = {.client = c, .fn = fn, .arg = arg, .role = role};
    if (role < MUSTER_ROLE_ALL || role > MUSTER_ROLE_OPERATOR)
        return client_refuse(c, "there is no such role");
    redis_set_once(c->redis, true);
    int err = look(&d);
    redis_set_once(c->redis, false);
    return err;
}
