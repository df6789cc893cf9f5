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
#include <time.h>

#include "redis/info.h"

/* Half a second either way is a slow answer. */
#define CLOCK_OFF_MS 1000
#define MEMORY_PERCENT 80

bool doctor_is_over(int err)
{
    return redis_is_unanswered(err) || err == MUSTER_E_NOMEM;
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
static int config_text(struct doctor *d, const char *name, char out[64], bool *is_refused)
{
    struct redisReply *reply = NULL;
    int err = client_ask(d->client, &reply, (const char *const[]){"CONFIG", "GET", name, NULL});
    const char *text = err == MUSTER_OK ? reply_text(reply_at(reply, 1)) : NULL;
    snprintf(out, 64, "%s", text ? text : "");
    redis_reply_free(reply);
    *is_refused = err != MUSTER_OK;
    return doctor_is_over(err) ? err : MUSTER_OK;
}

static int look_at_config(struct doctor *d, int64_t n_replicas)
{
    char text[64];
    bool is_refused = false;
    int err = config_text(d, "appendfsync", text, &is_refused);
    if (err == MUSTER_OK && is_refused)
        doctor_say_unseen(d, "settings", "+config|get", "appendfsync, min-replicas-to-write and timeout");
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
    return err;
}

/* ---- the clock ---- */

static int look_at_clock(struct doctor *d)
{
    int64_t redis_ms = 0;
    struct timespec now;
    int err = muster_client_time(d->client, &redis_ms);
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t off_ms = redis_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (err != MUSTER_OK)
        return doctor_is_over(err) ? err : MUSTER_OK; /* the rights say it */
    if (off_ms > CLOCK_OFF_MS || off_ms < -CLOCK_OFF_MS)
        doctor_say(d, MUSTER_ADVICE_MEND, "clock", "let both hosts keep time by NTP",
                   "the clock of Redis is %" PRId64
                   " ms %s that of this host; all times of muster are by that of Redis",
                   off_ms < 0 ? -off_ms : off_ms, off_ms < 0 ? "behind" : "ahead of");
    else
        doctor_say(d, MUSTER_ADVICE_GOOD, "clock", "", "Redis and this host agree within a second");
    return MUSTER_OK;
}

/* The format cannot be read, with which each connection begins: without that right nothing can be tried. */
static bool is_format_denied(const char *why)
{
    return strstr(why, "NOPERM") && (strstr(why, "'get'") || strstr(why, "one of the keys"));
}

int muster_client_advise(struct muster_client *c, enum muster_role role, muster_advice_fn *fn, void *arg)
{
    struct doctor d = {.client = c, .fn = fn, .arg = arg, .role = role};
    struct redisReply *reply = NULL;
    int64_t n_replicas = 0;
    if (role < MUSTER_ROLE_ALL || role > MUSTER_ROLE_OPERATOR)
        return client_refuse(c, "there is no such role");
    int err = client_ask(c, &reply, (const char *const[]){"TIME", NULL});
    redis_reply_free(reply);
    if (err == MUSTER_E_DENIED && is_format_denied(redis_error(c->redis))) {
        doctor_say_missing(&d, "+@string", redis_error(c->redis));
        return MUSTER_OK;
    }
    if (err == MUSTER_E_DENIED && strstr(redis_error(c->redis), "NOPERM"))
        err = MUSTER_OK; /* the rights say it */
    if (err == MUSTER_OK)
        err = look_at_info(&d, &n_replicas);
    if (err == MUSTER_OK && !d.stop)
        err = look_at_config(&d, n_replicas);
    if (err == MUSTER_OK && !d.stop)
        err = look_at_clock(&d);
    if (err == MUSTER_OK && !d.stop)
        err = doctor_look_at_rights(&d);
    if (err == MUSTER_OK && !d.stop)
        err = doctor_try(&d);
    return err;
}
