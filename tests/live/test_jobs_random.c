/* SPDX-License-Identifier: MIT
 *
 * Random calls of all scripts that move jobs, beside plain tasks, on a few queues, by workers that are nothing but
 * their calls (script_call.h) and under leases. After each the invariants are looked up, and of each job whether it may
 * have gone where it is now: the call says what becomes of those that it means, and what else may have moved. So no job
 * vanishes, none is complete that nobody finished, and whatever ended a job, its id can be put again.
 *
 * MUSTER_TEST_SEED repeats a run, MUSTER_TEST_OPS makes it longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

enum { OPS = 1200, WORKERS = 4, QUEUES = 3, IDS = 14, JOBS_MAX = 800, ENDS_MAX = 4 };

static const char *const queue_names[QUEUES] = {"red", "green:blue", "{white} *"};

/* Where a job is, as bits, for "one of these". */
enum place {
    NOWHERE = 1,
    SCHEDULED = 2,
    DEPENDS = 4,
    WAITING = 8,
    RUNNING = 16,
    FAILED = 32,
    COMPLETE = 64,
    RECURRING = 128,
    IN_LINE = WAITING | RUNNING, /* what waits may be handed over at once */
    ALIVE = SCHEDULED | DEPENDS | IN_LINE
};

struct job {
    char id[24], queue[16];
    int place;
    bool is_marked;
};

struct snapshot {
    struct job jobs[JOBS_MAX];
    int n;
};

/*
 * What a call did, by its own words.
 *
 *   meant      jobs that it named, and where each may be now
 *   moves_due  what is due may have moved, leases too
 *   ends_hands processes may have lost their worker
 *   queue      may have lost all its jobs: deleted, or its failed list dropped or replayed
 *   forgets    some may be gone for good, so that those that waited for them fail
 *   completes  some may be complete, so that those that waited for them are ready
 */
struct effect {
    struct {
        char id[24];
        int places;
    } meant[ENDS_MAX + 2];
    int n_meant;
    bool moves_due, ends_hands, forgets, completes;
    const char *deleted, *dropped, *replayed;
};

struct world {
    struct scene *s;
    unsigned seed;
    struct acting_worker workers[WORKERS];
    bool lives[WORKERS];
    int n_tasks, n_done[40];
    struct snapshot before, after;
};

static int draw(struct world *w, int n)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)n);
}

static const char *any_queue(struct world *w)
{
    return queue_names[draw(w, QUEUES)];
}

static const char *any_id(struct world *w)
{
    static const char *const ids[IDS] = {"j0", "j1", "j2", "j3", "j4", "j5", "j6",
                                         "j7", "j8", "j9", "ja", "jb", "jc", "jd"};
    return ids[draw(w, IDS)];
}

static struct acting_worker *any_worker(struct world *w)
{
    int at = draw(w, WORKERS);
    return w->lives[at] ? &w->workers[at] : NULL;
}

static void mean(struct effect *e, const char *id, int places)
{
    assert_true((size_t)e->n_meant < N_OF(e->meant));
    snprintf(e->meant[e->n_meant].id, sizeof e->meant[0].id, "%s", id);
    e->meant[e->n_meant++].places = places;
}

/* ---- where jobs are ---- */

static int place_of(const char *state)
{
    static const char *const states[] = {"nowhere", "scheduled", "depends",  "waiting",
                                         "running", "failed",    "complete", "recurring"};
    for (size_t i = 0; i < N_OF(states); i++)
        if (!strcmp(states[i], state))
            return 1 << i;
    fail_msg("a job is %s", state);
    return 0;
}

static void take_snapshot(struct world *w, struct snapshot *out)
{
    static const char lua[] =
        "local found, cursor = {}, '0'\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':job:*', 'COUNT', 10000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do\n"
        "    local job = redis.call('HMGET', key, 'state', 'worker', 'token', 'queue')\n"
        "    local mark = job[2] and redis.call('HGET', KEYS[1] .. ':marks:' .. job[2], job[3])\n"
        "    found[#found + 1] = {string.sub(key, #KEYS[1] + 6), job[1], mark or '', job[4]}\n"
        "  end\n"
        "until cursor == '0'\n"
        "return found";
    redisReply *reply = raw(w->s->server->redis, "EVAL %s 1 %s", lua, w->s->prefix);
    out->n = (int)reply->elements;
    assert_true(out->n <= JOBS_MAX);
    for (int i = 0; i < out->n; i++) {
        struct redisReply **from = reply->element[i]->element;
        snprintf(out->jobs[i].id, sizeof out->jobs[i].id, "%s", from[0]->str);
        snprintf(out->jobs[i].queue, sizeof out->jobs[i].queue, "%s", from[3]->str);
        out->jobs[i].place = place_of(from[1]->str);
        out->jobs[i].is_marked = from[2]->len > 0;
    }
    freeReplyObject(reply);
}

static const struct job *job_in(const struct snapshot *s, const char *id)
{
    static const struct job none = {.id = "", .place = NOWHERE};
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->jobs[i].id, id))
            return &s->jobs[i];
    return &none;
}

/* Where a job may be that the call did not mean. */
static int bystander(const struct effect *e, const struct job *job, const char *id)
{
    bool is_made = strchr(id, '-'), is_gone = (e->deleted && !strcmp(e->deleted, job->queue));
    int places = job->place | (is_gone && !(job->place & RUNNING) ? NOWHERE : 0);
    switch (job->place) {
    case NOWHERE:
        return places | (is_made && e->moves_due ? IN_LINE : 0);
    case SCHEDULED:
        return places | (e->moves_due ? IN_LINE : 0);
    case DEPENDS:
        return places | (e->completes ? IN_LINE | SCHEDULED : 0) | (e->forgets || e->moves_due ? FAILED : 0);
    case WAITING:
        return places | RUNNING;
    case RUNNING:
        places |= e->ends_hands || e->moves_due ? WAITING | FAILED : 0;
        return (places | (job->is_marked && (e->ends_hands || e->moves_due) ? NOWHERE : 0)) &
               (job->is_marked ? ~(WAITING | FAILED) : ~0);
    case FAILED:
        places |= e->dropped && !strcmp(e->dropped, job->queue) ? NOWHERE : 0;
        places |= e->replayed && !strcmp(e->replayed, job->queue) ? IN_LINE : 0;
        return places | (is_made && e->moves_due ? IN_LINE : 0);
    case COMPLETE:
        return places | NOWHERE | (is_made && e->moves_due ? IN_LINE : 0); /* kept for a while only */
    default:
        return places;
    }
}

static void assert_moved(const char *name, const struct effect *e, const struct job *before, const struct job *after,
                         const char *id)
{
    int places = bystander(e, before, id);
    for (int i = 0; i < e->n_meant; i++)
        if (!strcmp(e->meant[i].id, id))
            places = e->meant[i].places | (e->meant[i].places & DEPENDS && (e->forgets || e->moves_due) ? FAILED : 0);
    if (!(after->place & places))
        fail_msg("%s: %s was %#x%s, and is %#x, not one of %#x", name, id, (unsigned)before->place,
                 before->is_marked ? " and marked" : "", (unsigned)after->place, (unsigned)places);
}

static void assert_all_moved(struct world *w, const char *name, const struct effect *e)
{
    for (int i = 0; i < w->before.n; i++)
        assert_moved(name, e, &w->before.jobs[i], job_in(&w->after, w->before.jobs[i].id), w->before.jobs[i].id);
    for (int i = 0; i < w->after.n; i++)
        assert_moved(name, e, job_in(&w->before, w->after.jobs[i].id), &w->after.jobs[i], w->after.jobs[i].id);
}

/* ---- putting ---- */

/* What a put may say besides its names: pairs of fields. */
static int any_fields(struct world *w, const char **args, bool *delays, bool *recurs)
{
    static const char *const priorities[] = {"-1", "0", "0", "7"};
    int n = 0;
    const char *fields[12];
    fields[n++] = "data", fields[n++] = "d";
    fields[n++] = "retries", fields[n++] = draw(w, 3) ? "2" : "0";
    fields[n++] = "priority", fields[n++] = priorities[draw(w, 4)];
    *delays = draw(w, 5) == 0;
    *recurs = draw(w, 12) == 0;
    if (*delays)
        fields[n++] = "delay", fields[n++] = "60000";
    if (*recurs)
        fields[n++] = "every", fields[n++] = "3600000";
    if (draw(w, 4) == 0)
        fields[n++] = "tracked", fields[n++] = "1";
    memcpy(args, fields, (size_t)n * sizeof *fields);
    return n;
}

static bool put(struct world *w, struct effect *e)
{
    static const char *const counts[] = {"0", "1", "2"};
    static const char *const tags[] = {"blue", "old", "big one"};
    const char *id = any_id(w), *args[24] = {any_queue(w), id, draw(w, 2) ? "1" : "0"};
    int n_tags = draw(w, 3), n_after = draw(w, 3) ? 0 : draw(w, 3), n = 5;
    bool delays, recurs;
    args[3] = counts[n_tags];
    args[4] = counts[n_after];
    for (int i = 0; i < n_tags; i++)
        args[n++] = tags[(draw(w, 3) + i) % 3];
    for (int i = 0; i < n_after; i++)
        args[n++] = any_id(w);
    args[n + any_fields(w, args + n, &delays, &recurs)] = NULL;
    if (recurs)
        args[4] = n_after ? "0" : args[4];
    if (recurs && n_after)
        return false;
    int was = job_in(&w->before, id)->place, status = script_status(script_call_list(w->s, SCRIPT_PUT, args));
    bool is_free = was & (NOWHERE | FAILED | COMPLETE);
    if (status == MUSTER_E_INVALID) {
        assert_true(n_after || recurs); /* a circle, or a recurring one in the way */
        return true;
    }
    assert_int_equal(status, is_free || args[2][0] == '1' ? MUSTER_OK : MUSTER_E_EXISTS);
    if (status == MUSTER_OK)
        mean(e, id, recurs || was == RECURRING ? RECURRING : ALIVE);
    return true;
}

static bool change(struct world *w, struct effect *e)
{
    static const char *const whats[][2] = {{"priority", "-3"}, {"priority", "4"},     {"tag", "blue"},
                                           {"untag", "blue"},  {"not_after_all", ""}, {"track", "1"},
                                           {"track", "0"},     {"log", "a line"},     {"data", "other"},
                                           {"queue", "red"},   {"after", "j1"},       {"not_after", "j2"}};
    const char *id = any_id(w), *args[6] = {id};
    int was = job_in(&w->before, id)->place;
    for (int i = 0, n = 1 + draw(w, 2); i < n; i++) {
        const char *const *what = whats[draw(w, N_OF(whats))];
        args[1 + 2 * i] = what[0];
        args[2 + 2 * i] = what[1];
    }
    int status = script_status(script_call_list(w->s, SCRIPT_CHANGE, args));
    assert_true(status == MUSTER_OK || status == MUSTER_E_STATE || status == MUSTER_E_INVALID ||
                (status == MUSTER_E_NOT_FOUND && was == NOWHERE));
    if (status == MUSTER_OK)
        mean(e, id, was == DEPENDS ? ALIVE : was == WAITING ? IN_LINE : was == SCHEDULED ? SCHEDULED | IN_LINE : was);
    return true;
}

static bool cancel_jobs(struct world *w, struct effect *e)
{
    const char *id = any_id(w);
    bool along = draw(w, 2);
    int was = job_in(&w->before, id)->place;
    int status = script_does(w->s, SCRIPT_CANCEL_JOBS, along ? "1" : "0", id);
    if (along)
        assert_ok(status);
    if (status == MUSTER_OK) {
        mean(e, id, was == RUNNING || was == COMPLETE ? was : NOWHERE);
        for (int i = 0; along && i < w->before.n; i++) /* along the way any that depends, or has failed, may go */
            if (w->before.jobs[i].place == DEPENDS && strcmp(w->before.jobs[i].id, id) != 0)
                w->before.jobs[i].place = DEPENDS | NOWHERE;
    } else {
        assert_int_equal(status, MUSTER_E_STATE);
    }
    return true;
}

/* ---- processes ---- */

struct process {
    char holder[16], queue[16], field[13], task[24];
    bool is_marked;
};

static bool is_of_job(const struct process *p)
{
    return strlen(p->field) == 12;
}

static const char *token_in(const struct process *p)
{
    return p->field + is_of_job(p);
}

/* Up to `n` processes, of this holder or of anybody (""). */
static int some_processes(struct world *w, const char *holder, struct process *p, int n)
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
        "      if ARGV[1] == '' or ARGV[1] == holder then\n"
        "        found[#found + 1] = {holder, queue, h[i], h[i + 1], mark, token}\n"
        "      end\n"
        "    end\n"
        "  end\n"
        "until cursor == '0'\n"
        "table.sort(found, function(a, b) return a[6] < b[6] end)\n"
        "local some = {}\n"
        "for i = 1, math.min(#found, ARGV[3]) do some[i] = found[(ARGV[2] + i) % #found + 1] end\n"
        "return some";
    redisReply *reply =
        raw(w->s->server->redis, "EVAL %s 1 %s %s %d %d", lua, w->s->prefix, holder, draw(w, 1000000), n);
    int found = (int)reply->elements;
    for (int k = 0; k < found; k++) {
        struct redisReply **from = reply->element[k]->element;
        snprintf(p[k].holder, sizeof p[k].holder, "%s", from[0]->str);
        snprintf(p[k].queue, sizeof p[k].queue, "%s", from[1]->str);
        snprintf(p[k].field, sizeof p[k].field, "%s", from[2]->str);
        snprintf(p[k].task, sizeof p[k].task, "%s", from[3]->str);
        p[k].is_marked = from[4]->len > 0;
    }
    freeReplyObject(reply);
    return found;
}

/* The kind's own arguments behind the queue, "T" for the token, "Q" for a queue; and where a job may be then. */
static const struct end_kind {
    const char *args[8];
    int places, marked;
    bool of_job_only;
} end_kinds[] = {
    {{"done", "T"}, COMPLETE | NOWHERE, COMPLETE | NOWHERE, true},
    {{"result", "T", "bytes"}, COMPLETE | NOWHERE, COMPLETE | NOWHERE, false},
    {{"finish", "1", "T"}, COMPLETE | NOWHERE, COMPLETE | NOWHERE, false},
    {{"next", "T", "1", "bytes", "Q", "0", ""}, IN_LINE, ALIVE | COMPLETE | NOWHERE, true},
    {{"next", "T", "0", "", "Q", "60000", "j3\n"}, SCHEDULED | DEPENDS, ALIVE | COMPLETE | NOWHERE, true},
    {{"back", "1", "T"}, IN_LINE, NOWHERE, false},
    {{"retry", "T", "", "", ""}, IN_LINE | FAILED, NOWHERE, false},
    {{"retry", "T", "60000", "g1", "message"}, SCHEDULED | FAILED, NOWHERE, false},
    {{"fail", "T", "g1", "message"}, FAILED, NOWHERE, false},
    {{"fail", "T", "a longer group", "message"}, FAILED, NOWHERE, false},
};

/* Adds an end of it to the arguments from `end` on. Returns how many they are. `alone`: it is told with no others, so that
 * a plain "finish" will do for a job. */
static int any_end(struct world *w, const struct process *p, const char **end, bool alone, struct effect *e)
{
    const struct end_kind *kind;
    int n = 2;
    do
        kind = &end_kinds[draw(w, N_OF(end_kinds))];
    while ((kind->of_job_only && !is_of_job(p)) || (!alone && is_of_job(p) && !strcmp(kind->args[0], "finish")));
    end[0] = kind->args[0];
    end[1] = p->queue;
    for (int i = 1; kind->args[i]; i++)
        end[n++] = !strcmp(kind->args[i], "T")   ? token_in(p)
                   : !strcmp(kind->args[i], "Q") ? any_queue(w)
                                                 : kind->args[i];
    e->completes |= !!(kind->places & COMPLETE) || (p->is_marked && kind->marked & COMPLETE);
    e->forgets |= p->is_marked;
    if (is_of_job(p))
        mean(e, p->task, p->is_marked ? kind->marked : kind->places);
    return n;
}

/* ---- the operations: false if there was nothing to do ---- */

static bool enqueue(struct world *w, struct effect *e)
{
    char task[16];
    (void)e;
    snprintf(task, sizeof task, "t%07d", w->n_tasks++);
    freeReplyObject(script_call(w->s, SCRIPT_ENQUEUE, any_queue(w), draw(w, 4) ? "0" : "1", "", "0", "0", task));
    return true;
}

static bool start(struct world *w, struct effect *e)
{
    static const char *const ids[WORKERS] = {"w0", "w1", "w2", "w3"};
    int at = draw(w, WORKERS), first = draw(w, QUEUES), n = 1 + draw(w, QUEUES);
    if (w->lives[at] && draw(w, 4))
        return false;
    e->ends_hands = e->forgets = w->lives[at];
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

static void end_worker(struct world *w, struct acting_worker *worker, struct effect *e)
{
    acting_forget(worker);
    w->lives[worker - w->workers] = false;
    e->ends_hands = e->forgets = true;
}

static bool turn(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
    struct process p[ENDS_MAX];
    const char *ends[ENDS_MAX * 10 + 1];
    int at = 0;
    if (!worker)
        return false;
    int n = some_processes(w, worker->id, p, draw(w, ENDS_MAX + 1));
    for (int i = 0; i < n; i++)
        at += any_end(w, &p[i], ends + at, false, e);
    ends[at] = NULL;
    e->moves_due = true;
    assert_answer(acting_turn_list(worker, draw(w, 8), ends), 0, 0);
    return true;
}

static bool heartbeat(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
    (void)e;
    return worker && acting_heartbeat(worker) == 0;
}

static bool readback(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
    (void)e;
    if (!worker)
        return false;
    worker->conn += draw(w, 2);
    assert_ok(acting_readback(worker));
    return true;
}

static bool stop(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
    if (!worker)
        return false;
    assert_ok(acting_stop(worker));
    end_worker(w, worker, e);
    return true;
}

static bool sweep(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
    if (!worker)
        return false;
    if (draw(w, 2))
        acting_die(worker);
    assert_ok(script_does(w->s, SCRIPT_SWEEP, worker->id, "1"));
    end_worker(w, worker, e);
    return true;
}

static bool leave(struct world *w, struct effect *e)
{
    struct acting_worker *worker = any_worker(w);
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

static bool take(struct world *w, struct effect *e)
{
    static const char *const counts[] = {"0", "1", "2", "5"};
    e->moves_due = e->forgets = true;
    assert_ok(script_does(w->s, SCRIPT_TAKE, any_queue(w), counts[draw(w, 4)], "60000", draw(w, 2) ? "1" : "0"));
    return true;
}

/* Something is due; nobody has noticed yet. */
static bool pass_time(struct world *w, struct effect *e)
{
    static const char *const kinds[] = {"leases", "delayed", "scheduled", "recurring"};
    static const char lua[] = "local P, kind, q = KEYS[1] .. ':', ARGV[1], ARGV[2]\n"
                              "local first = redis.call('ZRANGE', P .. kind .. ':' .. q, 0, 0)[1]\n"
                              "if not first then return 0 end\n"
                              "local at = kind == 'recurring' and redis.call('TIME')[1] * 1000 - 9000000 or 1000\n"
                              "redis.call('ZADD', P .. kind .. ':' .. q, at, first)\n"
                              "if kind == 'scheduled' or kind == 'recurring' then\n"
                              "  redis.call('HSET', P .. 'job:' .. string.sub(first, 12), 'due', at)\n"
                              "end\n"
                              "redis.call('HSET', P .. 'queue:' .. q, 'due', 1000)\n"
                              "redis.call('ZADD', P .. 'due', 1000, q)\n"
                              "return 1";
    (void)e;
    return raw_int(w->s->server->redis, "EVAL %s 1 %s %s %s", lua, w->s->prefix, kinds[draw(w, 4)], any_queue(w));
}

static bool promote(struct world *w, struct effect *e)
{
    e->moves_due = e->forgets = true;
    redisReply *reply = script_call_list(w->s, SCRIPT_PROMOTE, (const char *const[]){NULL});
    assert_int_equal(reply->elements, 2);
    freeReplyObject(reply);
    return true;
}

static bool end(struct world *w, struct effect *e)
{
    struct process p;
    const char *args[12] = {p.holder};
    if (!some_processes(w, draw(w, 2) ? MUSTER_LEASE_ID : "", &p, 1))
        return false;
    args[1 + any_end(w, &p, args + 1, true, e)] = NULL;
    int status = script_status(script_call_list(w->s, SCRIPT_END, args));
    e->moves_due = true;
    e->forgets |= !strcmp(p.holder, MUSTER_LEASE_ID);
    if (status == MUSTER_E_INVALID) { /* it would wait for itself, or for what recurs */
        assert_string_equal(args[1], "next");
        e->n_meant = 0;
    } else if (status != MUSTER_OK) {
        assert_int_equal(status, MUSTER_E_LOST); /* its lease has lapsed */
        assert_string_equal(p.holder, MUSTER_LEASE_ID);
        e->n_meant = 0;
    }
    return true;
}

static bool extend(struct world *w, struct effect *e)
{
    struct process p;
    if (!some_processes(w, draw(w, 2) ? MUSTER_LEASE_ID : "", &p, 1))
        return false;
    bool is_lease = !strcmp(p.holder, MUSTER_LEASE_ID), has_data = draw(w, 2);
    int status =
        script_does(w->s, SCRIPT_EXTEND, p.holder, token_in(&p), p.queue, is_lease && draw(w, 2) ? "70000" : "",
                    draw(w, 2) ? "1" : "0", draw(w, 2) ? "half" : "", has_data ? "1" : "0", "new data");
    e->moves_due = e->forgets = is_lease;
    assert_true(status == MUSTER_OK || (status == MUSTER_E_STATE && (p.is_marked || (has_data && !is_of_job(&p)))) ||
                (status == MUSTER_E_LOST && is_lease));
    return true;
}

static bool fetch(struct world *w, struct effect *e)
{
    struct process p;
    (void)e;
    if (!some_processes(w, "", &p, 1))
        return false;
    assert_int_equal(script_does(w->s, SCRIPT_FETCH, p.holder, token_in(&p), p.queue),
                     is_of_job(&p) ? MUSTER_OK : MUSTER_E_NOT_FOUND);
    return true;
}

static bool cancel_process(struct world *w, struct effect *e)
{
    struct process p;
    if (!some_processes(w, "", &p, 1))
        return false;
    e->moves_due = e->forgets = !strcmp(p.holder, MUSTER_LEASE_ID);
    int status = script_does(w->s, SCRIPT_CANCEL, p.queue, p.holder, token_in(&p));
    assert_true(status == MUSTER_OK || (status == MUSTER_E_LOST && !strcmp(p.holder, MUSTER_LEASE_ID)));
    return true;
}

static bool delete_queue(struct world *w, struct effect *e)
{
    redisReply *reply;
    e->deleted = any_queue(w);
    e->forgets = true;
    reply = script_call(w->s, SCRIPT_DELETE, e->deleted);
    assert_int_equal(reply->elements, 4);
    assert_int_equal(reply->element[3]->integer, 0);
    freeReplyObject(reply);
    return true;
}

static bool pause_or_resume(struct world *w, struct effect *e)
{
    e->moves_due = e->forgets = true;
    assert_ok(script_does(w->s, draw(w, 3) ? SCRIPT_RESUME : SCRIPT_PAUSE, any_queue(w)));
    return true;
}

static bool replay_or_drop(struct world *w, struct effect *e)
{
    static const char *const groups[] = {"", "g1", "crashed"};
    bool drops = draw(w, 3) == 0;
    const char *queue = any_queue(w);
    *(drops ? &e->dropped : &e->replayed) = queue;
    e->forgets = drops;
    assert_ok(script_does(w->s, drops ? SCRIPT_DROP : SCRIPT_REPLAY, queue, groups[draw(w, 3)],
                          draw(w, 2) ? "1" : "100", "0"));
    return true;
}

static bool configure(struct world *w, struct effect *e)
{
    static const char *const settings[][2] = {{"max_running", "2"}, {"max_running", "1"}, {"max_running", ""},
                                              {"keep_jobs", "2"},   {"keep_jobs", "0"},   {"keep_jobs", ""},
                                              {"max_crashes", "2"}, {"max_crashes", ""}};
    const char *const *setting = settings[draw(w, N_OF(settings))];
    (void)e;
    assert_ok(script_does(w->s, SCRIPT_CONFIG, any_queue(w), setting[0], setting[1]));
    return true;
}

static bool listen_to(struct world *w, struct effect *e)
{
    (void)e;
    assert_ok(script_does(w->s, SCRIPT_LISTEN, draw(w, 2) ? "" : any_queue(w)));
    return true;
}

static const struct operation {
    const char *name;
    bool (*run)(struct world *w, struct effect *e);
    int weight;
} operations[] = {{"put", put, 22},
                  {"change", change, 6},
                  {"cancel jobs", cancel_jobs, 4},
                  {"enqueue", enqueue, 5},
                  {"start", start, 5},
                  {"turn", turn, 19},
                  {"heartbeat", heartbeat, 3},
                  {"readback", readback, 2},
                  {"stop", stop, 1},
                  {"sweep", sweep, 2},
                  {"leave", leave, 1},
                  {"take", take, 5},
                  {"pass time", pass_time, 5},
                  {"promote", promote, 3},
                  {"end", end, 5},
                  {"extend", extend, 2},
                  {"fetch", fetch, 1},
                  {"cancel", cancel_process, 2},
                  {"delete", delete_queue, 1},
                  {"pause", pause_or_resume, 2},
                  {"replay", replay_or_drop, 2},
                  {"config", configure, 1},
                  {"listen", listen_to, 1}};

/* ---- the run ---- */

static void operate(struct world *w)
{
    int at = draw(w, 100);
    size_t i = 0;
    struct effect e = {.n_meant = 0};
    while (at >= operations[i].weight)
        at -= operations[i++].weight;
    take_snapshot(w, &w->before);
    w->n_done[i] += operations[i].run(w, &e);
    take_snapshot(w, &w->after);
    invariant_assert(w->s->server->redis, w->s->prefix);
    invariant_assert_one_place(w->s->server->redis, w->s->prefix);
    assert_all_moved(w, operations[i].name, &e);
}

/* Whatever ended them: finished, failed, cancelled, deleted, dropped, not kept. */
static void assert_ids_are_free(struct world *w)
{
    take_snapshot(w, &w->before);
    for (int i = 0; i < w->before.n; i++) {
        const struct job *job = &w->before.jobs[i];
        if (job->place & (FAILED | COMPLETE))
            assert_ok(script_does(w->s, SCRIPT_PUT, "red", job->id, "0", "0", "0"));
    }
    invariant_assert(w->s->server->redis, w->s->prefix);
}

static void whatever_is_called_each_job_is_in_one_state_that_it_may_be_in(void **state)
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
    assert_ids_are_free(&w);
    for (int i = 0; i < WORKERS; i++)
        acting_forget(&w.workers[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_is_called_each_job_is_in_one_state_that_it_may_be_in),
    };
    return scene_run(tests, argc, argv);
}
