/* SPDX-License-Identifier: MIT
 *
 * A running job that is cancelled is gone at once, and its id is free; its process stays in its holder's hands. Whatever
 * becomes of that process, a new job of the id stays as it is, nothing has failed, and the counters are right. The ends
 * that a holder says are in test_jobs_scripts.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_scripts.h"

/* What becomes of the process of the job "a", which was cancelled. */
struct process {
    struct scene *s;
    struct acting_worker *w; /* its holder, or NULL: a lease */
    char token[12];
};

static const char *holder_of(const struct process *p)
{
    return p->w ? "w" : ".lease";
}

static void holder_dies_and_is_swept(const struct process *p)
{
    acting_die(p->w);
    assert_ok(script_does(p->s, SCRIPT_SWEEP, "w", "1"));
}

static void holder_stops(const struct process *p)
{
    assert_ok(acting_stop(p->w));
}

static void holder_leaves_the_queue(const struct process *p)
{
    assert_ok(acting_leave(p->w, "q"));
}

static void start_again(const struct process *p, bool resumes)
{
    acting_die(p->w);
    p->w->resumes = resumes;
    acting_start(p->w, p->s);
}

static void holder_starts_again(const struct process *p)
{
    start_again(p, false);
}

static void holder_starts_again_and_resumes(const struct process *p)
{
    start_again(p, true);
}

/* Whoever resumes it has it under another token, and the mark is lost if that is not moved along. */
static void holder_resumes_twice_and_stops(const struct process *p)
{
    start_again(p, true);
    start_again(p, true);
    assert_ok(acting_stop(p->w));
}

/* It was alone when its worker died. */
static void holder_dies_while_it_runs_alone(const struct process *p)
{
    assert_ok(script_does(p->s, SCRIPT_BEGIN_ALONE, "w", p->w->epoch, "0", "q", p->token, "0"));
    holder_dies_and_is_swept(p);
}

static void holder_is_found_innocent_and_stops(const struct process *p)
{
    assert_ok(script_does(p->s, SCRIPT_BEGIN_ALONE, "w", p->w->epoch, "0", "q", p->token, "0"));
    assert_ok(script_does(p->s, SCRIPT_BEGIN_ALONE, "w", p->w->epoch, "0", "q", p->token, "1"));
    assert_ok(acting_stop(p->w));
}

static void its_job_is_fetched(const struct process *p)
{
    assert_err(script_does(p->s, SCRIPT_FETCH, "w", p->token, "q", "0"), MUSTER_E_NOT_FOUND);
}

static void it_moves_to_another(const struct process *p)
{
    char reservation[80];
    snprintf(reservation, sizeof reservation, "%s:%s:w:%s:other", p->token, p->w->epoch, p->w->epoch);
    redisReply *reply = acting_turn_list(p->w, false, (const char *const[]){"move", "q", p->token, reservation, NULL});
    assert_int_equal(reply->element[0]->integer, MUSTER_OK);
    freeReplyObject(reply);
}

static void give_back(const struct process *p)
{
    assert_err(script_does(p->s, SCRIPT_END, holder_of(p), "back", "q", "1", p->token), MUSTER_E_CANCELLED);
}

static void it_is_extended_and_given_back(const struct process *p)
{
    assert_err(script_does(p->s, SCRIPT_EXTEND, holder_of(p), p->token, "q", "", "1", "note", "1", "more"),
               MUSTER_E_STATE);
    give_back(p);
}

static void it_is_cancelled_again_and_given_back(const struct process *p)
{
    assert_answer(script_call(p->s, SCRIPT_CANCEL, "q", holder_of(p), p->token), 0, 0, 1);
    jobs_sound(p->s);
    give_back(p);
}

static void its_queue_is_deleted_and_it_is_given_back(const struct process *p)
{
    assert_answer(script_call(p->s, SCRIPT_DELETE, "q"), 0, 0, 1, 0);
    jobs_sound(p->s);
    give_back(p);
}

static void its_command_ends_it(const struct process *p)
{
    assert_err(script_does(p->s, SCRIPT_END, "+w", "done", "q", p->token), MUSTER_E_CANCELLED);
    char *said = raw_string(p->s->server->redis, "HGET %s:worker:w e:%s", p->s->prefix, p->token);
    assert_string_equal(said, "b"); /* its worker does not count it as finished */
    free(said);
    assert_ok(acting_readback(p->w));
}

static void its_holder_reads_back_and_gives_it_back(const struct process *p)
{
    p->w->conn++;
    assert_ok(acting_readback(p->w));
    assert_int_equal(acting_heartbeat(p->w), 0);
    acting_say(p->w, "back", "q", "1", p->token);
}

static void its_lease_lapses(const struct process *p)
{
    leases_lapse(p->s);
}

static const struct way {
    const char *name;
    void (*go)(const struct process *p);
    bool is_lease;
} ways[] = {
    {"swept", holder_dies_and_is_swept, false},
    {"stopped", holder_stops, false},
    {"left", holder_leaves_the_queue, false},
    {"started again", holder_starts_again, false},
    {"resumed", holder_starts_again_and_resumes, false},
    {"resumed twice", holder_resumes_twice_and_stops, false},
    {"died alone", holder_dies_while_it_runs_alone, false},
    {"innocent", holder_is_found_innocent_and_stops, false},
    {"fetched", its_job_is_fetched, false},
    {"moved", it_moves_to_another, false},
    {"extended", it_is_extended_and_given_back, false},
    {"extended under a lease", it_is_extended_and_given_back, true},
    {"cancelled again", it_is_cancelled_again_and_given_back, false},
    {"cancelled again under a lease", it_is_cancelled_again_and_given_back, true},
    {"deleted", its_queue_is_deleted_and_it_is_given_back, false},
    {"deleted under a lease", its_queue_is_deleted_and_it_is_given_back, true},
    {"ended by its command", its_command_ends_it, false},
    {"read back", its_holder_reads_back_and_gives_it_back, false},
    {"lapsed", its_lease_lapses, true},
};

enum by { BY_ID, BY_PROCESS, BY_BATCH, N_BY };

static void cancel(const struct process *p, enum by by)
{
    if (by == BY_ID)
        assert_answer(script_call(p->s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 0, 1);
    else if (by == BY_PROCESS)
        assert_answer(script_call(p->s, SCRIPT_CANCEL, "q", holder_of(p), p->token), 0, 0, 1);
    else
        assert_answer(script_call(p->s, SCRIPT_CANCEL_BATCH, "batch", "0"), 0);
    assert_state(p->s, "a", "");
    jobs_sound(p->s);
    checked_assert_clean(p->s);
}

/* All that the namespace says of the new job. */
static char *all_of_a(struct scene *s)
{
    static const char lua[] =
        "local P, job = KEYS[1] .. ':', redis.call('HGETALL', KEYS[1] .. ':job:a')\n"
        "table.sort(job)\n"
        "return table.concat(job, ' ') .. table.concat(redis.call('LRANGE', P .. 'history:a', 0, -1), ' ')\n"
        "  .. table.concat(redis.call('ZRANGE', P .. 'depends:elsewhere', 0, -1), ' ')\n"
        "  .. table.concat(redis.call('SMEMBERS', P .. 'dependencies:a'), ' ')\n"
        "  .. table.concat(redis.call('ZRANGE', P .. 'dependents:a', 0, -1), ' ')\n"
        "  .. table.concat(redis.call('ZRANGE', P .. 'tag:t', 0, -1), ' ')\n";
    return raw_string(s->server->redis, "EVAL %s 1 %s", lua, s->prefix);
}

static void go(struct scene *s, const struct way *way, enum by by)
{
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    struct process p = {.s = s, .w = way->is_lease ? NULL : &w};
    print_message("  %s, cancelled %d\n", way->name, by);
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "batch", "", "86400000"));
    put_with(s, "a", "batch", "batch", "data", "old");
    if (p.w)
        acting_start(&w, s), acting_take(&w);
    else
        take_job(s, "q", "a", p.token);
    snprintf(p.token, sizeof p.token, "%s", job_field(s, "a", "token"));
    cancel(&p, by);
    assert_ok(put_in(s, "elsewhere", "on", "data", "d"));
    assert_ok(put_in(s, "elsewhere", "a", "data", "new", "tag", "t", "after", "on"));
    assert_ok(put_in(s, "elsewhere", "last", "data", "d", "after", "a"));
    checked_assert_clean(s);
    char *before = all_of_a(s);
    way->go(&p);
    char *after = all_of_a(s);
    assert_string_equal(before, after);
    free(before);
    free(after);
    jobs_sound(s);
    checked_assert_clean(s);
    assert_int_equal(queue_field(s, "q", "running"), 0);
    assert_int_equal(key_size(s, "EXISTS", "failed:q"), 0);
    assert_int_equal(key_size(s, "EXISTS", "marks:w"), 0);
    assert_int_equal(key_size(s, "EXISTS", "marks:.lease"), 0);
    acting_forget(&w);
    raw_do(s->server->redis, "FLUSHALL");
}

static void whatever_becomes_of_its_process_a_new_job_stays_as_it_is(void **state)
{
    for (size_t i = 0; i < N_OF(ways); i++)
        for (int by = 0; by < N_BY; by++)
            go(*state, &ways[i], (enum by)by);
}

/* It counts once, and at the moment at which it is cancelled: as an event, in the statistics, in its batch. */
static void it_is_told_and_counted_once(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "batch", "", "86400000"));
    put_with(s, "a", "batch", "batch");
    acting_start(&w, s);
    acting_take(&w);
    snprintf(token, sizeof token, "%s", job_field(s, "a", "token"));
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 0, 1);
        else
            acting_say(&w, "retry", "q", token, "", "g", "m");
        char *n = raw_string(s->server->redis, "HGET %s:batch:batch cancelled", s->prefix);
        assert_string_equal(n, "1");
        free(n);
        struct muster_stats stats = {.size = sizeof stats};
        assert_ok(muster_stats_get(s->client, "q", -1, &stats));
        assert_int_equal(stats.cancelled, 1);
        assert_int_equal(stats.retried, 0);
        assert_int_equal(key_size(s, "EXISTS", "members:batch"), 0);
    }
}

/* A limit counts processes, also those of jobs that are gone: the worker is busy with it until its process ends. */
static void its_place_under_a_limit_is_free_when_its_process_ends(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2};
    char token[12];
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", "1"));
    put(s, "a");
    acting_start(&w, s);
    acting_take(&w);
    snprintf(token, sizeof token, "%s", job_field(s, "a", "token"));
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 0, 1);
    put(s, "a");
    acting_take(&w);
    assert_state(s, "a", "waiting");
    acting_say(&w, "back", "q", "1", token);
    acting_take(&w);
    assert_state(s, "a", "running");
    jobs_sound(s);
}

/* It is a task, and equal ones must not run side by side. Whoever enqueues one hears that this one will be dropped. */
static void a_unique_task_keeps_its_id_until_its_process_ends(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1], token[12];
    assert_ok(muster_task_enqueue_unique(s->client, "q", "t", 1, id));
    take_job(s, "q", id, token);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", id), 0, 0, 1);
    assert_state(s, id, "running");
    assert_err(muster_task_enqueue_unique(s->client, "q", "t", 1, NULL), MUSTER_E_STATE);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "finish", "q", "1", token));
    assert_state(s, id, "");
    jobs_sound(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_becomes_of_its_process_a_new_job_stays_as_it_is),
        live_test(it_is_told_and_counted_once),
        live_test(its_place_under_a_limit_is_free_when_its_process_ends),
        live_test(a_unique_task_keeps_its_id_until_its_process_ends),
    };
    return scene_run(tests, argc, argv);
}
