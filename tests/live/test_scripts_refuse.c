/* SPDX-License-Identifier: MIT
 *
 * Every script against every key in the wrong type, and against a full Redis.
 *
 *   - With a damaged key a script refuses and names it, and then nothing has changed; or it passes over what is damaged,
 *     and then no task is lost and the damaged key is as it was. Where the key is one of the namespace's own or the caller's
 *     record, Redis' error will do.
 *   - A full Redis refuses what adds something, whole; everything else goes on as if there were room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

/*
 * Of queue "q": "w" holds a cancelled process, one with a note, a third and a job, and has failed one; two are under
 * leases, one of which has a note, and a job; some wait, and one is due. "dead" died holding a task and a job. And jobs
 * in all states, each named so, of which "depends" waits for the one that "w" holds, and "after" for the failed one.
 */
struct world {
    struct scene *s;
    struct acting_worker w, dead;
    char cancelled[12], held[12], leased[12], held_job[12], leased_job[12];
};

/* With fields behind the id, in pairs. */
#define put_job(s, id, ...) assert_ok(script_does(s, SCRIPT_PUT, "q", id, "0", "0", "0", "retries", "2", __VA_ARGS__))

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
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "60000", "0"));
    token_of_job(s, id, token);
}

/* While nothing else waits, and nobody is idle. */
static void make_ended_jobs(struct world *world)
{
    char token[12];
    take_job(world->s, "complete", token);
    assert_ok(script_does(world->s, SCRIPT_END, ".lease", "done", "q", token));
    take_job(world->s, "failed", token);
    assert_ok(script_does(world->s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"));
    take_job(world->s, "leased", world->leased_job);
}

static void make_other_jobs(struct world *world)
{
    struct scene *s = world->s;
    redisContext *redis = s->server->redis;
    put_job(s, "waiting", "data", "d");
    put_job(s, "scheduled", "delay", "3600000");
    put_job(s, "due", "delay", "3600000");
    put_job(s, "recurring", "every", "3600000");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "depends", "0", "0", "1", "held", "retries", "2"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "after", "0", "0", "1", "failed", "retries", "2"));
    raw_do(redis, "HSET %s:job:due due 1000", s->prefix);
    raw_do(redis, "EVAL %s 1 %s",
           "local place = redis.call('HGET', KEYS[1] .. ':job:due', 'place')\n"
           "redis.call('ZADD', KEYS[1] .. ':scheduled:q', 1000, place .. 'due')",
           s->prefix);
}

static void make_world(struct world *world, struct scene *s)
{
    redisContext *redis = s->server->redis;
    char token[12];
    *world = (struct world){.s = s,
                            .w = {.id = "w", .queues = {"q", "o"}, .hands = 5},
                            .dead = {.id = "dead", .queues = {"q"}, .hands = 2}};
    make_ended_jobs(world);
    scene_enqueue_n(s, "q", "leased", 2);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "60000", "0"));
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
    assert_ok(script_does(s, SCRIPT_PUT, "q", "held", "0", "1", "0", "blue", "retries", "2", "tracked", "1"));
    acting_take(&world->w);
    token_of_job(s, "held", world->held_job);
    make_other_jobs(world);
    scene_enqueue_n(s, "q", "waiting", 2);
    raw_do(redis, "ZADD %s:delayed:q 1000 00000000001:late", s->prefix);
    raw_do(redis, "HSET %s:queue:q due 1000", s->prefix);
    raw_do(redis, "ZADD %s:due 1000 q", s->prefix);
    raw_do(redis, "HSET %s:crashes:q none 1", s->prefix);
}

static void lapse(struct world *world)
{
    raw_do(world->s->server->redis, "ZADD %s:leases:q 1000 %s", world->s->prefix, world->leased);
}

/* ---- the calls ---- */

static redisReply *enqueue(struct world *world)
{
    return script_call(world->s, SCRIPT_ENQUEUE, "q", "0", "request", "0", "1", "new");
}

static redisReply *start(struct world *world)
{
    return script_call(world->s, SCRIPT_START, "dead", "again", "60000", "2", "host", "1", "test", "1", "0", "0");
}

static redisReply *start_resuming(struct world *world)
{
    return script_call(world->s, SCRIPT_START, "dead", "again", "60000", "2", "host", "1", "test", "1", "0", "1");
}

static redisReply *serve(struct world *world)
{
    return script_call(world->s, SCRIPT_SERVE, "w", world->w.epoch, "0", "more", "0");
}

static redisReply *turn(struct world *world)
{
    return acting_turn_list(&world->w, true, (const char *const[]){NULL});
}

static redisReply *turn_finish(struct world *world)
{
    return acting_turn(&world->w, "finish", "q", "1", world->held);
}

static redisReply *turn_result(struct world *world)
{
    return acting_turn(&world->w, "result", "q", world->held, "bytes");
}

static redisReply *turn_back(struct world *world)
{
    return acting_turn(&world->w, "back", "q", "1", world->held);
}

static redisReply *turn_retry(struct world *world)
{
    return acting_turn(&world->w, "retry", "q", world->held, "60000", "", "");
}

static redisReply *turn_fail(struct world *world)
{
    return acting_turn(&world->w, "fail", "q", world->held, "g", "m");
}

static redisReply *turn_lost(struct world *world)
{
    return acting_turn(&world->w, "finish", "o", "1", world->held);
}

static redisReply *heartbeat(struct world *world)
{
    return script_call(world->s, SCRIPT_HEARTBEAT, "w", world->w.epoch, "0", "5", "0", "0", "q", "0", "o", "0");
}

static redisReply *readback(struct world *world)
{
    return script_call(world->s, SCRIPT_READBACK, "w", world->w.epoch, "0");
}

static redisReply *sweep(struct world *world)
{
    return script_call(world->s, SCRIPT_SWEEP, "dead", "1");
}

static redisReply *fail_worker(struct world *world)
{
    return script_call(world->s, SCRIPT_SWEEP, "w", "1");
}

static redisReply *stop(struct world *world)
{
    return script_call(world->s, SCRIPT_STOP, "w", world->w.epoch, "0");
}

static redisReply *leave(struct world *world)
{
    return script_call(world->s, SCRIPT_LEAVE, "w", world->w.epoch, "0", "5", "q");
}

static redisReply *take(struct world *world)
{
    return script_call(world->s, SCRIPT_TAKE, "q", "9", "60000", "1");
}

static redisReply *take_and_wait(struct world *world)
{
    return script_call(world->s, SCRIPT_TAKE, "q", "0", "60000", "1");
}

static redisReply *end_back(struct world *world)
{
    return script_call(world->s, SCRIPT_END, "w", "back", "q", "1", world->held);
}

static redisReply *end_finish(struct world *world)
{
    return script_call(world->s, SCRIPT_END, "w", "finish", "q", "1", world->held);
}

static redisReply *end_lease_retry(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "retry", "q", world->leased, "60000", "", "");
}

static redisReply *end_lease_fail(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "fail", "q", world->leased, "g", "m");
}

static redisReply *end_lease_result(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "result", "q", world->leased, "bytes");
}

/* Its lease has lapsed. */
static redisReply *end_late(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "finish", "q", "1", world->leased);
}

static redisReply *extend(struct world *world)
{
    return script_call(world->s, SCRIPT_EXTEND, "w", world->held, "q", "", "1", "three quarters");
}

static redisReply *extend_lease(struct world *world)
{
    return script_call(world->s, SCRIPT_EXTEND, ".lease", world->leased, "q", "90000", "1", "three quarters");
}

static redisReply *cancel(struct world *world)
{
    return script_call(world->s, SCRIPT_CANCEL, "q", "", "t3");
}

static redisReply *cancel_process(struct world *world)
{
    return script_call(world->s, SCRIPT_CANCEL, "q", "w", world->held);
}

static redisReply *cancel_lease(struct world *world)
{
    return script_call(world->s, SCRIPT_CANCEL, "q", ".lease", world->leased);
}

static redisReply *delete_queue(struct world *world)
{
    return script_call(world->s, SCRIPT_DELETE, "q");
}

static redisReply *pause_queue(struct world *world)
{
    return script_call(world->s, SCRIPT_PAUSE, "q");
}

static redisReply *resume_queue(struct world *world)
{
    return script_call(world->s, SCRIPT_RESUME, "q");
}

static redisReply *listen_to_queue(struct world *world)
{
    return script_call(world->s, SCRIPT_LISTEN, "q");
}

static redisReply *replay(struct world *world)
{
    return script_call(world->s, SCRIPT_REPLAY, "q", "", "9", "0");
}

static redisReply *drop(struct world *world)
{
    return script_call(world->s, SCRIPT_DROP, "q", "g", "9", "0");
}

static redisReply *put(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "new", "0", "1", "1", "blue", "held", "data", "d");
}

static redisReply *put_at_once(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "new", "0", "0", "0", "data", "d");
}

static redisReply *put_recurring(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "new", "0", "0", "0", "every", "60000");
}

static redisReply *put_held(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "o", "held", "1", "1", "0", "red", "data", "d");
}

static redisReply *put_leased(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "leased", "1", "0", "0", "delay", "60000");
}

static redisReply *put_failed(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "failed", "0", "0", "0", "data", "d");
}

static redisReply *put_complete(struct world *world)
{
    return script_call(world->s, SCRIPT_PUT, "q", "complete", "0", "0", "0", "data", "d");
}

static redisReply *change(struct world *world)
{
    return script_call(world->s, SCRIPT_CHANGE, "waiting", "queue", "o", "tag", "blue", "priority", "3", "log", "line");
}

static redisReply *change_dependencies(struct world *world)
{
    return script_call(world->s, SCRIPT_CHANGE, "depends", "not_after", "held");
}

static redisReply *cancel_all_jobs(struct world *world)
{
    return script_call(world->s, SCRIPT_CANCEL_JOBS, "1", "held", "failed", "waiting", "leased", "scheduled");
}

static redisReply *promote(struct world *world)
{
    return script_call_list(world->s, SCRIPT_PROMOTE, (const char *const[]){NULL});
}

static redisReply *fetch(struct world *world)
{
    return script_call(world->s, SCRIPT_FETCH, "w", world->held_job, "q");
}

static redisReply *config_set(struct world *world)
{
    return script_call(world->s, SCRIPT_CONFIG, "q", "max_running", "9");
}

static redisReply *config_unset(struct world *world)
{
    return script_call(world->s, SCRIPT_CONFIG, "q", "max_running", "");
}

static redisReply *listen_to_jobs(struct world *world)
{
    return script_call(world->s, SCRIPT_LISTEN, "");
}

static redisReply *turn_done(struct world *world)
{
    return acting_turn(&world->w, "done", "q", world->held_job);
}

static redisReply *turn_next(struct world *world)
{
    return acting_turn(&world->w, "next", "q", world->held_job, "0", "", "o", "0", "");
}

static redisReply *turn_back_job(struct world *world)
{
    return acting_turn(&world->w, "back", "q", "2", world->held_job, world->held);
}

static redisReply *turn_retry_job(struct world *world)
{
    return acting_turn(&world->w, "retry", "q", world->held_job, "", "g", "m");
}

static redisReply *turn_fail_job(struct world *world)
{
    return acting_turn(&world->w, "fail", "q", world->held_job, "g", "m");
}

static redisReply *end_done(struct world *world)
{
    return script_call(world->s, SCRIPT_END, "w", "done", "q", world->held_job);
}

static redisReply *end_lease_next(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "next", "q", world->leased_job, "1", "bytes", "o", "0",
                       "waiting\n");
}

static redisReply *end_lease_retry_job(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "retry", "q", world->leased_job, "60000", "g", "m");
}

static redisReply *end_lease_fail_job(struct world *world)
{
    return script_call(world->s, SCRIPT_END, ".lease", "fail", "q", world->leased_job, "g", "m");
}

static redisReply *extend_with_data(struct world *world)
{
    return script_call(world->s, SCRIPT_EXTEND, ".lease", world->leased_job, "q", "90000", "0", "", "1", "new");
}

/*
 *   vanish   so many tasks may be gone after it
 *   adds     a full Redis refuses it
 *   is_bare  no damage of P:token and P:beat: a namespace without them stands still, and these scripts find out too late
 *            to refuse whole
 */
static const struct call {
    const char *name;
    redisReply *(*run)(struct world *world);
    int vanish;
    bool adds, is_bare;
} calls[] = {
    {"enqueue", enqueue, 0, true, false},
    {"start", start, 0, false, true},
    {"start, resuming", start_resuming, 0, false, true},
    {"serve", serve, 0, false, false},
    {"turn", turn, 0, false, true},
    {"turn: finish", turn_finish, 1, false, true},
    {"turn: result", turn_result, 1, false, true},
    {"turn: back", turn_back, 0, false, true},
    {"turn: retry", turn_retry, 0, false, true},
    {"turn: fail", turn_fail, 0, false, true},
    {"turn: a lost finish", turn_lost, 0, false, true},
    {"heartbeat", heartbeat, 0, false, true},
    {"readback", readback, 0, false, true},
    {"sweep", sweep, 0, false, false},
    {"fail worker", fail_worker, 1, false, false},
    {"stop", stop, 1, false, false},
    {"leave", leave, 1, false, false},
    {"take", take, 0, false, false},
    {"take, waiting", take_and_wait, 0, false, false},
    {"end: back", end_back, 0, false, false},
    {"end: finish", end_finish, 1, false, false},
    {"end: retry of a lease", end_lease_retry, 0, false, false},
    {"end: fail of a lease", end_lease_fail, 0, false, false},
    {"end: result of a lease", end_lease_result, 1, false, false},
    {"end: too late", end_late, 0, false, false},
    {"extend", extend, 0, false, false},
    {"extend a lease", extend_lease, 0, false, false},
    {"cancel", cancel, 0, false, false},
    {"cancel a process", cancel_process, 0, false, false},
    {"cancel a lease", cancel_lease, 0, false, false},
    {"delete", delete_queue, 20, false, false},
    {"pause", pause_queue, 0, false, false},
    {"resume", resume_queue, 0, false, false},
    {"listen", listen_to_queue, 0, true, false},
    {"replay", replay, 0, false, false},
    {"drop", drop, 2, false, false},
    {"put", put, 0, true, false},
    {"put, at once", put_at_once, 0, true, false},
    {"put one that recurs", put_recurring, 0, true, false},
    {"put what is held", put_held, 0, true, false},
    {"put what is leased", put_leased, 0, true, false},
    {"put what has failed", put_failed, 0, true, false},
    {"put what is complete", put_complete, 0, true, false},
    {"change", change, 0, true, false},
    {"change dependencies", change_dependencies, 0, true, false},
    {"cancel jobs", cancel_all_jobs, 5, false, false},
    {"promote", promote, 0, false, false},
    {"fetch", fetch, 0, false, false},
    {"config", config_set, 0, true, false},
    {"config, unset", config_unset, 0, false, false},
    {"listen to jobs", listen_to_jobs, 0, true, false},
    {"turn: done", turn_done, 1, false, true},
    {"turn: next", turn_next, 0, false, true},
    {"turn: back of a job", turn_back_job, 0, false, true},
    {"turn: retry of a job", turn_retry_job, 0, false, true},
    {"turn: fail of a job", turn_fail_job, 0, false, true},
    {"end: done", end_done, 1, false, false},
    {"end: next of a lease", end_lease_next, 0, false, false},
    {"end: retry of a leased job", end_lease_retry_job, 0, false, false},
    {"end: fail of a leased job", end_lease_fail_job, 0, false, false},
    {"extend, with data", extend_with_data, 0, false, false},
};

/* ---- damaged keys ---- */

static const char *const keys[] = {
    "queues:q",
    "processing:w:q",
    "processing:dead:q",
    "processing:.lease:q",
    "leases:q",
    "marks:w",
    "marks:.lease",
    "notes:w",
    "notes:.lease",
    "worker:w",
    "worker:dead",
    "alive:w",
    "alive:dead",
    "registry",
    "ttls",
    "idle:q",
    "queue:q",
    "names",
    "delayed:q",
    "failed:q",
    "failures:q",
    "marks:dead",
    "notes:dead",
    "crashes:q",
    "request:request",
    "token",
    "beat",
    "format",
    "waiting:q",
    "scheduled:q",
    "depends:q",
    "running:q",
    "complete:q",
    "recurring:q",
    "waiting:o",
    "scheduled:o",
    "running:o",
    "job:waiting",
    "job:held",
    "job:leased",
    "job:died with",
    "job:due",
    "job:recurring",
    "job:recurring-1",
    "job:depends",
    "job:failed",
    "job:complete",
    "job:new",
    "history:held",
    "history:waiting",
    "history:new",
    "dependencies:depends",
    "dependencies:new",
    "dependents:held",
    "dependents:failed",
    "dependents:waiting",
    "tag:blue",
    "tags",
    "tracked",
    "due",
    "config",
    "timer",
};

/* All tasks, wherever they are; and all jobs that are not complete, where their records say. Wrong types hold no tasks,
 * but may hold jobs. */
static int64_t count_tasks(struct scene *s)
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
        "for _, w in ipairs({'w', 'dead', '.lease'}) do\n"
        "  local set = 'processing:' .. w .. ':q'\n"
        "  for _, field in ipairs(type_of(set) == 'hash' and redis.call('HKEYS', P .. set) or {}) do\n"
        "    if #field == 11 then n = n + 1 end\n"
        "  end\n"
        "end\n"
        "for _, id in ipairs({'waiting', 'scheduled', 'due', 'recurring', 'depends', 'after', 'failed', 'held', "
        "'leased',\n"
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
        "      is_held = redis.call('HGET', P .. set, 'j' .. job[6]) == id\n"
        "    end\n"
        "    local index = job[1] .. ':' .. job[2]\n"
        "    if is_held and (type_of(index) == 'set' or redis.call('ZSCORE', P .. index, job[3] .. id)) then\n"
        "      n = n + 1\n"
        "    end\n"
        "  end\n"
        "end\n"
        "return n";
    return raw_int(s->server->redis, "EVAL %s 1 %s", lua, s->prefix);
}

/* Does the answer refuse, as it should for this key? */
static bool is_refused(struct scene *s, const redisReply *reply, const struct call *call, const char *key)
{
    static const char *const raised[] = {"registry", "ttls", "names", "token", "beat", "format", "worker:", "request:"};
    char full_key[80];
    if (reply->type == REDIS_REPLY_ERROR) {
        for (size_t i = 0; i < N_OF(raised); i++)
            if (strncmp(key, raised[i], strlen(raised[i])) == 0)
                return true;
        fail_msg("%s with a damaged %s: %s", call->name, key, reply->str);
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->element[0]->integer != MUSTER_E_REDIS)
        return false;
    snprintf(full_key, sizeof full_key, "%s:%s", s->prefix, key);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, full_key);
    return true;
}

/* Is it a set, as it should be? All others become one. */
static bool is_set(const char *key)
{
    return strncmp(key, "depende", 7) == 0;
}

static void damage(struct scene *s, const char *key)
{
    raw_do(s->server->redis, "DEL %s:%s", s->prefix, key);
    if (is_set(key))
        raw_do(s->server->redis, "SET %s:%s damaged", s->prefix, key);
    else
        raw_do(s->server->redis, "SADD %s:%s damaged", s->prefix, key);
}

static bool is_damaged(struct scene *s, const char *key)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:%s %s",
                   "return redis.call('TYPE', KEYS[1]).ok == ARGV[1] and 1 or 0", s->prefix, key,
                   is_set(key) ? "string" : "set");
}

static void try_damaged(struct scene *s, const struct call *call, const char *key)
{
    struct world world;
    make_world(&world, s);
    damage(s, key);
    if (call->run == end_late && strcmp(key, "leases:q") != 0)
        lapse(&world); /* what the call itself does must not count as a change */
    int64_t tasks = count_tasks(s);
    char *before = dump_of_all(s);
    redisReply *reply = call->run(&world);
    bool refused = is_refused(s, reply, call, key);
    freeReplyObject(reply);
    char *after = dump_of_all(s);
    if (refused && strcmp(before, after) != 0)
        fail_msg("%s with a damaged %s: refused, but something changed:\n%s\n%s", call->name, key, before, after);
    if (!refused && count_tasks(s) + call->vanish < tasks)
        fail_msg("%s with a damaged %s: %d tasks, %d before", call->name, key, (int)count_tasks(s), (int)tasks);
    /* The liveness key goes with its worker, whatever is in it; a history with its job. */
    if (!is_damaged(s, key) && strncmp(key, "alive:", 6) != 0 && strncmp(key, "history:", 8) != 0)
        fail_msg("%s with a damaged %s: overwritten", call->name, key);
    free(before);
    free(after);
    raw_do(s->server->redis, "FLUSHALL");
}

static void with_a_damaged_key_nothing_changes_or_no_task_is_lost(void **state)
{
    struct scene *s = *state;
    for (size_t c = 0; c < N_OF(calls); c++)
        for (size_t k = 0; k < N_OF(keys); k++) {
            if (calls[c].run == end_late && !strcmp(keys[k], "leases:q"))
                continue; /* a lease cannot be late without */
            if (!calls[c].is_bare || (strcmp(keys[k], "token") && strcmp(keys[k], "beat")))
                try_damaged(s, &calls[c], keys[k]);
        }
}

/* ---- full ---- */

/* The status as text, or the error's. */
static void run_call(struct world *world, const struct call *call, bool is_full, char status[40])
{
    if (call->run == end_late)
        lapse(world);
    if (is_full)
        raw_do(world->s->server->redis, "CONFIG SET maxmemory 1");
    redisReply *reply = call->run(world);
    raw_do(world->s->server->redis, "CONFIG SET maxmemory 0");
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : reply;
    if (first->type == REDIS_REPLY_INTEGER)
        snprintf(status, 40, "%lld", first->integer);
    else
        snprintf(status, 40, "%s", first->str);
    freeReplyObject(reply);
}

static void try_full(struct scene *s, const struct call *call)
{
    struct world world;
    char with_room[40], full[40];
    make_world(&world, s);
    run_call(&world, call, false, with_room);
    int64_t tasks = count_tasks(s);
    raw_do(s->server->redis, "FLUSHALL");
    make_world(&world, s);
    char *before = dump_of_all(s);
    run_call(&world, call, true, full);
    char *after = dump_of_all(s);
    bool is_same = strcmp(before, after) == 0;
    free(before);
    free(after);
    if (call->adds && (strncmp(full, "OOM", 3) != 0 || !is_same))
        fail_msg("%s: a full Redis answers %s and has %s", call->name, full, is_same ? "not changed" : "changed");
    if (!call->adds && (strcmp(full, with_room) != 0 || count_tasks(s) != tasks))
        fail_msg("%s: a full Redis answers %s, not %s; %d tasks, not %d", call->name, full, with_room,
                 (int)count_tasks(s), (int)tasks);
    invariant_assert(s->server->redis, s->prefix);
    raw_do(s->server->redis, "FLUSHALL");
}

static void a_full_redis_refuses_whole_what_adds_and_lets_the_rest_go_on(void **state)
{
    struct scene *s = *state;
    for (size_t c = 0; c < N_OF(calls); c++)
        try_full(s, &calls[c]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(with_a_damaged_key_nothing_changes_or_no_task_is_lost),
        live_test(a_full_redis_refuses_whole_what_adds_and_lets_the_rest_go_on),
    };
    return scene_run(tests, argc, argv);
}
