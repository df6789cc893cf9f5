/* SPDX-License-Identifier: MIT
 *
 * A namespace with something of everything, and its copy in another database of the same server.
 */
#include "script_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_DB = 0, KEPT_DB = 1 };

/* The fields after the id come in pairs. */
#define put_job(s, id, ...) assert_ok(script_does(s, SCRIPT_PUT, "q", "", id, "retries", "2", __VA_ARGS__))

static void token_of_job(struct scene *s, const char *id, char token[12])
{
    char *found = raw_string(s->server->redis, "HGET %s:job:%s token", s->prefix, id);
    assert_non_null(found);
    snprintf(token, 12, "%s", found);
    free(found);
}

static void take_job(struct scene *s, const char *id, char token[12])
{
    put_job(s, id, "data", "d");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "60000", "0", ""));
    token_of_job(s, id, token);
}

/* While nothing else waits, and nobody is idle. */
static void make_ended_jobs(struct script_world *world)
{
    char token[12];
    take_job(world->s, "complete", token);
    assert_ok(script_does(world->s, SCRIPT_END, ".lease", "done", "q", token));
    take_job(world->s, "failed", token);
    assert_ok(script_does(world->s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"));
    take_job(world->s, "leased", world->leased_job);
}

static void make_other_jobs(struct script_world *world)
{
    struct scene *s = world->s;
    redisContext *redis = s->server->redis;
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "over", "", "60000"));
    assert_ok(script_does(s, SCRIPT_CLOSE_BATCH, "over"));
    put_job(s, "waiting", "data", "d", "batch", "batch");
    put_job(s, "scheduled", "delay", "3600000");
    put_job(s, "due", "delay", "3600000");
    put_job(s, "recurring", "every", "3600000");
    put_job(s, "cron", "cron", "0 0 1 1 *", "zone", "UTC", "last", "1", "ticks", "4102444800000");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "depends", "after", "held", "retries", "2"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "after", "after", "failed", "retries", "2"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "follows", "after_end", "held", "after_failure", "waiting"));
    raw_do(redis, "HSET %s:job:due due 1000", s->prefix);
    raw_do(redis, "EVAL %s 1 %s",
           "local place = redis.call('HGET', KEYS[1] .. ':job:due', 'place')\n"
           "redis.call('ZADD', KEYS[1] .. ':scheduled:q', 1000, place .. 'due')",
           s->prefix);
}

void script_world_make(struct script_world *world, struct scene *s)
{
    redisContext *redis = s->server->redis;
    char token[12];
    *world = (struct script_world){.s = s,
                                   .w = {.id = "w", .queues = {"q", "o"}, .hands = 5},
                                   .dead = {.id = "dead", .queues = {"q"}, .hands = 2}};
    make_ended_jobs(world);
    scene_enqueue_n(s, "q", "leased", 2);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "60000", "0", "0123456789abcdef:1", "0", "holder"));
    token_of_task(s, ".lease", "q", "leased0", world->leased);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", world->leased, "q", "", "1", "half"));
    scene_enqueue(s, "q", "died with");
    put_job(s, "died with", "data", "d");
    acting_start(&world->dead, s);
    acting_take(&world->dead);
    acting_die(&world->dead);
    scene_enqueue_n(s, "q", "t", 4);
    acting_start(&world->w, s);
    acting_take(&world->w);
    token_of_task(s, "w", "q", "t0", world->cancelled);
    token_of_task(s, "w", "q", "t1", world->held);
    token_of_task(s, "w", "q", "t2", token);
    acting_say(&world->w, "fail", "q", token, "g", "m");
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "w", world->cancelled), 0, 0, 1);
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", world->held, "q", "", "1", "half"));
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "batch", "", "60000", "on_end", "o", "on_failure", "o"));
    assert_ok(
        script_does(s, SCRIPT_PUT, "q", "", "held", "tag", "blue", "retries", "2", "tracked", "1", "batch", "batch"));
    acting_take(&world->w);
    token_of_job(s, "held", world->held_job);
    make_other_jobs(world);
    scene_enqueue_n(s, "q", "waiting", 2);
    raw_do(redis, "ZADD %s:delayed:q 1000 00000000001:late", s->prefix);
    raw_do(redis, "HSET %s:queue:q due 1000", s->prefix);
    raw_do(redis, "ZADD %s:due 1000 q", s->prefix);
    raw_do(redis, "HSET %s:suspects:q %s 0", s->prefix, world->held);
    raw_do(redis, "HSET %s:config max_crashes 3", s->prefix);
}

void script_world_lapse(struct script_world *world)
{
    raw_do(world->s->server->redis, "ZADD %s:leases:q 1000 %s", world->s->prefix, world->leased);
}

void script_world_keep_timer(struct script_world *world)
{
    world->heir = (struct acting_worker){.id = "heir", .queues = {"o"}, .hands = 1, .hears = true};
    acting_start(&world->heir, world->s);
    acting_take(&world->heir);
    raw_do(world->s->server->redis, "SET %s:timer w PX 60000", world->s->prefix);
}

void script_world_share(struct script_world *world)
{
    world->heir = (struct acting_worker){.id = "heir", .queues = {"q"}, .hands = 5, .hears = true};
    acting_start(&world->heir, world->s);
    raw_do(world->s->server->redis, "HSET %s:queue:q share 1", world->s->prefix);
    raw_do(world->s->server->redis, "ZADD %s:gaps:q -1 heir", world->s->prefix);
}

/* ---- keeping it ---- */

static void copy_all(struct scene *s, int from, int to)
{
    static const char lua[] = "redis.call('SELECT', ARGV[2])\n"
                              "redis.call('FLUSHDB')\n"
                              "redis.call('SELECT', ARGV[1])\n"
                              "local cursor = '0'\n"
                              "repeat\n"
                              "  local page = redis.call('SCAN', cursor, 'COUNT', 1000)\n"
                              "  cursor = page[1]\n"
                              "  for _, key in ipairs(page[2]) do redis.call('COPY', key, key, 'DB', ARGV[2]) end\n"
                              "until cursor == '0'";
    raw_do(s->server->redis, "EVAL %s 0 %d %d", lua, from, to);
}

void script_world_keep(struct script_world *world)
{
    copy_all(world->s, LIVE_DB, KEPT_DB);
}

void script_world_restore(struct script_world *world)
{
    copy_all(world->s, KEPT_DB, LIVE_DB);
}

void script_world_end(struct script_world *world)
{
    acting_forget(&world->heir);
    raw_do(world->s->server->redis, "FLUSHALL");
}

int64_t script_world_count(struct script_world *world)
{
    static const char lua[] =
        "local n, P = 0, KEYS[1] .. ':'\n"
        "local function type_of(key) return redis.call('TYPE', P .. key).ok end\n"
        "local lists = {list = 'LRANGE', zset = 'ZRANGE'}\n"
        "for _, key in ipairs({'queues:q', 'delayed:q', 'failed:q'}) do\n"
        "  local list = lists[type_of(key)]\n"
        "  for _, member in ipairs(list and redis.call(list, P .. key, 0, -1) or {}) do\n"
        "    if key ~= 'failed:q' or string.byte(member) ~= 106 then n = n + 1 end\n"
        "  end\n"
        "end\n"
        "local home_of = {}\n"
        "for _, key in ipairs(redis.call('SCAN', '0', 'MATCH', P .. 'home:*:q', 'COUNT', '1000000')[2]) do\n"
        "  local is_hash = redis.call('TYPE', key).ok == 'hash'\n"
        "  for _, field in ipairs(is_hash and redis.call('HKEYS', key) or {}) do\n"
        "    home_of[field] = key\n"
        "    if #field == 11 then n = n + 1 end\n"
        "  end\n"
        "end\n"
        "for _, w in ipairs({'w', 'dead', '.lease'}) do\n"
        "  local set = 'processing:' .. w .. ':q'\n"
        "  for _, field in ipairs(type_of(set) == 'hash' and redis.call('HKEYS', P .. set) or {}) do\n"
        "    if #field == 11 then n = n + 1 end\n"
        "  end\n"
        "end\n"
        "for _, id in ipairs({'waiting', 'scheduled', 'due', 'recurring', 'depends', 'after', 'follows', 'failed', "
        "'held', 'leased',\n"
        "    'died with'}) do\n"
        "  local key = 'job:' .. id\n"
        "  local job = type_of(key) == 'hash' and redis.call('HMGET', P .. key, 'state', 'queue', 'place', 'entry',\n"
        "    'worker', 'token')\n"
        "  if job and job[1] == 'failed' then\n"
        "    local is_known = type_of('failed:' .. job[2]) == 'zset'\n"
        "    if not is_known or redis.call('ZCOUNT', P .. 'failed:' .. job[2], job[4], job[4]) == 1 then n = n + 1 "
        "end\n"
        "  elseif job and job[1] ~= 'complete' then\n"
        "    local is_held, set = true, 'processing:' .. tostring(job[5]) .. ':' .. job[2]\n"
        "    if job[1] == 'running' and type_of(set) ~= 'set' then\n"
        "      is_held = redis.call('HGET', P .. set, 'j' .. job[6]) == id or home_of['j' .. job[6]]\n"
        "    end\n"
        "    local index = job[1] .. ':' .. job[2]\n"
        "    if is_held and (type_of(index) == 'set' or redis.call('ZSCORE', P .. index, job[3] .. id)) then\n"
        "      n = n + 1\n"
        "    end\n"
        "  end\n"
        "end\n"
        "return n";
    return raw_int(world->s->server->redis, "EVAL %s 1 %s", lua, world->s->prefix);
}
