/* SPDX-License-Identifier: MIT
 *
 * Random calls of all scripts that move jobs, beside plain tasks (random_calls.h). After each call every job is where
 * it may have gone: the call says what becomes of the jobs that it names, and what else may have moved. So no job
 * vanishes, none is complete that nobody finished, and whatever ended a job, its id can be put again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "random_batches.h"
#include "random_calls.h"

enum { OPS = 1200, IDS = 14, JOBS_MAX = 800, RUNS_MAX = 5, CHECKED_EACH = 60 };

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
    HELD = 256,
    WAITS = WAITING | HELD,    /* one of its key that comes before it may take its place */
    IN_LINE = WAITS | RUNNING, /* what waits may be handed over at once */
    ALIVE = SCHEDULED | DEPENDS | IN_LINE
};

struct job {
    char id[24], queue[16];
    int place;
    bool is_marked;
    bool follows;   /* it waits for an end or a failure, not only until others are complete */
    bool is_member; /* of a batch */
};

static struct snapshot {
    struct job jobs[JOBS_MAX];
    int n;
    bool any_follows;
} before, after;

static const char *any_id(struct random_world *w)
{
    static const char *const ids[IDS] = {"j0", "j1", "j2", "j3", "j4", "j5", "j6",
                                         "j7", "j8", "j9", "ja", "jb", "jc", "jd"};
    return ids[random_draw(w, IDS)];
}

/* How often a job was held, or in a round, a schedule got other ticks, and a batch ended. */
static int n_held, n_refilled, n_in_rounds, n_batches_ended;

static void mean(struct random_effect *e, const char *id, int places)
{
    assert_true((size_t)e->n_meant < N_OF(e->meant));
    snprintf(e->meant[e->n_meant].id, sizeof e->meant[0].id, "%s", id);
    e->meant[e->n_meant++].places = places;
}

/* ---- where jobs are ---- */

static int place_of(const char *state)
{
    static const char *const states[] = {"nowhere", "scheduled", "depends",   "waiting", "running",
                                         "failed",  "complete",  "recurring", "held"};
    for (size_t i = 0; i < N_OF(states); i++)
        if (!strcmp(states[i], state))
            return 1 << i;
    fail_msg("a job is %s", state);
    return 0;
}

static void take_snapshot(struct random_world *w, struct snapshot *out)
{
    static const char lua[] =
        "local found, cursor = {}, '0'\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':job:*', 'COUNT', 10000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do\n"
        "    local job = redis.call('HMGET', key, 'state', 'worker', 'token', 'queue', 'round', 'batch')\n"
        "    local mark = job[2] and redis.call('HGET', KEYS[1] .. ':marks:' .. job[2], job[3])\n"
        "    local id, follows = string.sub(key, #KEYS[1] + 6), ''\n"
        "    for _, name in ipairs(redis.call('SMEMBERS', KEYS[1] .. ':dependencies:' .. id)) do\n"
        "      if string.find(name, '\\n', 1, true) then follows = '1' end\n"
        "    end\n"
        "    found[#found + 1] = {id, job[1], mark or '', job[4], follows, job[5] or '', job[6] or ''}\n"
        "  end\n"
        "until cursor == '0'\n"
        "return found";
    redisReply *reply = raw(w->s->server->redis, "EVAL %s 1 %s", lua, w->s->prefix);
    out->n = (int)reply->elements;
    assert_true(out->n <= JOBS_MAX);
    out->any_follows = false;
    for (int i = 0; i < out->n; i++) {
        struct redisReply **from = reply->element[i]->element;
        snprintf(out->jobs[i].id, sizeof out->jobs[i].id, "%s", from[0]->str);
        snprintf(out->jobs[i].queue, sizeof out->jobs[i].queue, "%s", from[3]->str);
        out->jobs[i].place = place_of(from[1]->str);
        out->jobs[i].is_marked = from[2]->len > 0;
        out->jobs[i].follows = from[4]->len > 0;
        out->jobs[i].is_member = from[6]->len > 0;
        out->any_follows |= out->jobs[i].follows;
        n_held += out->jobs[i].place == HELD;
        n_in_rounds += out->jobs[i].place == WAITING && from[5]->len > 0;
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

/* By queue: has its failed list a bound? Then any failure may drop others, and so do some calls by themselves. */
static bool drops_failures[RANDOM_QUEUES];

static bool may_drop_failures(const struct random_effect *e, const char *queue)
{
    bool may_fail = e->completes || e->forgets || e->moves_due || e->ends_hands || e->deleted || e->dropped ||
                    e->replayed || e->cancels_members || e->is_tidied || e->n_meant;
    for (int i = 0; may_fail && i < RANDOM_QUEUES; i++)
        if (drops_failures[i] && (!queue || !strcmp(random_queues[i], queue)))
            return true;
    return false;
}

/* May jobs be gone for good, so that those fail that waited for them? */
static bool may_forget(const struct random_effect *e)
{
    return e->forgets || may_drop_failures(e, NULL);
}

/* May the call end jobs that it does not mean, or in ways that it does not say? */
static bool may_end_any(const struct random_effect *e)
{
    return e->completes || may_forget(e) || e->moves_due || e->ends_hands || e->deleted || e->dropped;
}

/* Where a job that depends goes beyond what the others do: it follows an end or a failure, or is cancelled because that
 * cannot come; then those fail that wait for it. */
static int place_of_follower(const struct random_effect *e, const struct job *job)
{
    if (!may_end_any(e))
        return 0;
    return (job->follows ? IN_LINE | SCHEDULED | NOWHERE : 0) | (before.any_follows ? FAILED : 0);
}

/* A batch's follower can be put by whatever ends a member: is it one? */
static bool is_follower_of_batch(const char *id)
{
    return id[0] == 'b';
}

/* Where a job may be that the call did not mean, and that is not a follower or a member of a batch. */
static int alone(const struct random_effect *e, const struct job *job, const char *id)
{
    bool is_made = strchr(id, '-'), is_gone = (e->deleted && !strcmp(e->deleted, job->queue));
    bool may_be_dropped = e->dropped && !strcmp(e->dropped, job->queue);
    int places = job->place | (is_gone && !(job->place & RUNNING) ? NOWHERE : 0);
    switch (job->place) {
    case NOWHERE:
        return places | (is_made && e->moves_due ? IN_LINE : 0);
    case SCHEDULED:
        return places | (e->moves_due ? IN_LINE : 0);
    case DEPENDS: /* a drop may make it fail, and then meet it: it was asked for more than there were */
        return places | (e->completes ? IN_LINE | SCHEDULED : 0) | (may_forget(e) || e->moves_due ? FAILED : 0) |
               (may_be_dropped ? NOWHERE : 0) | place_of_follower(e, job);
    case WAITING:
    case HELD: /* one of its key has left its place */
        return places | IN_LINE;
    case RUNNING:
        places |= e->ends_hands || e->moves_due ? WAITS | FAILED : 0;
        return (places | (job->is_marked && (e->ends_hands || e->moves_due) ? NOWHERE : 0)) &
               (job->is_marked ? ~(WAITS | FAILED) : ~0);
    case FAILED:
        places |= may_be_dropped || may_drop_failures(e, job->queue) ? NOWHERE : 0;
        places |= e->replayed && !strcmp(e->replayed, job->queue) ? IN_LINE : 0;
        return places | (is_made && e->moves_due ? IN_LINE : 0);
    case RECURRING: /* it has made the last one of its schedule */
        return places | (e->moves_due ? COMPLETE | NOWHERE : 0);
    case COMPLETE:
        return places | NOWHERE | (is_made && e->moves_due ? IN_LINE : 0); /* kept for a while only */
    default:
        return places;
    }
}

/* Where a job may be that the call did not mean. */
static int bystander(const struct random_effect *e, const struct job *job, const char *id)
{
    int places = alone(e, job, id);
    if ((e->cancels_members || e->moves_due) && job->is_member && job->place & ALIVE)
        places |= NOWHERE;
    if (may_end_any(e) && job->is_member && job->place & DEPENDS)
        places |= NOWHERE; /* instead of failed, if its batch is being cancelled */
    if (is_follower_of_batch(id) && places & (NOWHERE | FAILED | COMPLETE))
        places |= IN_LINE; /* its id was free, and it was put, maybe again */
    return places;
}

static void assert_moved(const char *name, const struct random_effect *e, const struct job *was, const struct job *is,
                         const char *id)
{
    int places = bystander(e, was, id);
    for (int i = 0; i < e->n_meant; i++)
        if (!strcmp(e->meant[i].id, id))
            places =
                e->meant[i].places | (e->meant[i].places & DEPENDS && (may_forget(e) || e->moves_due) ? FAILED : 0);
    if (places & FAILED && may_drop_failures(e, NULL))
        places |= NOWHERE; /* another one has failed after it */
    if (strchr(id, '-') && e->moves_due && places & (NOWHERE | FAILED | COMPLETE))
        places |= IN_LINE; /* its id was free, and it was made again at once */
    if (!(is->place & places))
        fail_msg("%s: %s was %#x%s, and is %#x, not one of %#x", name, id, (unsigned)was->place,
                 was->is_marked ? " and marked" : "", (unsigned)is->place, (unsigned)places);
}

static void look_before(struct random_world *w)
{
    take_snapshot(w, &before);
}

static void assert_all_moved(struct random_world *w, const char *name, const struct random_effect *e)
{
    take_snapshot(w, &after);
    for (int i = 0; i < before.n; i++)
        assert_moved(name, e, &before.jobs[i], job_in(&after, before.jobs[i].id), before.jobs[i].id);
    for (int i = 0; i < after.n; i++)
        assert_moved(name, e, job_in(&before, after.jobs[i].id), &after.jobs[i], after.jobs[i].id);
    if (w->n_steps % CHECKED_EACH == 0)
        checked_assert_clean(w->s);
}

/* ---- putting ---- */

/* Pairs of fields that a put may have. */
static int any_fields(struct random_world *w, const char **args, bool *delays, bool *recurs)
{
    static const char *const priorities[] = {"-1", "0", "0", "7"};
    int n = 0;
    const char *fields[24];
    fields[n++] = "data", fields[n++] = "d";
    fields[n++] = "retries", fields[n++] = random_draw(w, 3) ? "2" : "0";
    fields[n++] = "priority", fields[n++] = priorities[random_draw(w, 4)];
    if (random_draw(w, 2))
        fields[n++] = "backoff", fields[n++] = "0";
    *delays = random_draw(w, 5) == 0;
    *recurs = random_draw(w, 8) == 0;
    if (random_draw(w, 4))
        fields[n++] = "key", fields[n++] = random_draw(w, 3) ? "acme" : "a.b";
    if (*delays)
        fields[n++] = "delay", fields[n++] = "60000";
    if (*recurs && random_draw(w, 2)) {
        fields[n++] = "every", fields[n++] = "3600000";
    } else if (*recurs) { /* of its ticks, some have come */
        fields[n++] = "cron", fields[n++] = "0 0 1 1 *", fields[n++] = "zone", fields[n++] = "UTC";
        fields[n++] = "last", fields[n++] = "1", fields[n++] = "ticks";
        fields[n++] = random_draw(w, 2) ? "1000 2000 4102444800000" : "1000 2000 3000";
    }
    if (*recurs && random_draw(w, 2))
        fields[n++] = "overlap", fields[n++] = random_draw(w, 2) ? "skip" : "queue";
    if (random_draw(w, 4) == 0)
        fields[n++] = "tracked", fields[n++] = "1";
    memcpy(args, fields, (size_t)n * sizeof *fields);
    return n;
}

static bool put(struct random_world *w, struct random_effect *e)
{
    static const char *const tags[] = {"blue", "old", "big one"};
    const char *id = any_id(w), *args[48] = {random_queue(w), "", id, "replace", random_draw(w, 2) ? "1" : "0"};
    static const char *const ways[] = {"after", "after", "after_end", "after_failure"};
    int n_tags = random_draw(w, 3), n_after = random_draw(w, 3) ? 0 : random_draw(w, 3), n = 5;
    bool delays, recurs, for_failure = false;
    for (int i = 0; i < n_tags; i++)
        args[n++] = "tag", args[n++] = tags[(random_draw(w, 3) + i) % 3];
    for (int i = 0; i < n_after; i++) {
        const char *way = ways[random_draw(w, N_OF(ways))];
        for_failure |= !strcmp(way, "after_failure");
        args[n++] = way, args[n++] = any_id(w);
    }
    bool may_be_missing = random_draw(w, 2), joins = random_draw(w, 3) == 0;
    if (joins)
        args[n++] = "batch", args[n++] = random_batch(w);
    if (may_be_missing)
        args[n++] = "may_be_missing", args[n++] = "1";
    args[n + any_fields(w, args + n, &delays, &recurs)] = NULL;
    if (recurs && n_after)
        return false;
    int was = job_in(&before, id)->place, status = script_status(script_call_list(w->s, SCRIPT_PUT, args));
    bool is_dropped = was == RUNNING && job_in(&before, id)->is_marked && args[4][0] == '0'; /* unless it is finished */
    bool is_free = was & (NOWHERE | FAILED | COMPLETE);
    if (status == MUSTER_E_NOT_FOUND) {
        assert_true(joins || (n_after && (!may_be_missing || for_failure)));
        return true;
    }
    if (status == MUSTER_E_STATE) {
        assert_true(for_failure || joins || recurs ||
                    is_dropped); /* of one that is complete; a batch that is closed, or its member */
        return true;
    }
    if (status == MUSTER_E_INVALID) {
        assert_true(n_after || recurs || (delays && was == RECURRING)); /* a circle, or a recurring one in the way */
        return true;
    }
    assert_int_equal(status, is_free || args[4][0] == '1' ? MUSTER_OK : MUSTER_E_EXISTS);
    if (status == MUSTER_OK)
        mean(e, id, recurs || was == RECURRING ? RECURRING : ALIVE);
    return true;
}

static bool names(const char *const *args, const char *what)
{
    for (; *args; args++)
        if (!strcmp(*args, what))
            return true;
    return false;
}

static bool waits_for_more(const char *const *args)
{
    return names(args, "after") || names(args, "after_end") || names(args, "after_failure");
}

static bool change(struct random_world *w, struct random_effect *e)
{
    static const char *const whats[][2] = {
        {"priority", "-3"}, {"priority", "4"},   {"tag", "blue"},         {"untag", "blue"},   {"not_after_all", ""},
        {"track", "1"},     {"track", "0"},      {"log", "a line"},       {"data", "other"},   {"queue", "red"},
        {"after", "j1"},    {"after_end", "j3"}, {"after_failure", "j4"}, {"not_after", "j2"}, {"delay", "0"},
        {"delay", "60"},    {"at", "1"},         {"retries", "1"},        {"backoff", "9"},    {"only_if", "waiting"},
        {"key", "acme"},    {"key", ""},         {"only_if", "held"}};
    const char *id = any_id(w), *args[6] = {id};
    int was = job_in(&before, id)->place;
    for (int i = 0, n = 1 + random_draw(w, 2); i < n; i++) {
        const char *const *what = whats[random_draw(w, N_OF(whats))];
        args[1 + 2 * i] = what[0];
        args[2 + 2 * i] = what[1];
    }
    int status = script_status(script_call_list(w->s, SCRIPT_CHANGE, args));
    assert_true(status == MUSTER_OK || status == MUSTER_E_STATE || status == MUSTER_E_INVALID ||
                (status == MUSTER_E_NOT_FOUND && (was == NOWHERE || (was == DEPENDS && waits_for_more(args)))));
    if (status == MUSTER_OK)
        mean(e, id, was == DEPENDS ? ALIVE : was & (WAITS | SCHEDULED) ? SCHEDULED | IN_LINE : was);
    return true;
}

static bool cancel_jobs(struct random_world *w, struct random_effect *e)
{
    const char *id = any_id(w);
    bool along = random_draw(w, 2);
    int was = job_in(&before, id)->place;
    int status = script_does(w->s, SCRIPT_CANCEL_JOBS, along ? "1" : "0", id);
    if (along)
        assert_ok(status);
    if (status == MUSTER_OK) {
        mean(e, id, was == COMPLETE ? was : NOWHERE);
        e->forgets |= before.any_follows;             /* what waits for its failure goes too, and so on */
        for (int i = 0; along && i < before.n; i++) { /* along the way any that depends, or has failed, may go */
            struct job *job = &before.jobs[i];
            if (job->place == DEPENDS && strcmp(job->id, id) != 0)
                job->place = DEPENDS | NOWHERE | place_of_follower(e, job);
        }
    } else {
        assert_int_equal(status, MUSTER_E_STATE);
    }
    return true;
}

/* ---- processes ---- */

/* The kind's own arguments after the queue, "T" for the token and "Q" for a queue; and where a job may be then. */
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
    {{"retry", "T", "", "", ""}, FAILED, NOWHERE, false}, /* or where its backoff says */
    {{"retry", "T", "60000", "g1", "message"}, SCHEDULED | FAILED, NOWHERE, false},
    {{"fail", "T", "g1", "message"}, FAILED, NOWHERE, false},
    {{"fail", "T", "a longer group", "message"}, FAILED, NOWHERE, false},
};

/* Where a retry without a delay of its own brings it. A job that does not say how long it waits has the default. */
static int place_of_retry(struct random_world *w, const struct random_process *p)
{
    redisReply *reply = raw(w->s->server->redis, "HGET %s:job:%s backoff", w->s->prefix, p->task);
    bool waits = random_is_job(p) && !(reply->str && !strcmp(reply->str, "0"));
    freeReplyObject(reply);
    return waits ? SCHEDULED : IN_LINE;
}

/* What an end of its process does to a job, or whatever it does to a task. */
static void mean_end(struct random_world *w, const struct random_process *p, const struct end_kind *kind, bool alone,
                     struct random_effect *e)
{
    if (random_is_cut(p)) /* a job of this id is another one */
        return;
    e->completes |= !!(kind->places & COMPLETE) || (p->mark[0] && kind->marked & COMPLETE);
    e->forgets |= p->mark[0];
    unsigned places = p->mark[0] ? kind->marked : kind->places;
    if (!alone && !p->mark[0] && !strcmp(kind->args[0], "next"))
        places |= FAILED; /* it would wait for itself, or for what recurs */
    if (!p->mark[0] && !strcmp(kind->args[0], "retry") && !*kind->args[2])
        places |= place_of_retry(w, p);
    if (random_is_job(p))
        mean(e, p->task, places);
}

/* Does an end say that the job is done? */
static bool is_finish(const char *kind)
{
    return !strcmp(kind, "done") || !strcmp(kind, "result") || !strcmp(kind, "finish") || !strcmp(kind, "next");
}

static bool is_suspect(struct random_world *w, const struct random_process *p)
{
    return raw_int(w->s->server->redis, "HEXISTS %s:suspects:%s %s", w->s->prefix, p->queue, random_token(p));
}

/* Adds an end of it to the arguments from `end` on. Returns how many they are. `alone`: it is sent with no others, so a
 * plain "finish" will do for a job, and for a suspect. */
static int any_end(struct random_world *w, const struct random_process *p, const char **end, bool alone,
                   struct random_effect *e)
{
    const struct end_kind *kind;
    int n = 2;
    do
        kind = &end_kinds[random_draw(w, N_OF(end_kinds))];
    while ((kind->of_job_only && !random_is_job(p)) ||
           (!alone && !strcmp(kind->args[0], "finish") && (random_is_job(p) || is_suspect(w, p))));
    end[0] = kind->args[0];
    end[1] = p->queue;
    for (int i = 1; kind->args[i]; i++)
        end[n++] = !strcmp(kind->args[i], "T")   ? random_token(p)
                   : !strcmp(kind->args[i], "Q") ? random_queue(w)
                                                 : kind->args[i];
    mean_end(w, p, kind, alone, e);
    return n;
}

/* ---- operations ---- */

static bool enqueue(struct random_world *w, struct random_effect *e)
{
    char task[16];
    (void)e;
    snprintf(task, sizeof task, "t%07d", w->n_tasks++);
    freeReplyObject(
        script_call(w->s, SCRIPT_ENQUEUE, random_queue(w), random_draw(w, 4) ? "0" : "1", "", "0", "0", task));
    return true;
}

static bool turn(struct random_world *w, struct random_effect *e)
{
    struct acting_worker *worker = random_worker(w);
    struct random_process p[RANDOM_ENDS_MAX];
    const char *ends[RANDOM_ENDS_MAX * 10 + 1];
    bool refuses[RANDOM_ENDS_MAX];
    int at = 0;
    if (!worker)
        return false;
    int n = random_processes(w, worker->id, "", p, random_draw(w, RANDOM_ENDS_MAX + 1));
    for (int i = 0; i < n; i++) {
        int from = at;
        at += any_end(w, &p[i], ends + at, false, e);
        refuses[i] = random_is_cut(&p[i]) && is_finish(ends[from]);
    }
    ends[at] = NULL;
    e->moves_due = true;
    redisReply *reply = acting_turn_list(worker, random_draw(w, 8), ends);
    assert_int_equal(reply->element[0]->integer, 0);
    for (size_t i = 0; i < reply->element[1]->elements; i++) {
        long long status = reply->element[1]->element[i]->integer;
        assert_true(refuses[i] ? status == MUSTER_E_CANCELLED : status == 0 || status == MUSTER_E_INVALID);
    }
    for (int i = 0; i < n; i++)
        assert_true(!refuses[i] || reply->element[1]->elements == (size_t)n);
    freeReplyObject(reply);
    return true;
}

/* Something is due, and nobody has noticed yet. */
static bool pass_time(struct random_world *w, struct random_effect *e)
{
    static const char *const kinds[] = {"leases", "delayed", "scheduled", "recurring"};
    static const char lua[] =
        "local P, kind, q = KEYS[1] .. ':', ARGV[1], ARGV[2]\n"
        "local first = redis.call('ZRANGE', P .. kind .. ':' .. q, 0, 0)[1]\n"
        "if not first then return 0 end\n"
        "local at = kind == 'recurring' and redis.call('TIME')[1] * 1000 - 9000000 or 1000\n"
        "redis.call('ZADD', P .. kind .. ':' .. q, at, first)\n"
        "if kind == 'scheduled' or kind == 'recurring' then\n"
        "  local key = P .. 'job:' .. string.sub(first, 12)\n"
        "  redis.call('HSET', key, 'due', at)\n"
        "  if redis.call('HEXISTS', key, 'cron') == 1 then redis.call('HSET', key, 'ticks', at) end\n"
        "end\n"
        "redis.call('HSET', P .. 'queue:' .. q, 'due', 1000)\n"
        "redis.call('ZADD', P .. 'due', 1000, q)\n"
        "return 1";
    (void)e;
    return raw_int(w->s->server->redis, "EVAL %s 1 %s %s %s", lua, w->s->prefix, kinds[random_draw(w, 4)],
                   random_queue(w));
}

/* As the timer's keeper does: its next ticks have come already, or are far away, or there are none. */
static void refill(struct random_world *w, struct redisReply **cron)
{
    static const char *const ticks[] = {"4000 5000", "4000 4102444800000", "4102444800000", ""};
    int i = random_draw(w, N_OF(ticks));
    assert_ok(script_does(w->s, SCRIPT_REFILL, cron[0]->str, cron[1]->str, cron[2]->str, cron[3]->str, ticks[i],
                          i == 3 ? "1" : "", random_draw(w, 2) ? "1000" : "0", random_draw(w, 2) ? "0" : "3",
                          cron[3]->str));
    n_refilled++;
}

static bool promote(struct random_world *w, struct random_effect *e)
{
    e->moves_due = e->forgets = true;
    redisReply *reply = script_call_list(w->s, SCRIPT_PROMOTE, (const char *const[]){NULL});
    assert_int_equal(reply->elements, 5);
    for (size_t i = 0; i < reply->element[4]->elements; i++)
        refill(w, reply->element[4]->element[i]->element);
    freeReplyObject(reply);
    return true;
}

static bool end(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    const char *args[12] = {p.holder};
    if (!random_processes(w, random_draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    args[1 + any_end(w, &p, args + 1, true, e)] = NULL;
    int status = script_status(script_call_list(w->s, SCRIPT_END, args));
    e->moves_due = true;
    e->forgets |= !strcmp(p.holder, MUSTER_LEASE_ID);
    if (status == MUSTER_E_INVALID) { /* it would wait for itself, or for what recurs */
        assert_string_equal(args[1], "next");
        e->n_meant = 0;
    } else if (status == MUSTER_E_STATE) { /* a plain task cannot keep why it is retried */
        assert_string_equal(args[1], "retry");
        assert_false(random_is_job(&p));
        e->n_meant = 0;
    } else if (status == MUSTER_E_EXHAUSTED) { /* a job that has failed instead */
        assert_string_equal(args[1], "retry");
        assert_true(random_is_job(&p));
    } else if (status == MUSTER_E_CANCELLED) {
        assert_true(random_is_cut(&p) || (p.mark[0] && !is_finish(args[1])));
    } else if (status != MUSTER_OK) {
        assert_int_equal(status, MUSTER_E_LOST); /* its lease has lapsed */
        assert_string_equal(p.holder, MUSTER_LEASE_ID);
        e->n_meant = 0;
    } else {
        assert_false(random_is_cut(&p));
    }
    return true;
}

static bool cancel_process(struct random_world *w, struct random_effect *e)
{
    bool done = random_cancel_process(w, e);
    if (*e->cancelled) {
        mean(e, e->cancelled, NOWHERE);
        e->forgets = true;
    }
    return done;
}

static bool extend(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    if (!random_processes(w, random_draw(w, 2) ? MUSTER_LEASE_ID : "", "", &p, 1))
        return false;
    bool is_lease = !strcmp(p.holder, MUSTER_LEASE_ID), has_data = random_draw(w, 2);
    int status = script_does(w->s, SCRIPT_EXTEND, p.holder, random_token(&p), p.queue,
                             is_lease && random_draw(w, 2) ? "70000" : "", random_draw(w, 2) ? "1" : "0",
                             random_draw(w, 2) ? "half" : "", has_data ? "1" : "0", "new data");
    e->moves_due = e->forgets = is_lease;
    assert_true(status == MUSTER_OK || (status == MUSTER_E_STATE && (p.mark[0] || (has_data && !random_is_job(&p)))) ||
                (status == MUSTER_E_LOST && is_lease));
    return true;
}

static bool fetch(struct random_world *w, struct random_effect *e)
{
    struct random_process p;
    (void)e;
    if (!random_processes(w, "", "", &p, 1))
        return false;
    if (random_is_cut(&p) && !strcmp(p.holder, MUSTER_LEASE_ID)) /* no worker, so it asks for no job */
        return false;
    assert_int_equal(script_does(w->s, SCRIPT_FETCH, p.holder, random_token(&p), p.queue, "0"),
                     random_is_job(&p) && !random_is_cut(&p) ? MUSTER_OK : MUSTER_E_NOT_FOUND);
    return true;
}

#define KEY_LIMIT "max_running_per_key"
#define KEEP_FAILED "keep_failed"

static bool configure(struct random_world *w, struct random_effect *e)
{
    static const char *const settings[][2] = {
        {"max_running", "2"}, {"max_running", "1"}, {"max_running", ""}, {"keep_jobs", "2"}, {"keep_jobs", "0"},
        {"keep_jobs", ""},    {"max_crashes", "2"}, {"max_crashes", ""}, {KEY_LIMIT, "1"},   {KEY_LIMIT, "2"},
        {KEY_LIMIT, "1"},     {KEY_LIMIT, ""},      {"fair", "1"},       {"fair", "1"},      {"fair", ""},
        {"rate", "20"},       {"rate", ""},         {"rate", ""},        {KEEP_FAILED, "1"}, {KEEP_FAILED, ""},
        {KEEP_FAILED, ""}};
    const char *const *setting = settings[random_draw(w, N_OF(settings))], *queue = random_queue(w);
    e->is_tidied = !strcmp(setting[0], KEEP_FAILED);
    assert_ok(script_does(w->s, SCRIPT_CONFIG, queue, setting[0], setting[1]));
    for (int i = 0; e->is_tidied && i < RANDOM_QUEUES; i++)
        drops_failures[i] = random_queues[i] == queue ? *setting[1] != 0 : drops_failures[i];
    return true;
}

static bool tidy(struct random_world *w, struct random_effect *e)
{
    e->is_tidied = true;
    freeReplyObject(script_call(w->s, SCRIPT_TIDY, "0"));
    return true;
}

static bool listen_to(struct random_world *w, struct random_effect *e)
{
    (void)e;
    assert_ok(script_does(w->s, SCRIPT_LISTEN, random_draw(w, 2) ? "" : random_queue(w)));
    return true;
}

static const struct random_operation operations[] = {{"put", put, 15},
                                                     {"change", change, 5},
                                                     {"cancel jobs", cancel_jobs, 4},
                                                     {"enqueue", enqueue, 5},
                                                     {"start", random_start, 5},
                                                     {"turn", turn, 17},
                                                     {"heartbeat", random_heartbeat, 3},
                                                     {"readback", random_readback, 2},
                                                     {"stop", random_stop, 1},
                                                     {"sweep", random_sweep, 2},
                                                     {"leave", random_leave, 1},
                                                     {"take", random_take, 5},
                                                     {"fail holder", random_fail_holder, 1},
                                                     {"pass time", pass_time, 4},
                                                     {"batch", random_move_batch, 4},
                                                     {"forget batch", random_forget_batch, 1},
                                                     {"promote", promote, 3},
                                                     {"end", end, 5},
                                                     {"extend", extend, 2},
                                                     {"fetch", fetch, 1},
                                                     {"cancel", cancel_process, 2},
                                                     {"delete", random_delete_queue, 1},
                                                     {"pause", random_pause_or_resume, 2},
                                                     {"replay", random_replay_or_drop, 2},
                                                     {"config", configure, 5},
                                                     {"tidy", tidy, 1},
                                                     {"listen", listen_to, 1}};

/* ---- the run ---- */

/* Whatever ended them: finished, failed, cancelled, deleted, dropped, not kept. */
static void assert_ids_are_free(struct random_world *w)
{
    take_snapshot(w, &before);
    for (int i = 0; i < before.n; i++) {
        const struct job *job = &before.jobs[i];
        if (job->place & (FAILED | COMPLETE))
            assert_ok(script_does(w->s, SCRIPT_PUT, "red", "", job->id));
    }
    invariant_assert(w->s->server->redis, w->s->prefix);
}

/* A run that has not seen all of these proves too little. Few runs miss one. */
static bool has_seen_all(void)
{
    return n_held > 0 && n_in_rounds > 0 && n_refilled > 0 && n_batches_ended > 0;
}

static void run_once(struct scene *s)
{
    static struct random_world w;
    raw_do(s->server->redis, "FLUSHALL");
    assert_ok(script_does(s, SCRIPT_CONFIG, "red", KEY_LIMIT, "1"));
    random_run(&w, s, operations, N_OF(operations), OPS, look_before, assert_all_moved);
    n_batches_ended += random_batches_ended(&w);
    print_message("    %d held and %d in rounds by all snapshots, %d schedules refilled, %d batches ended\n", n_held,
                  n_in_rounds, n_refilled, n_batches_ended);
    checked_assert_clean(s);
    assert_ids_are_free(&w);
}

static void whatever_is_called_each_job_is_in_one_state_that_it_may_be_in(void **state)
{
    for (int runs = 0; runs == 0 || (!has_seen_all() && runs < RUNS_MAX); runs++)
        run_once(*state);
    assert_true(has_seen_all());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_is_called_each_job_is_in_one_state_that_it_may_be_in),
    };
    return scene_run(tests, argc, argv);
}
