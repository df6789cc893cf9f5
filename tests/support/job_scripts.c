/* SPDX-License-Identifier: MIT
 *
 * Jobs by their scripts alone.
 */
#include "job_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"

void jobs_sound(struct scene *s)
{
    invariant_assert(s->server->redis, s->prefix);
}

const char *job_field(struct scene *s, const char *id, const char *name)
{
    static char values[4][512];
    static int at;
    char *found = raw_string(s->server->redis, "HGET %s:job:%s %s", s->prefix, id, name), *value = values[at++ % 4];
    snprintf(value, sizeof values[0], "%s", found ? found : "");
    free(found);
    return value;
}

int64_t job_number(struct scene *s, const char *id, const char *name)
{
    return strtoll(job_field(s, id, name), NULL, 10);
}

void job_put_after(struct scene *s, const char *id, const char *n, const char *const *on)
{
    const char *args[32] = {"q", "", id, "retries", "5"};
    int at = 5;
    for (; *on && at + 2 < (int)N_OF(args); on++) {
        args[at++] = "after";
        args[at++] = *on;
    }
    assert_int_equal(at, 5 + 2 * atoi(n));
    args[at++] = "may_be_missing";
    args[at++] = "1";
    assert_ok(script_status(script_call_list(s, SCRIPT_PUT, args)));
}

void assert_jobs_in(struct scene *s, const char *state, const char *const *ids)
{
    for (; *ids; ids++)
        if (strcmp(job_field(s, *ids, "state"), state) != 0)
            fail_msg("%s is %s, not %s", *ids, job_field(s, *ids, "state"), state);
}

char *take_jobs(struct scene *s, const char *queue, const char *n, char token[12])
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    redisReply *reply = script_call(s, SCRIPT_TAKE, queue, n, "3600000", "0", "");
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->element[0]->integer, 0);
    for (size_t i = 6; i < reply->elements; i += 3) {
        bool is_task = reply->element[i + 1]->len == 0;
        fprintf(out, "%s ", reply->element[i + (is_task ? 2 : 1)]->str);
        snprintf(token, 12, "%s", reply->element[i]->str);
    }
    freeReplyObject(reply);
    fclose(out);
    return text;
}

void assert_comes(struct scene *s, const char *n, const char *expected)
{
    char token[12], *taken = take_jobs(s, "q", n, token);
    if (strcmp(taken, expected) != 0)
        fail_msg("'%s' came, not '%s'", taken, expected);
    free(taken);
}

void take_job(struct scene *s, const char *queue, const char *id, char token[12])
{
    char wanted[80], *taken = take_jobs(s, queue, "1", token);
    snprintf(wanted, sizeof wanted, "%s ", id);
    if (strcmp(taken, wanted) != 0)
        fail_msg("'%s' came, not %s", taken, id);
    free(taken);
}

void job_complete(struct scene *s, const char *id)
{
    char token[12];
    take_job(s, "q", id, token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    jobs_sound(s);
}

void job_fail(struct scene *s, const char *id)
{
    take_and_end(s, id, "fail", "g", "m");
    assert_state(s, id, "failed");
}

void job_make_due(struct scene *s, const char *state, const char *id, int64_t ago_ms)
{
    static const char lua[] = "local P, id = KEYS[1] .. ':', ARGV[2]\n"
                              "local job = redis.call('HMGET', P .. 'job:' .. id, 'queue', 'place')\n"
                              "local time = redis.call('TIME')\n"
                              "local at = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[3]\n"
                              "redis.call('HSET', P .. 'job:' .. id, 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. ARGV[1] .. ':' .. job[1], at, job[2] .. id)\n"
                              "redis.call('HSET', P .. 'queue:' .. job[1], 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. 'due', at, job[1])\n";
    char ago[24];
    snprintf(ago, sizeof ago, "%lld", (long long)ago_ms);
    raw_do(s->server->redis, "EVAL %s 1 %s %s %s %s", lua, s->prefix, state, id, ago);
}

void leases_lapse(struct scene *s)
{
    static const char lua[] = "for _, field in ipairs(redis.call('ZRANGE', KEYS[1] .. ':leases:q', 0, -1)) do\n"
                              "  redis.call('ZADD', KEYS[1] .. ':leases:q', 1000, field)\n"
                              "end\n"
                              "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', 1000)\n"
                              "redis.call('ZADD', KEYS[1] .. ':due', 1000, 'q')\n";
    raw_do(s->server->redis, "EVAL %s 1 %s", lua, s->prefix);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "0", "1000", "0", ""));
    jobs_sound(s);
}

void jobs_promote(struct scene *s)
{
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    jobs_sound(s);
}

int64_t key_size(struct scene *s, const char *command, const char *key)
{
    char full[80];
    snprintf(full, sizeof full, "%s:%s", s->prefix, key);
    const char *const argv[] = {command, full};
    redisReply *reply = redisCommandArgv(s->server->redis, 2, (const char **)(uintptr_t)argv, NULL);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    int64_t n = reply->integer;
    freeReplyObject(reply);
    return n;
}
