/* SPDX-License-Identifier: MIT
 *
 * Random calls of all scripts, on a few queues, by workers that are nothing but their calls (script_call.h). After each
 * the invariants are looked up, every task is in one place at most, and the account holds: what is gone was finished,
 * cancelled, dropped or deleted, each counted where it should be. Nothing happens by itself here, and leases lapse only
 * when the test lets them, so a seed repeats a run.
 *
 * MUSTER_TEST_SEED repeats a run, MUSTER_TEST_OPS makes it longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

enum { OPS = 1500, WORKERS = 4, QUEUES = 3 };

static const char *const queue_names[QUEUES] = {"red", "green:blue", "{white} *"};

/* How many tasks there are in all places; how many were cancelled, by the queues' counters; how many processes are
 * marked because their queue was deleted. */
struct census {
    int64_t tasks, cancelled, deleted;
};

/*
 * What an operation says of itself: tasks that came and tasks that are gone, by its own words; processes that were marked
 * for their queue's deletion and are so no more, though they are not dropped; and whether counters may go with their queue.
 */
struct tally {
    int64_t came, gone, unmarked;
    bool resets;
};

struct world {
    struct scene *s;
    unsigned seed;
    struct acting_worker workers[WORKERS];
    bool lives[WORKERS];
    int n_tasks, n_done[32];
};

static int draw(struct world *w, int n)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)n);
}

static const char *any_queue(struct world *w)
{
    return queue_names[draw(w, QUEUES)];
}

static struct acting_worker *any_worker(struct world *w)
{
    int at = draw(w, WORKERS);
    return w->lives[at] ? &w->workers[at] : NULL;
}

static struct census take_census(struct scene *s)
{
    static const char lua[] =
        "local tasks, cancelled, deleted, cursor = 0, 0, 0, '0'\n"
        "local sizes = {queues = 'LLEN', processing = 'HLEN', delayed = 'ZCARD', failed = 'ZCARD'}\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':*', 'COUNT', 1000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do\n"
        "    local kind = string.match(string.sub(key, #KEYS[1] + 2), '^%a+')\n"
        "    if sizes[kind] then tasks = tasks + redis.call(sizes[kind], key) end\n"
        "    if kind == 'queue' then cancelled = cancelled + (redis.call('HGET', key, 'cancelled') or 0) end\n"
        "    for _, mark in ipairs(kind == 'marks' and redis.call('HVALS', key) or {}) do\n"
        "      if mark == 'd' then deleted = deleted + 1 end\n"
        "    end\n"
        "  end\n"
        "until cursor == '0'\n"
        "return {tasks, cancelled, deleted}";
    redisReply *reply = raw(s->server->redis, "EVAL %s 1 %s", lua, s->prefix);
    struct census c = {reply->element[0]->integer, reply->element[1]->integer, reply->element[2]->integer};
    freeReplyObject(reply);
    return c;
}

/* ---- processes ---- */

struct process {
    char holder[16], queue[16], token[12], task[16], mark[2];
};

/* Up to `n` processes, of this holder or of anybody (""), and of this queue or of any; in an order of their own. */
static int some_processes(struct world *w, const char *holder, const char *queue, struct process *p, int n)
{
    static const char lua[] =
        "local found, cursor = {}, '0'\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':processing:*', 'COUNT', 1000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do\n"
        "    local holder, queue = string.match(string.sub(key, #KEYS[1] + 13), '^([^:]*):(.*)$')\n"
        "    local h = redis.call('HGETALL', key)\n"
        "    for i = 1, #h, 2 do\n"
        "      local mark = redis.call('HGET', KEYS[1] .. ':marks:' .. holder, h[i]) or ''\n"
        "      if (ARGV[1] == '' or ARGV[1] == holder) and (ARGV[2] == '' or ARGV[2] == queue) then\n"
        "        found[#found + 1] = {holder, queue, h[i], h[i + 1], mark}\n"
        "      end\n"
        "    end\n"
        "  end\n"
        "until cursor == '0'\n"
        "table.sort(found, function(a, b) return a[3] < b[3] end)\n"
        "local some = {}\n"
        "for i = 1, math.min(#found, ARGV[4]) do some[i] = found[(ARGV[3] + i) % #found + 1] end\n"
        "return some";
    redisReply *reply =
        raw(w->s->server->redis, "EVAL %s 1 %s %s %s %d %d", lua, w->s->prefix, holder, queue, draw(w, 1000000), n);
    int found = (int)reply->elements;
    for (int k = 0; k < found; k++) {
        struct redisReply **from = reply->element[k]->element;
        snprintf(p[k].holder, sizeof p[k].holder, "%s", from[0]->str);
        snprintf(p[k].queue, sizeof p[k].queue, "%s", from[1]->str);
        snprintf(p[k].token, sizeof p[k].token, "%s", from[2]->str);
        snprintf(p[k].task, sizeof p[k].task, "%s", from[3]->str);
        snprintf(p[k].mark, sizeof p[k].mark, "%s", from[4]->str);
    }
    freeReplyObject(reply);
    return found;
}

/* Adds an end of it to the arguments from `end` on. Returns how many they are; `finishes`: whether it is one. */
static int any_end(struct world *w, const struct process *p, const char **end, bool *finishes)
{
    static const char *const kinds[] = {"finish", "result", "result", "back", "retry", "retry", "fail"};
    static const char *const groups[] = {"g1", "a longer group"};
    const char *kind = kinds[draw(w, N_OF(kinds))];
    *finishes = !strcmp(kind, "finish") || !strcmp(kind, "result");
    end[0] = kind;
    end[1] = p->queue;
    end[2] = p->token;
    if (!strcmp(kind, "back") || !strcmp(kind, "finish")) {
        end[2] = "1";
        end[3] = p->token;
        return 4;
    }
    end[3] = !strcmp(kind, "result") ? "bytes"
             : !strcmp(kind, "fail") ? groups[draw(w, 2)]
             : draw(w, 2)            ? "0"
                                     : "60000";
    end[4] = end[5] = "message";
    return !strcmp(kind, "result") ? 4 : !strcmp(kind, "fail") ? 5 : 6;
}

/* ---- the operations: false if there was nothing to do ---- */

static bool enqueue(struct world *w, struct tally *t)
{
    char tasks[8][16];
    const char *args[5 + N_OF(tasks) + 1] = {any_queue(w), draw(w, 4) ? "0" : "1", "", "0", "0"};
    t->came = draw(w, 3) ? 1 : 1 + draw(w, N_OF(tasks));
    for (int i = 0; i < t->came; i++) {
        snprintf(tasks[i], sizeof tasks[i], "t%07d", w->n_tasks++);
        args[5 + i] = tasks[i];
    }
    freeReplyObject(script_call_list(w->s, SCRIPT_ENQUEUE, args));
    return true;
}

/* Of an id that died, too: its leftovers go back, or stay with it. */
static bool start(struct world *w, struct tally *t)
{
    static const char *const ids[WORKERS] = {"w0", "w1", "w2", "w3"};
    int at = draw(w, WORKERS), first = draw(w, QUEUES), n = 1 + draw(w, QUEUES);
    (void)t;
    if (w->lives[at] && draw(w, 4))
        return false;
    if (w->lives[at])
        acting_die(&w->workers[at]);
    w->workers[at] = (struct acting_worker){
        .id = ids[at], .hands = 1 + draw(w, 4), .hears = draw(w, 5), .resumes = draw(w, 2), .limit = draw(w, 3)};
    for (int i = 0; i < n; i++)
        w->workers[at].queues[i] = queue_names[(first + i) % QUEUES];
    acting_start(&w->workers[at], w->s);
    w->lives[at] = true;
    return true;
}

static void end_worker(struct world *w, struct acting_worker *worker)
{
    acting_forget(worker);
    w->lives[worker - w->workers] = false;
}

enum { ENDS_MAX = 4 };

/* Several ends of any kind; or all it holds of a queue, finished together. */
static void add_ends(struct world *w, const struct acting_worker *worker, struct process *p, const char **ends,
                     struct tally *t)
{
    static const char *const counts[ENDS_MAX + 1] = {"0", "1", "2", "3", "4"};
    bool together = draw(w, 3) == 0, finishes = true;
    int n = some_processes(w, worker->id, together ? worker->queues[0] : "", p, draw(w, ENDS_MAX + 1)), at = 0;
    if (together && n > 0) {
        ends[at++] = "finish";
        ends[at++] = p->queue;
        ends[at++] = counts[n];
    }
    for (int i = 0; i < n; i++) {
        if (together)
            ends[at++] = p[i].token;
        else
            at += any_end(w, &p[i], ends + at, &finishes);
        t->gone += finishes;
        t->unmarked += finishes && p[i].mark[0] == 'd';
    }
    ends[at] = NULL;
}

static bool turn(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    struct process p[ENDS_MAX];
    const char *ends[ENDS_MAX * 6 + 4];
    if (!worker)
        return false;
    add_ends(w, worker, p, ends, t);
    assert_answer(acting_turn_list(worker, draw(w, 8), ends), 0, 0);
    return true;
}

static bool heartbeat(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    t->resets = true;
    return worker && acting_heartbeat(worker) == 0;
}

static bool readback(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    (void)t;
    if (!worker)
        return false;
    worker->conn += draw(w, 2);
    assert_ok(acting_readback(worker));
    return true;
}

static bool stop(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    (void)t;
    if (!worker)
        return false;
    assert_ok(acting_stop(worker));
    end_worker(w, worker);
    return true;
}

static bool sweep(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    (void)t;
    if (!worker)
        return false;
    if (draw(w, 2))
        acting_die(worker);
    assert_ok(script_does(w->s, SCRIPT_SWEEP, worker->id, "1"));
    end_worker(w, worker);
    return true;
}

/* The last of its queues; and, another time, one that it does not serve. */
static bool leave(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    int n = 0;
    (void)t;
    while (worker && worker->queues[n])
        n++;
    if (n < 2)
        return false;
    assert_ok(acting_leave(worker, worker->queues[n - 1]));
    worker->queues[n - 1] = NULL;
    return true;
}

static bool serve(struct world *w, struct tally *t)
{
    struct acting_worker *worker = any_worker(w);
    const char *queue = any_queue(w);
    char conn[16], limit[16];
    int n = 0;
    (void)t;
    for (; worker && worker->queues[n]; n++)
        if (worker->queues[n] == queue)
            return false;
    if (!worker)
        return false;
    snprintf(conn, sizeof conn, "%d", worker->conn);
    snprintf(limit, sizeof limit, "%d", worker->limit);
    assert_ok(script_does(w->s, SCRIPT_SERVE, worker->id, worker->epoch, conn, queue, limit));
    worker->queues[n] = queue;
    acting_take(worker);
    return true;
}

static bool take(struct world *w, struct tally *t)
{
    static const char *const counts[] = {"0", "1", "2", "5"};
    (void)t;
    assert_ok(script_does(w->s, SCRIPT_TAKE, any_queue(w), counts[draw(w, 4)], "60000", draw(w, 2) ? "1" : "0"));
    return true;
}

/* A lease ends, or a delay; nobody has noticed yet. */
static bool pass_time(struct world *w, struct tally *t)
{
    static const char lua[] = "local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]\n"
                              "if not first then return 0 end\n"
                              "redis.call('ZADD', KEYS[1], 1000, first)\n"
                              "redis.call('HSET', KEYS[2], 'due', 1000)\n"
                              "return 1";
    const char *queue = any_queue(w);
    (void)t;
    return raw_int(w->s->server->redis, "EVAL %s 2 %s:%s:%s %s:queue:%s", lua, w->s->prefix,
                   draw(w, 2) ? "leases" : "delayed", queue, w->s->prefix, queue);
}

static bool end(struct world *w, struct tally *t)
{
    struct process p;
    const char *args[8] = {p.holder};
    bool finishes;
    if (!some_processes(w, draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    args[1 + any_end(w, &p, args + 1, &finishes)] = NULL;
    int status = script_status(script_call_list(w->s, SCRIPT_END, args));
    if (status != MUSTER_OK)
        assert_int_equal(status, MUSTER_E_LOST); /* its lease has lapsed */
    t->gone = finishes && status == MUSTER_OK;
    t->unmarked = t->gone && p.mark[0] == 'd';
    return true;
}

static bool extend(struct world *w, struct tally *t)
{
    struct process p;
    (void)t;
    if (!some_processes(w, draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    bool is_lease = !strcmp(p.holder, MUSTER_LEASE_ID);
    int status = script_does(w->s, SCRIPT_EXTEND, p.holder, p.token, p.queue, is_lease && draw(w, 2) ? "70000" : "",
                             draw(w, 2) ? "1" : "0", draw(w, 2) ? "half" : "");
    assert_true(status == MUSTER_OK || (status == MUSTER_E_STATE && p.mark[0]) ||
                (status == MUSTER_E_LOST && is_lease));
    return true;
}

static bool cancel_process(struct world *w, struct tally *t)
{
    struct process p;
    if (!some_processes(w, "", "", &p, 1))
        return false;
    int status = script_does(w->s, SCRIPT_CANCEL, p.queue, p.holder, p.token);
    assert_true(status == MUSTER_OK || (status == MUSTER_E_LOST && !strcmp(p.holder, MUSTER_LEASE_ID)));
    t->unmarked = status == MUSTER_OK && p.mark[0] == 'd';
    return true;
}

/* By its bytes: what runs; else what is the next out. */
static bool cancel_task(struct world *w, struct tally *t)
{
    struct process p;
    const char *queue = any_queue(w);
    if (draw(w, 2) && some_processes(w, "", queue, &p, 1)) {
        t->unmarked = p.mark[0] == 'd';
        assert_answer(script_call(w->s, SCRIPT_CANCEL, queue, "", p.task), 0, 0, 1);
        return true;
    }
    char *task = raw_string(w->s->server->redis, "LINDEX %s:queues:%s -1", w->s->prefix, queue);
    if (task)
        assert_answer(script_call(w->s, SCRIPT_CANCEL, queue, "", task), 0, 1, 0);
    bool found = task;
    free(task);
    return found;
}

static bool delete_queue(struct world *w, struct tally *t)
{
    const char *queue = any_queue(w);
    int64_t failed = raw_int(w->s->server->redis, "ZCARD %s:failed:%s", w->s->prefix, queue);
    redisReply *reply = script_call(w->s, SCRIPT_DELETE, queue);
    assert_int_equal(reply->elements, 4);
    assert_int_equal(reply->element[3]->integer, 0);
    t->gone = reply->element[1]->integer + failed;
    t->resets = true;
    freeReplyObject(reply);
    return true;
}

static bool pause_or_resume(struct world *w, struct tally *t)
{
    (void)t;
    assert_ok(script_does(w->s, draw(w, 3) ? SCRIPT_RESUME : SCRIPT_PAUSE, any_queue(w)));
    return true;
}

static bool replay_or_drop(struct world *w, struct tally *t)
{
    static const char *const groups[] = {"", "g1", "crashed"};
    bool drops = draw(w, 3) == 0;
    redisReply *reply = script_call(w->s, drops ? SCRIPT_DROP : SCRIPT_REPLAY, any_queue(w), groups[draw(w, 3)],
                                    draw(w, 2) ? "1" : "100", "0");
    assert_int_equal(reply->elements, 3);
    t->gone = drops ? reply->element[1]->integer : 0;
    freeReplyObject(reply);
    return true;
}

static bool listen_to(struct world *w, struct tally *t)
{
    (void)t;
    assert_ok(script_does(w->s, SCRIPT_LISTEN, any_queue(w)));
    return true;
}

static const struct operation {
    const char *name;
    bool (*run)(struct world *w, struct tally *t);
    int weight;
} operations[] = {{"enqueue", enqueue, 17},    {"start", start, 5},           {"turn", turn, 24},
                  {"heartbeat", heartbeat, 7}, {"readback", readback, 3},     {"stop", stop, 1},
                  {"sweep", sweep, 2},         {"leave", leave, 2},           {"serve", serve, 3},
                  {"take", take, 6},           {"pass time", pass_time, 4},   {"end", end, 6},
                  {"extend", extend, 4},       {"cancel", cancel_process, 3}, {"cancel task", cancel_task, 3},
                  {"delete", delete_queue, 1}, {"pause", pause_or_resume, 4}, {"replay", replay_or_drop, 4},
                  {"listen", listen_to, 1}};

/* ---- the account ---- */

static void assert_account(const char *name, const struct census *a, const struct census *b, const struct tally *t)
{
    /* Dropped: cancelled ones are counted; those of a deleted queue are known by their marks. */
    int64_t dropped = t->resets ? 0 : (b->cancelled - a->cancelled) + (a->deleted - b->deleted - t->unmarked);
    if (b->tasks != a->tasks + t->came - t->gone - dropped)
        fail_msg("%s: %d tasks, then %d; %d came, %d are gone, %d were dropped", name, (int)a->tasks, (int)b->tasks,
                 (int)t->came, (int)t->gone, (int)dropped);
}

static void operate(struct world *w)
{
    int at = draw(w, 100);
    size_t i = 0;
    struct tally t = {0};
    while (at >= operations[i].weight)
        at -= operations[i++].weight;
    struct census before = take_census(w->s);
    w->n_done[i] += operations[i].run(w, &t);
    struct census after = take_census(w->s);
    invariant_assert(w->s->server->redis, w->s->prefix);
    invariant_assert_one_place(w->s->server->redis, w->s->prefix);
    assert_account(operations[i].name, &before, &after, &t);
}

static void whatever_is_called_the_invariants_hold_and_nothing_is_lost(void **state)
{
    static struct world w;
    const char *seed = getenv("MUSTER_TEST_SEED"), *ops = getenv("MUSTER_TEST_OPS");
    w.s = *state;
    w.seed = seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)now_ms();
    int n = ops ? atoi(ops) : OPS;
    print_message("MUSTER_TEST_SEED=%u, %d operations\n", w.seed, n);
    for (int i = 0; i < n; i++)
        operate(&w);
    for (size_t i = 0; i < N_OF(operations); i++)
        print_message("%s %d%s", operations[i].name, w.n_done[i], i + 1 < N_OF(operations) ? ", " : "\n");
    for (int i = 0; i < WORKERS; i++)
        acting_forget(&w.workers[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_is_called_the_invariants_hold_and_nothing_is_lost),
    };
    return scene_run(tests, argc, argv);
}
