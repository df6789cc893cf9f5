/* SPDX-License-Identifier: MIT
 *
 * Random calls of all scripts that move tasks (random_calls.h). After each call every task is in one place at most, and
 * the account holds: what is gone was finished, cancelled, dropped or deleted, each counted where it should be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_calls.h"

enum { OPS = 1500 };

/* How many tasks there are in all places; how many were cancelled, by the queues' counters; how many processes are
 * marked because their queue was deleted. */
struct census {
    int64_t tasks, cancelled, deleted;
};

static struct census take_census(struct scene *s)
{
    static const char lua[] =
        "local tasks, cancelled, deleted, cursor = 0, 0, 0, '0'\n"
        "local sizes = {queues = 'LLEN', processing = 'HLEN', home = 'HLEN', delayed = 'ZCARD', failed = 'ZCARD'}\n"
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

/* ---- ends ---- */

/* Adds an end of it to the arguments from `end` on. Returns how many they are; `finishes`: whether it is one. */
static int any_end(struct random_world *w, const struct random_process *p, const char **end, bool *finishes)
{
    static const char *const kinds[] = {"finish", "result", "result", "back", "retry", "retry", "fail"};
    static const char *const groups[] = {"g1", "a longer group"};
    const char *kind = kinds[random_draw(w, N_OF(kinds))];
    *finishes = !strcmp(kind, "finish") || !strcmp(kind, "result");
    end[0] = kind;
    end[1] = p->queue;
    end[2] = random_token(p);
    if (!strcmp(kind, "back") || !strcmp(kind, "finish")) {
        end[2] = "1";
        end[3] = random_token(p);
        return 4;
    }
    end[3] = !strcmp(kind, "result") ? "bytes"
             : !strcmp(kind, "fail") ? groups[random_draw(w, 2)]
             : random_draw(w, 2)     ? "0"
                                     : "60000";
    end[4] = end[5] = "message";
    return !strcmp(kind, "result") ? 4 : !strcmp(kind, "fail") ? 5 : 6;
}

/* ---- operations ---- */

static bool enqueue(struct random_world *w, struct random_effect *e)
{
    char tasks[8][16];
    const char *args[5 + N_OF(tasks) + 1] = {random_queue(w), random_draw(w, 4) ? "0" : "1", "", "0", "0"};
    e->came = random_draw(w, 3) ? 1 : 1 + random_draw(w, N_OF(tasks));
    for (int i = 0; i < e->came; i++) {
        snprintf(tasks[i], sizeof tasks[i], "t%07d", w->n_tasks++);
        args[5 + i] = tasks[i];
    }
    freeReplyObject(script_call_list(w->s, SCRIPT_ENQUEUE, args));
    return true;
}

/* Several ends of any kind; or some of one queue, finished together. */
static void add_ends(struct random_world *w, const struct acting_worker *worker, struct random_process *p,
                     const char **ends, struct random_effect *e)
{
    static const char *const counts[RANDOM_ENDS_MAX + 1] = {"0", "1", "2", "3", "4"};
    bool together = random_draw(w, 3) == 0, finishes = true;
    int n = random_processes(w, worker->id, together ? worker->queues[0] : "", p, random_draw(w, RANDOM_ENDS_MAX + 1)),
        at = 0;
    if (together && n > 0) {
        ends[at++] = "finish";
        ends[at++] = p->queue;
        ends[at++] = counts[n];
    }
    for (int i = 0; i < n; i++) {
        if (together)
            ends[at++] = random_token(&p[i]);
        else
            at += any_end(w, &p[i], ends + at, &finishes);
        e->gone += finishes;
        e->unmarked += finishes && p[i].mark[0] == 'd';
    }
    ends[at] = NULL;
}

static bool turn(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    struct random_process p[RANDOM_ENDS_MAX];
    const char *ends[RANDOM_ENDS_MAX * 6 + 4];
    if (!worker)
        return false;
    add_ends(w, worker, p, ends, e);
    assert_answer(acting_turn_list(worker, random_draw(w, 8), ends), 0, 0);
    return true;
}

static bool serve(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    const char *queue = random_queue(w);
    char conn[16], limit[16], hands[16];
    int n = 0;
    (void)e;
    for (; worker && worker->queues[n]; n++)
        if (worker->queues[n] == queue)
            return false;
    if (!worker)
        return false;
    snprintf(conn, sizeof conn, "%d", worker->conn);
    snprintf(limit, sizeof limit, "%d", worker->limit);
    snprintf(hands, sizeof hands, "%d", worker->hands);
    assert_ok(script_does(w->s, SCRIPT_SERVE, worker->id, worker->epoch, conn, queue, limit, hands));
    worker->queues[n] = queue;
    acting_take(worker);
    return true;
}

/* A lease ends, or a delay, and nobody has noticed yet. */
static bool pass_time(struct random_world *w, struct random_effect *e)
{
    static const char lua[] = "local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]\n"
                              "if not first then return 0 end\n"
                              "redis.call('ZADD', KEYS[1], 1000, first)\n"
                              "redis.call('HSET', KEYS[2], 'due', 1000)\n"
                              "return 1";
    const char *queue = random_queue(w);
    (void)e;
    return raw_int(w->s->server->redis, "EVAL %s 2 %s:%s:%s %s:queue:%s", lua, w->s->prefix,
                   random_draw(w, 2) ? "leases" : "delayed", queue, w->s->prefix, queue);
}

static bool end(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    const char *args[8] = {p.holder};
    bool finishes;
    if (!random_processes(w, random_draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    args[1 + any_end(w, &p, args + 1, &finishes)] = NULL;
    int status = script_status(script_call_list(w->s, SCRIPT_END, args));
    if (status == MUSTER_E_STATE) /* a task cannot keep why it is retried */
        assert_string_equal(args[1], "retry");
    else if (status == MUSTER_E_CANCELLED)
        assert_true(p.mark[0] && !finishes);
    else if (status != MUSTER_OK)
        assert_int_equal(status, MUSTER_E_LOST); /* its lease has lapsed */
    e->gone = finishes && status == MUSTER_OK;
    e->unmarked = e->gone && p.mark[0] == 'd';
    return true;
}

static bool extend(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    (void)e;
    if (!random_processes(w, random_draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    bool is_lease = !strcmp(p.holder, MUSTER_LEASE_ID);
    int status = script_does(w->s, SCRIPT_EXTEND, p.holder, random_token(&p), p.queue,
                             is_lease && random_draw(w, 2) ? "70000" : "", random_draw(w, 2) ? "1" : "0",
                             random_draw(w, 2) ? "half" : "");
    assert_true(status == MUSTER_OK || (status == MUSTER_E_STATE && p.mark[0]) ||
                (status == MUSTER_E_LOST && is_lease));
    return true;
}

/* By its bytes: one that runs, or else the one that is taken next. */
static bool cancel_task(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    const char *queue = random_queue(w);
    if (random_draw(w, 2) && random_processes(w, "", queue, &p, 1)) {
        bool is_over = !strcmp(p.holder, MUSTER_LEASE_ID) && random_over(w, queue, p.field) > 0;
        e->unmarked = p.mark[0] == 'd';
        assert_answer(script_call(w->s, SCRIPT_CANCEL, queue, "", p.task), 0, is_over && !p.mark[0], !is_over);
        return true;
    }
    char *task = raw_string(w->s->server->redis, "LINDEX %s:queues:%s -1", w->s->prefix, queue);
    if (task)
        assert_answer(script_call(w->s, SCRIPT_CANCEL, queue, "", task), 0, 1, 0);
    bool found = task;
    free(task);
    return found;
}

static bool listen_to(struct random_world *w, struct random_effect *e)
{
    (void)e;
    assert_ok(script_does(w->s, SCRIPT_LISTEN, random_queue(w)));
    return true;
}

static const struct random_operation operations[] = {{"enqueue", enqueue, 16},
                                                     {"start", random_start, 5},
                                                     {"turn", turn, 24},
                                                     {"heartbeat", random_heartbeat, 7},
                                                     {"readback", random_readback, 3},
                                                     {"stop", random_stop, 1},
                                                     {"sweep", random_sweep, 2},
                                                     {"leave", random_leave, 2},
                                                     {"serve", serve, 3},
                                                     {"take", random_take, 6},
                                                     {"fail holder", random_fail_holder, 1},
                                                     {"pass time", pass_time, 4},
                                                     {"end", end, 6},
                                                     {"extend", extend, 4},
                                                     {"cancel", random_cancel_process, 3},
                                                     {"cancel task", cancel_task, 3},
                                                     {"delete", random_delete_queue, 1},
                                                     {"pause", random_pause_or_resume, 4},
                                                     {"replay", random_replay_or_drop, 4},
                                                     {"listen", listen_to, 1}};

/* ---- the account ---- */

static struct census before;

static void count_before(struct random_world *w)
{
    before = take_census(w->s);
}

/* Dropped tasks are those that were cancelled, by the counters, and those that were held of a deleted queue, by its
 * marks. */
static void assert_account(struct random_world *w, const char *name, const struct random_effect *e)
{
    struct census now = take_census(w->s);
    int64_t dropped = e->resets ? 0 : (now.cancelled - before.cancelled) + (before.deleted - now.deleted - e->unmarked);
    if (now.tasks != before.tasks + e->came - e->gone - dropped)
        fail_msg("%s: %d tasks, then %d; %d came, %d are gone, %d were dropped", name, (int)before.tasks,
                 (int)now.tasks, (int)e->came, (int)e->gone, (int)dropped);
}

static void whatever_is_called_the_invariants_hold_and_nothing_is_lost(void **state)
{
    static struct random_world w;
    random_run(&w, *state, operations, N_OF(operations), OPS, count_before, assert_account);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_is_called_the_invariants_hold_and_nothing_is_lost),
    };
    return scene_run(tests, argc, argv);
}
