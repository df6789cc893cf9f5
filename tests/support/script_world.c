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
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", ""));
    token_of_job(s, id, token);
}

static void take_job_of_a_key(struct script_world *world)
{
    struct scene *s = world->s;
    put_job(s, "keyed", "data", "d", "key", "k");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", ""));
    token_of_job(s, "keyed", world->keyed_job);
}

/* The schedule "queued" is of queue p, and waits for the end of the job that it has made, which runs in q. */
static void take_made_job(struct script_world *world)
{
    struct scene *s = world->s;
    redisContext *redis = s->server->redis;
    assert_ok(
        script_does(s, SCRIPT_PUT, "p", "", "queued", "every", "3600000", "overlap", "queue", "delay", "3600000"));
    take_job(s, "queued-1", world->made_job);
    raw_do(redis, "HSET %s:job:queued made 1 queued 1000", s->prefix);
    raw_do(redis, "HSET %s:job:queued-1 made_by queued", s->prefix);
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
    take_job_of_a_key(world);
    take_made_job(world);
}

/* Of the key k one job waits, and if the queue is fair, one is held. */
static void make_jobs_of_keys(struct scene *s)
{
    put_job(s, "second", "data", "d", "key", "k");
    put_job(s, "third", "data", "d", "key", "k");
    put_job(s, "other", "data", "d", "key", "l");
}

/* "gone" dies holding a task and a job. Once it is swept they have come back. */
static void take_and_die(struct acting_worker *gone, struct scene *s)
{
    *gone = (struct acting_worker){.id = "gone", .queues = {"q"}, .hands = 2};
    scene_enqueue(s, "q", "went with");
    put_job(s, "went with", "data", "d");
    acting_start(gone, s);
    acting_take(gone);
    acting_die(gone);
}

static void make_other_jobs(struct script_world *world)
{
    struct scene *s = world->s;
    redisContext *redis = s->server->redis;
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "over", "", "3600000"));
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
    struct acting_worker gone;
    char token[12];
    *world = (struct script_world){.s = s,
                                   .w = {.id = "w", .queues = {"q", "o"}, .hands = 5},
                                   .dead = {.id = "dead", .queues = {"q"}, .hands = 2}};
    make_ended_jobs(world);
    take_and_die(&gone, s);
    scene_enqueue_n(s, "q", "leased", 2);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "3600000", "0", "0123456789abcdef:1", "0", "holder"));
    token_of_task(s, ".lease", "q", "leased0", world->leased);
    snprintf(world->process, sizeof world->process, ".lease:%s:q", world->leased);
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
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "batch", "", "3600000", "on_end", "o", "on_failure", "o"));
    assert_ok(
        script_does(s, SCRIPT_PUT, "q", "", "held", "tag", "blue", "retries", "2", "tracked", "1", "batch", "batch"));
    acting_take(&world->w);
    token_of_job(s, "held", world->held_job);
    make_other_jobs(world);
    make_jobs_of_keys(s);
    assert_ok(script_does(s, SCRIPT_SWEEP, "gone", "1"));
    scene_enqueue_n(s, "q", "waiting", 2);
    raw_do(redis, "ZADD %s:delayed:q 1000 00000000001:late", s->prefix);
    raw_do(redis, "HSET %s:queue:q due 1000", s->prefix);
    raw_do(redis, "ZADD %s:due 1000 q", s->prefix);
    raw_do(redis, "HSET %s:suspects:q %s 0", s->prefix, world->held);
    raw_do(redis, "HSET %s:config max_crashes 3", s->prefix);
}

void script_world_make_fair(struct script_world *world, struct scene *s)
{
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "fair", "1"));
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running_per_key", "2"));
    script_world_make(world, s);
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
    raw_do(world->s->server->redis, "SET %s:timer w PX 3600000", world->s->prefix);
}

void script_world_serve(struct script_world *world)
{
    assert_ok(script_does(world->s, SCRIPT_PAUSE, "q"));
    world->heir = (struct acting_worker){.id = "heir", .queues = {"q"}, .hands = 99, .hears = true};
    acting_start(&world->heir, world->s);
    acting_take(&world->heir);
}

void script_world_grow_old(struct script_world *world)
{
    raw_do(world->s->server->redis, "SADD %s:dependents:old depends follows", world->s->prefix);
    raw_do(world->s->server->redis, "ZADD %s:upgrade:old 1 after", world->s->prefix);
}

void script_world_share(struct script_world *world)
{
    world->heir = (struct acting_worker){.id = "heir", .queues = {"q"}, .hands = 5, .hears = true};
    acting_start(&world->heir, world->s);
    raw_do(world->s->server->redis, "HSET %s:queue:q share 1", world->s->prefix);
    raw_do(world->s->server->redis, "ZADD %s:gaps:q -1 heir", world->s->prefix);
    raw_do(world->s->server->redis, "HSET %s:worker:heir i:q 0", world->s->prefix);
    raw_do(world->s->server->redis, "HSET %s:worker:w o:q 0", world->s->prefix);
}

static void plant(const struct script_world *world, const char *lua, const char *arg)
{
    raw_do(world->s->server->redis, "EVAL %s 1 %s: %s", lua, world->s->prefix, arg);
}

void script_world_stop_halfway(struct script_world *world)
{
    plant(world,
          "local P, call = KEYS[1], redis.call\n"
          "call('HSET', P .. 'batch:batch', 'cancel', 1, 'from', '-inf') call('ZADD', P .. 'ended', 1, 'kbatch')\n"
          "call('RENAME', P .. 'dependents:held', P .. 'freed:gheld') call('ZADD', P .. 'ended', 2, 'gheld')\n"
          "call('RENAME', P .. 'followers:held', P .. 'freed:eheld') call('ZADD', P .. 'ended', 3, 'eheld')\n"
          "call('ZADD', P .. 'freed:cold', tonumber(call('HGET', P .. 'job:after', 'place'), 32), 'after')\n"
          "call('ZADD', P .. 'ended', 4, 'cold')\n"
          "call('HSET', P .. 'queue:q', 'unhold', '', 'unfair', '-inf')",
          "");
}

void script_world_die(struct script_world *world)
{
    plant(world, "return redis.call('DEL', KEYS[1] .. 'alive:w', KEYS[1] .. 'alive:dead')", "");
}

void script_world_return(struct script_world *world)
{
    plant(world,
          "local P, call, field = KEYS[1], redis.call, 'j' .. ARGV[1]\n"
          "call('HDEL', P .. 'processing:.lease:q', field) call('ZREM', P .. 'leases:q', field)\n"
          "call('HINCRBY', P .. 'queue:q', 'running', -1) call('HSET', P .. 'queue:q', 'returned', '1')\n"
          "call('HSET', P .. 'home:00000000001:q', field, 'leased')\n"
          "call('ZADD', P .. 'returned:q', -tonumber(ARGV[1], 32), field .. ':00000000001')",
          world->leased_job);
}

/* ---- keeping it ---- */

const char script_world_lua_copy[] = "local function copy_all(from, to)\n"
                                     "  redis.call('SELECT', to)\n"
                                     "  redis.call('FLUSHDB')\n"
                                     "  redis.call('SELECT', from)\n"
                                     "  for _, key in ipairs(redis.call('SCAN', '0', 'COUNT', 1000000)[2]) do\n"
                                     "    redis.call('COPY', key, key, 'DB', to)\n"
                                     "  end\n"
                                     "end\n";

static void copy_all(struct scene *s, int from, int to)
{
    char lua[1000];
    snprintf(lua, sizeof lua, "%scopy_all(ARGV[1], ARGV[2])", script_world_lua_copy);
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

/* A key of a wrong type may hold whatever should be there; but no job's record can be read in one. */
const char script_world_lua_count[] =
    "local function count_all(P)\n"
    "local n = 0\n"
    "local function type_of(key) return redis.call('TYPE', P .. key).ok end\n"
    "local function ask(command, key, ...)\n"
    "  local answer = redis.pcall(command, P .. key, ...)\n"
    "  if type(answer) ~= 'table' or not answer.err then return answer end\n"
    "end\n"
    "for key, list in pairs({['queues:q'] = 'LRANGE', ['delayed:q'] = 'ZRANGE', ['failed:q'] = 'ZRANGE'}) do\n"
    "  for _, member in ipairs(ask(list, key, 0, -1) or {}) do\n"
    "    n = n + ((key ~= 'failed:q' or string.byte(member) ~= 106) and 1 or 0)\n"
    "  end\n"
    "end\n"
    "local home_of = {}\n"
    "local function count_set(key)\n"
    "  for _, field in ipairs(ask('HKEYS', key) or {}) do\n"
    "    home_of[field] = key\n"
    "    n = n + (#field == 11 and 1 or 0)\n"
    "  end\n"
    "end\n"
    "for _, key in ipairs(redis.call('SCAN', '0', 'MATCH', P .. 'home:*:q', 'COUNT', '1000000')[2]) do\n"
    "  count_set(string.sub(key, #P + 1))\n"
    "end\n"
    "for _, w in ipairs({'w', 'dead', 'heir', '.lease'}) do count_set('processing:' .. w .. ':q') end\n"
    "local function is_held(id, worker, queue, token)\n"
    "  local set = 'processing:' .. tostring(worker) .. ':' .. queue\n"
    "  local found = ask('HGET', set, 'j' .. tostring(token))\n"
    "  return found == nil or found == id or home_of['j' .. tostring(token)]\n"
    "end\n"
    "for _, key in ipairs(redis.call('SCAN', '0', 'MATCH', P .. 'job:*', 'COUNT', '1000000')[2]) do\n"
    "  key = string.sub(key, #P + 1)\n"
    "  local id, job = string.sub(key, 5), ask('HMGET', key, 'state', 'queue', 'place', 'entry', 'worker', 'token',\n"
    "    'round') or {}\n"
    "  local state, queue, place = job[1], job[2], job[3]\n"
    "  if state == 'failed' and queue then\n"
    "    n = n + ((ask('ZCOUNT', 'failed:' .. queue, job[4] or 0, job[4] or 0) or 1) > 0 and 1 or 0)\n"
    "  elseif state and queue and place and state ~= 'complete' then\n"
    "    local round = state == 'waiting' and string.match(job[7] or '', '^[0-9a-v]+$') or ''\n"
    "    local member = (#round == 11 and '!' .. round or '') .. place .. id\n"
    "    local is_there = ask('ZSCORE', state .. ':' .. queue, member)\n"
    "    local is_known = state ~= 'running' or is_held(id, job[5], queue, job[6])\n"
    "    n = n + (is_there ~= false and is_known and 1 or 0)\n"
    "  end\n"
    "end\n"
    "return n\n"
    "end\n";

int64_t script_world_count(struct script_world *world)
{
    char lua[4000];
    snprintf(lua, sizeof lua, "%sreturn count_all(KEYS[1] .. ':')", script_world_lua_count);
    return raw_int(world->s->server->redis, "EVAL %s 1 %s", lua, world->s->prefix);
}
