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
 * Of queue "q": "w" holds a cancelled process, one with a note and a third, and has failed one; two are under leases, one
 * of which has a note; some wait, and one is due. "dead" died holding one.
 */
struct world {
    struct scene *s;
    struct acting_worker w, dead;
    char cancelled[12], held[12], leased[12];
};

static void make_world(struct world *world, struct scene *s)
{
    redisContext *redis = s->server->redis;
    char token[12];
    *world = (struct world){.s = s,
                            .w = {.id = "w", .queues = {"q", "o"}, .hands = 4},
                            .dead = {.id = "dead", .queues = {"q"}, .hands = 2}};
    scene_enqueue_n(s, "q", "leased", 2);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "60000", "0"));
    token_of_task(s, ".lease", "q", "leased0", world->leased);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", world->leased, "q", "", "1", "half"));
    scene_enqueue(s, "q", "died with");
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
    scene_enqueue_n(s, "q", "waiting", 2);
    raw_do(redis, "ZADD %s:delayed:q 1000 00000000001:late", s->prefix);
    raw_do(redis, "HSET %s:queue:q due 1000", s->prefix);
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
    return acting_turn(&world->w, "retry", "q", world->held, "60000");
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
    return script_call(world->s, SCRIPT_HEARTBEAT, "w", world->w.epoch, "0", "4", "0", "0", "q", "0", "o", "0");
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
    return script_call(world->s, SCRIPT_LEAVE, "w", world->w.epoch, "0", "4", "q");
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
    return script_call(world->s, SCRIPT_END, ".lease", "retry", "q", world->leased, "60000");
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
    {"delete", delete_queue, 9, false, false},
    {"pause", pause_queue, 0, false, false},
    {"resume", resume_queue, 0, false, false},
    {"listen", listen_to_queue, 0, true, false},
    {"replay", replay, 0, false, false},
    {"drop", drop, 1, false, false},
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
};

/* All tasks, wherever they are. Wrong types hold none. */
static int64_t count_tasks(struct scene *s)
{
    static const char lua[] =
        "local n, kinds = 0, {list = 'LLEN', hash = 'HLEN', zset = 'ZCARD'}\n"
        "local places = {'queues:q', 'delayed:q', 'failed:q'}\n"
        "for _, w in ipairs({'w', 'dead', '.lease'}) do places[#places + 1] = 'processing:' .. w .. ':q' end\n"
        "for _, place in ipairs(places) do\n"
        "  local count = kinds[redis.call('TYPE', KEYS[1] .. ':' .. place).ok]\n"
        "  n = n + (count and redis.call(count, KEYS[1] .. ':' .. place) or 0)\n"
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
    snprintf(full_key, sizeof(full_key), "%s:%s", s->prefix, key);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, full_key);
    return true;
}

static void damage(struct scene *s, const char *key)
{
    raw_do(s->server->redis, "DEL %s:%s", s->prefix, key);
    raw_do(s->server->redis, "SADD %s:%s damaged", s->prefix, key);
}

static bool is_damaged(struct scene *s, const char *key)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:%s", "return redis.call('TYPE', KEYS[1]).ok == 'set' and 1 or 0",
                   s->prefix, key);
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
    /* The liveness key goes with its worker, whatever is in it. */
    if (!is_damaged(s, key) && strncmp(key, "alive:", 6) != 0)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        live_test(with_a_damaged_key_nothing_changes_or_no_task_is_lost),
        live_test(a_full_redis_refuses_whole_what_adds_and_lets_the_rest_go_on),
    };
    return scene_run(tests);
}
