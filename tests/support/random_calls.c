/* SPDX-License-Identifier: MIT
 *
 * Random calls of scripts.
 */
#include "random_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"

const char *const random_queues[RANDOM_QUEUES] = {"red", "green:blue", "{white} *"};

/* ---- the run ---- */

static void tell(void *arg)
{
    const struct random_world *w = arg;
    int first = w->n_steps > RANDOM_HISTORY ? w->n_steps - RANDOM_HISTORY : 0;
    print_error("MUSTER_TEST_SEED=%u, after %d operations, the last of them:", w->first_seed, w->n_steps);
    for (int i = first; i < w->n_steps; i++)
        print_error(" %s%s", w->history[i % RANDOM_HISTORY], i + 1 < w->n_steps ? "," : "\n");
}

static size_t any_operation(struct random_world *w, const struct random_operation *operations, size_t n)
{
    int at = random_draw(w, 100);
    size_t i = 0;
    while (i + 1 < n && at >= operations[i].weight)
        at -= operations[i++].weight;
    return i;
}

static void print_done(const struct random_world *w, const struct random_operation *operations, size_t n)
{
    for (size_t i = 0; i < n; i++)
        print_message("%s %d%s", operations[i].name, w->n_done[i], i + 1 < n ? ", " : "\n");
}

static int begin(struct random_world *w, struct scene *s, int steps)
{
    static unsigned n_runs; /* further runs have the next seeds */
    const char *seed = getenv("MUSTER_TEST_SEED"), *ops = getenv("MUSTER_TEST_OPS");
    *w = (struct random_world){.s = s, .seed = seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)now_ms()};
    w->seed += n_runs++;
    w->first_seed = w->seed;
    int n = ops ? atoi(ops) : steps;
    print_message("MUSTER_TEST_SEED=%u, %d operations\n", w->seed, n);
    testing_on_failure(tell, w);
    return n;
}

static void assert_weights(const struct random_operation *operations, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += operations[i].weight;
    assert_int_equal(sum, 100);
    assert_true(n <= RANDOM_OPERATIONS_MAX);
}

void random_run(struct random_world *w, struct scene *s, const struct random_operation *operations, size_t n, int steps,
                void (*before)(struct random_world *w),
                void (*after)(struct random_world *w, const char *name, const struct random_effect *e))
{
    assert_weights(operations, n);
    for (steps = begin(w, s, steps); w->n_steps < steps;) {
        struct random_effect e = {.n_meant = 0};
        size_t at = any_operation(w, operations, n);
        w->history[w->n_steps++ % RANDOM_HISTORY] = operations[at].name;
        before(w);
        w->n_done[at] += operations[at].run(w, &e);
        invariant_assert(s->server->redis, s->prefix);
        invariant_assert_one_place(s->server->redis, s->prefix);
        after(w, operations[at].name, &e);
    }
    testing_on_failure(NULL, NULL);
    print_done(w, operations, n);
    for (int i = 0; i < RANDOM_WORKERS; i++)
        acting_forget(&w->workers[i]);
}

/* ---- drawing ---- */

int random_draw(struct random_world *w, int n)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)n);
}

const char *random_queue(struct random_world *w)
{
    return random_queues[random_draw(w, RANDOM_QUEUES)];
}

struct acting_worker *random_worker(struct random_world *w)
{
    int at = random_draw(w, RANDOM_WORKERS);
    return w->lives[at] ? &w->workers[at] : NULL;
}

bool random_is_job(const struct random_process *p)
{
    return strlen(p->field) == 12;
}

bool random_is_cut(const struct random_process *p)
{
    return random_is_job(p) && p->mark[0] == 'c';
}

const char *random_token(const struct random_process *p)
{
    return p->field + random_is_job(p);
}

int random_processes(struct random_world *w, const char *holder, const char *queue, struct random_process *p, int n)
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
        "      local token = string.sub(h[i], -11)\n"
        "      local mark = redis.call('HGET', KEYS[1] .. ':marks:' .. holder, token) or ''\n"
        "      if (ARGV[1] == '' or ARGV[1] == holder) and (ARGV[2] == '' or ARGV[2] == queue) then\n"
        "        found[#found + 1] = {holder, queue, h[i], h[i + 1], mark, token}\n"
        "      end\n"
        "    end\n"
        "  end\n"
        "until cursor == '0'\n"
        "table.sort(found, function(a, b) return a[6] < b[6] end)\n"
        "local some = {}\n"
        "for i = 1, math.min(#found, ARGV[4]) do some[i] = found[(ARGV[3] + i) % #found + 1] end\n"
        "return some";
    redisReply *reply = raw(w->s->server->redis, "EVAL %s 1 %s %s %s %d %d", lua, w->s->prefix, holder, queue,
                            random_draw(w, 1000000), n);
    int found = (int)reply->elements;
    for (int k = 0; k < found; k++) {
        struct redisReply **from = reply->element[k]->element;
        snprintf(p[k].holder, sizeof p[k].holder, "%s", from[0]->str);
        snprintf(p[k].queue, sizeof p[k].queue, "%s", from[1]->str);
        snprintf(p[k].field, sizeof p[k].field, "%s", from[2]->str);
        snprintf(p[k].task, sizeof p[k].task, "%s", from[3]->str);
        snprintf(p[k].mark, sizeof p[k].mark, "%s", from[4]->str);
    }
    freeReplyObject(reply);
    return found;
}

/* ---- operations ---- */

/* Also under an id that died: what that left goes back, or stays with it. */
bool random_start(struct random_world *w, struct random_effect *e)
{
    static const char *const ids[RANDOM_WORKERS] = {"w0", "w1", "w2", "w3"};
    int at = random_draw(w, RANDOM_WORKERS), first = random_draw(w, RANDOM_QUEUES),
        n = 1 + random_draw(w, RANDOM_QUEUES);
    if (w->lives[at] && random_draw(w, 4))
        return false;
    e->ends_hands = e->forgets = w->lives[at];
    if (w->lives[at])
        acting_die(&w->workers[at]);
    w->workers[at] = (struct acting_worker){.id = ids[at],
                                            .hands = 1 + random_draw(w, 4),
                                            .hears = random_draw(w, 5),
                                            .resumes = random_draw(w, 2),
                                            .limit = random_draw(w, 3)};
    for (int i = 0; i < n; i++)
        w->workers[at].queues[i] = random_queues[(first + i) % RANDOM_QUEUES];
    acting_start(&w->workers[at], w->s);
    w->lives[at] = true;
    return true;
}

bool random_heartbeat(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    e->resets = true;
    return worker && acting_heartbeat(worker) == 0;
}

bool random_readback(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    (void)e;
    if (!worker)
        return false;
    worker->conn += random_draw(w, 2);
    assert_ok(acting_readback(worker));
    return true;
}

static void end_worker(struct random_world *w, struct acting_worker *worker, struct random_effect *e)
{
    acting_forget(worker);
    w->lives[worker - w->workers] = false;
    e->ends_hands = e->forgets = true;
}

bool random_stop(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    if (!worker)
        return false;
    assert_ok(acting_stop(worker));
    end_worker(w, worker, e);
    return true;
}

bool random_sweep(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    if (!worker)
        return false;
    if (random_draw(w, 2))
        acting_die(worker);
    assert_ok(script_does(w->s, SCRIPT_SWEEP, worker->id, "1"));
    end_worker(w, worker, e);
    return true;
}

/* The last of its queues. */
bool random_leave(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    int n = 0;
    while (worker && worker->queues[n])
        n++;
    if (n < 2)
        return false;
    assert_ok(acting_leave(worker, worker->queues[n - 1]));
    worker->queues[n - 1] = NULL;
    e->ends_hands = e->forgets = true;
    return true;
}

static const char *random_holder(struct random_world *w)
{
    static const char *const holders[] = {"h0", "h1"};
    return holders[random_draw(w, 2)];
}

bool random_take(struct random_world *w, struct random_effect *e)
{
    static const char *const counts[] = {"0", "1", "2", "5"};
    e->moves_due = e->forgets = true;
    assert_ok(script_does(w->s, SCRIPT_TAKE, random_queue(w), counts[random_draw(w, 4)], "3600000",
                          random_draw(w, 2) ? "1" : "0", "", "0", random_draw(w, 2) ? random_holder(w) : ""));
    return true;
}

/* All that it holds of one queue. */
bool random_fail_holder(struct random_world *w, struct random_effect *e)
{
    e->ends_hands = e->moves_due = e->forgets = true;
    assert_ok(script_does(w->s, SCRIPT_FAIL_HOLDER, random_holder(w), "0"));
    return true;
}

bool random_cancel_process(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    if (!random_processes(w, "", "", &p, 1))
        return false;
    bool is_leased = !strcmp(p.holder, MUSTER_LEASE_ID);
    int status = script_does(w->s, SCRIPT_CANCEL, p.queue, p.holder, random_token(&p));
    assert_true(status == MUSTER_OK || (status == MUSTER_E_LOST && is_leased));
    e->unmarked = status == MUSTER_OK && p.mark[0] == 'd';
    if (status == MUSTER_OK && random_is_job(&p) && !random_is_cut(&p))
        snprintf(e->cancelled, sizeof e->cancelled, "%s", p.task);
    e->moves_due = e->forgets = is_leased;
    return true;
}

int64_t random_over(struct random_world *w, const char *queue, const char *field)
{
    static const char lua[] = "local time, n = redis.call('TIME'), 0\n"
                              "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
                              "for _, over in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do\n"
                              "  local is_meant = ARGV[1] == '' or ARGV[1] == over\n"
                              "  local marked = redis.call('HEXISTS', KEYS[2], string.sub(over, -11)) == 1\n"
                              "  n = n + (is_meant and (ARGV[1] ~= '' or not marked) and 1 or 0)\n"
                              "end\n"
                              "return n";
    return raw_int(w->s->server->redis, "EVAL %s 2 %s:leases:%s %s:marks:.lease %s", lua, w->s->prefix, queue,
                   w->s->prefix, field);
}

bool random_delete_queue(struct random_world *w, struct random_effect *e)
{
    e->deleted = random_queue(w);
    e->forgets = e->resets = true;
    /* These count as removed, and stay where they are until they are moved. */
    int64_t over = random_over(w, e->deleted, "");
    int64_t failed = raw_int(w->s->server->redis, "ZCARD %s:failed:%s", w->s->prefix, e->deleted);
    e->gone = failed - over;
    for (bool is_more = true; is_more;) {
        redisReply *reply = script_call(w->s, SCRIPT_DELETE, e->deleted);
        assert_int_equal(reply->elements, 4);
        e->gone += reply->element[1]->integer;
        is_more = reply->element[3]->integer;
        freeReplyObject(reply);
    }
    return true;
}

bool random_pause_or_resume(struct random_world *w, struct random_effect *e)
{
    e->moves_due = e->forgets = true;
    assert_ok(script_does(w->s, random_draw(w, 3) ? SCRIPT_RESUME : SCRIPT_PAUSE, random_queue(w)));
    return true;
}

bool random_replay_or_drop(struct random_world *w, struct random_effect *e)
{
    static const char *const groups[] = {"", "g1", "crashed"};
    bool drops = random_draw(w, 3) == 0;
    const char *queue = random_queue(w);
    redisReply *reply = script_call(w->s, drops ? SCRIPT_DROP : SCRIPT_REPLAY, queue, groups[random_draw(w, 3)],
                                    random_draw(w, 2) ? "1" : "100", "0");
    assert_int_equal(reply->elements, 3);
    assert_int_equal(reply->element[0]->integer, MUSTER_OK);
    e->gone = drops ? reply->element[1]->integer : 0;
    e->forgets = drops;
    *(drops ? &e->dropped : &e->replayed) = queue;
    freeReplyObject(reply);
    return true;
}
