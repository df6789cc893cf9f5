/* SPDX-License-Identifier: MIT
 *
 * Jobs whose worker dies, wherever it does: none is lost, no finished one runs again, and each goes on from its place
 * with one more crash. And jobs whose messages and answers get lost: they run once.
 *
 * A worker passes the point that MUSTER_FAILPOINT names; without failpoints in the build those cases are skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "worker_process.h"

enum { TTL_MS = 450, HOUR_MS = 3600 * 1000 };

static struct live_worker *holder(struct scene *s, const char *id, int hands, int prefetch)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id,
                                                     .ttl_ms = TTL_MS,
                                                     .hands = hands,
                                                     .prefetch = prefetch,
                                                     .answer = MUSTER_LATER,
                                                     .queues = {{"q", 0}}});
}

static void peer_comes(struct scene *s)
{
    live_worker_new(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
}

/* ---- where it dies ---- */

static struct worker_process *victim_with(struct scene *s, const char *point, enum muster_outcome answer)
{
    setenv("MUSTER_FAILPOINT", point, 1);
    struct worker_process *victim = worker_process_start(
        s, &(struct worker_spec){.id = "victim", .ttl_ms = TTL_MS, .answer = answer, .queues = {{"q", 0}}});
    unsetenv("MUSTER_FAILPOINT");
    return victim;
}

static void await_death(struct worker_process *victim, const char *point)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)victim->pid, &info, WEXITED | WNOWAIT) != 0 || info.si_code != CLD_KILLED)
        fail_msg("the victim did not die at %s", point);
    worker_process_kill(victim);
}

static size_t starts_of(struct scene *s, const char *worker)
{
    return journal_count(s->journal, JOURNAL_START, -1, worker, NULL);
}

/*
 *   waits    the job waits before the victim comes, which takes it; otherwise it is handed to the victim
 *   begins   the victim's handler has begun
 *   is_done  it was done: the peer does not get it
 */
struct death {
    const char *point;
    bool waits, begins, is_done;
};

static void die_at(struct scene *s, const struct death *d)
{
    if (d->waits)
        job_put(s, "q", "a", NULL);
    struct worker_process *victim = victim_with(s, d->point, MUSTER_FINISH);
    if (!d->waits) {
        scene_await_idle(s, "q", "victim");
        job_put(s, "q", "a", NULL);
    }
    await_death(victim, d->point);
    peer_comes(s);
    job_await(s, "a", "state", "complete");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
    assert_int_equal(starts_of(s, "victim"), d->begins);
    assert_int_equal(starts_of(s, "peer"), !d->is_done);
    job_assert(s, "a", "crashes", ""); /* the first death says nothing but that it is a suspect */
    job_assert(s, "a", "retried", "");
    scene_await_idle(s, "q", "peer");
    scene_assert_quiet(s);
}

static void a_death_anywhere_between_take_and_finish_loses_no_job(void **state)
{
    static const struct death deaths[] = {
        {"turn:before_reply:1:kill", .waits = true},
        {"fetch:before_send:1:kill", .waits = false},
        {"fetch:after_send:1:kill", .waits = false},
        {"fetch:before_reply:1:kill", .waits = false},
        {"turn:before_send:2:kill", .begins = true},
        {"turn:before_reply:2:kill", .begins = true, .is_done = true},
        {"turn:after_reply:2:kill", .begins = true, .is_done = true},
    };
#ifndef MUSTER_FAILPOINTS
    print_message("skipped: this build has no failpoints (configure with -DMUSTER_FAILPOINTS=ON)\n");
    skip();
#endif
    for (size_t i = 0; i < N_OF(deaths); i++) {
        if (i > 0) {
            scene_end(state);
            scene_begin(state);
        }
        print_message("%s\n", deaths[i].point);
        die_at(*state, &deaths[i]);
    }
}

static void a_death_in_the_handler_loses_no_job(void **state)
{
    struct scene *s = *state;
    struct worker_process *victim = worker_process_idle(
        s, &(struct worker_spec){.id = "victim", .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    job_put(s, "q", "a", NULL);
    scene_await_starts(s, 1);
    worker_process_kill(victim);
    peer_comes(s);
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "crashes", "");
    job_assert(s, "a", "suspect", "");
}

/* ---- crashes and retries ---- */

static enum muster_outcome retry_once(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct muster_job *job = muster_process_job(p);
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (job->retried == 0)
        return MUSTER_RETRY;
    return job->crashes < 2 ? MUSTER_LATER : MUSTER_FINISH;
}

/* Each is counted, against its own limit. */
static void deaths_and_retries_are_counted_apart(void **state)
{
    struct scene *s = *state;
    static const char *const lives[] = {"w1", "w2", "w3", "w4"};
    struct live_worker *before = NULL;
    job_put(s, "q", "a", "retries", "1");
    for (size_t i = 0; i < N_OF(lives); i++) {
        live_worker_new(
            s, &(struct worker_spec){.id = lives[i], .ttl_ms = TTL_MS, .queues = {{"q", 0}}, .handler = retry_once});
        if (before)
            live_worker_free(s, before);
        before = s->workers;
        scene_await_starts(s, i + 2);
    }
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "retried", "1");
    job_assert(s, "a", "crashes", "2");
}

static void a_job_that_kills_too_many_is_on_the_failed_list_whatever_its_retries(void **state)
{
    struct scene *s = *state;
    job_config(s, "q", "max_crashes", "2");
    job_put(s, "q", "a", NULL);
    static const char *const lives[] = {"w1", "w2", "w3"};
    for (size_t i = 1; i <= N_OF(lives); i++) { /* the first one makes a suspect of it */
        struct live_worker *w = live_worker_new(
            s,
            &(struct worker_spec){.id = lives[i - 1], .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
        scene_await_starts(s, i);
        live_worker_free(s, w);
    }
    peer_comes(s);
    job_await(s, "a", "state", "failed");
    job_assert(s, "a", "group", "crashed");
    job_assert(s, "a", "crashes", "2");
    assert_int_equal(starts_of(s, "peer"), 0);
}

/* ---- sweeping, resuming ---- */

/* The jobs that it held, started or not, come out before those that waited after them. */
static void swept_jobs_come_before_those_that_waited_after_them(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "w1", 2, 1);
    const char *const ids[] = {"a", "b", "c", "busy", "d"};
    struct live_worker *peer;
    for (int i = 0; i < 3; i++)
        job_put(s, "q", ids[i], NULL);
    raw_await(s->server->redis, s->base, 3, "HLEN %s:processing:w1:q", s->prefix);
    peer = holder(s, "peer", 1, 0);
    job_put(s, "q", "busy", NULL);
    job_put(s, "q", "d", NULL);
    scene_await_starts(s, 3);
    live_worker_free(s, w);
    size_t from = journal_size(s->journal);
    scene_await_events(s, MUSTER_EVENT_SWEPT, "peer", 1);
    live_worker_answer(peer, MUSTER_FINISH);
    job_await(s, "d", "state", "complete");
    scene_assert_started(s, from, (const char *[]){"a", "b", "c", "d", NULL});
}

static void await_end_of_life(struct scene *s, const char *id)
{
    raw_await(
        s->server->redis, s->base, 1, "EVAL %s 1 %s %s",
        "local t, P, w = redis.call('TIME'), KEYS[1], ARGV[1]\n"
        "local ends = tonumber(redis.call('ZSCORE', P .. ':registry', w))\n"
        "return redis.call('EXISTS', P .. ':alive:' .. w) == 0 and ends < t[1] * 1000 + t[2] / 1000 - 1 and 1 or 0",
        s->prefix, id);
}

static void jobs_are_resumed_in_order_under_new_tokens(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "w1", 3, 0);
    job_put(s, "q", "a", NULL);
    scene_enqueue(s, "q", "t");
    job_put(s, "q", "b", NULL);
    scene_await_starts(s, 3);
    live_worker_free(s, w);
    await_end_of_life(s, "w1");
    job_put(s, "q", "new", NULL);
    size_t from = journal_size(s->journal);
    live_worker_new(s,
                    &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .more = {.resume = 1}, .queues = {{"q", 0}}});
    job_await(s, "new", "state", "complete");
    scene_assert_started(s, from, (const char *[]){"a", "t", "b", "new", NULL});
    job_assert(s, "a", "state", "complete");
    job_assert(s, "a", "crashes", "");
    job_assert(s, "b", "state", "complete");
    scene_await_idle(s, "q", "w1");
    scene_assert_quiet(s);
}

/* ---- what gets lost on the way ---- */

struct behind {
    struct proxy proxy;
    struct live_worker *worker;
};

/* Its heartbeats are far away, so nothing is found by one. */
static struct behind behind_proxy(struct scene *s)
{
    struct behind b;
    proxy_start(&b.proxy, s->server->dir, s->server->socket);
    b.worker = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .url = b.proxy.url, .ttl_ms = HOUR_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    job_put(s, "q", "known", NULL); /* scripts that Redis does not know would be answered so */
    scene_await_starts(s, 1);
    live_worker_end(b.worker, MUSTER_FINISH);
    job_await(s, "known", "state", "complete");
    scene_await_idle(s, "q", "w1");
    return b;
}

static void behind_end(struct scene *s, struct behind *b)
{
    assert_int_equal(proxy_count(&b->proxy).trapped, 1);
    scene_await_idle(s, "q", "w1");
    scene_assert_quiet(s);
    live_worker_free(s, b->worker);
    proxy_stop(&b->proxy);
}

static void a_fetch_that_is_lost_is_made_again(void **state)
{
    const int ways[] = {PROXY_REQUESTS, PROXY_REPLIES};
    for (int i = 0; i < 2; i++) {
        if (i > 0) {
            scene_end(state);
            scene_begin(state);
        }
        struct scene *s = *state;
        struct behind b = behind_proxy(s);
        proxy_trap(&b.proxy, lua_scripts[SCRIPT_FETCH].sha1, ways[i]);
        job_put(s, "q", "a", NULL);
        scene_await_starts(s, 2);
        live_worker_end(b.worker, MUSTER_FINISH);
        job_await(s, "a", "state", "complete");
        job_assert(s, "a", "crashes", "");
        behind_end(s, &b);
        assert_int_equal(scene_starts(s), 2);
    }
}

/* The finish was said, or carried out: a job is done once either way. */
static void a_finish_that_is_lost_is_said_again(void **state)
{
    const int ways[] = {PROXY_REQUESTS, PROXY_REPLIES};
    for (int i = 0; i < 2; i++) {
        if (i > 0) {
            scene_end(state);
            scene_begin(state);
        }
        struct scene *s = *state;
        struct behind b = behind_proxy(s);
        job_put(s, "q", "a", NULL);
        scene_await_starts(s, 2);
        proxy_trap(&b.proxy, lua_scripts[SCRIPT_TURN].sha1, ways[i]);
        live_worker_end(b.worker, MUSTER_FINISH);
        job_await(s, "a", "state", "complete");
        scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", (size_t)i);
        behind_end(s, &b);
        assert_int_equal(scene_starts(s), 2);
        assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), i);
        if (i == 0)
            continue;
        /* It did count, but the worker cannot know. */
        const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
        assert_err(e->err, MUSTER_E_CONN);
        assert_non_null(strstr(e->text, "nobody knows"));
    }
}

/* The take's answer is lost: its job is in the set, and read back. */
static void a_take_whose_answer_is_lost_is_read_back(void **state)
{
    struct scene *s = *state;
    struct behind b = behind_proxy(s);
    job_put(s, "q", "a", NULL);
    job_put(s, "q", "b", NULL);
    scene_await_starts(s, 2);
    proxy_trap(&b.proxy, lua_scripts[SCRIPT_TURN].sha1, PROXY_REPLIES); /* ends a, takes b */
    live_worker_end(b.worker, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_end(b.worker, MUSTER_FINISH);
    job_await(s, "b", "state", "complete");
    job_assert(s, "a", "state", "complete");
    behind_end(s, &b);
    assert_int_equal(scene_starts(s), 3);
}

/* A hand-over whose message is lost is found by the heartbeat's count. */
static void a_hand_over_whose_message_is_lost_is_read_back(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .url = proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    proxy_lose(&proxy, 1);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    assert_int_equal(scene_starts(s), 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_death_anywhere_between_take_and_finish_loses_no_job),
        live_test(a_death_in_the_handler_loses_no_job),
        live_test(deaths_and_retries_are_counted_apart),
        live_test(a_job_that_kills_too_many_is_on_the_failed_list_whatever_its_retries),
        live_test(swept_jobs_come_before_those_that_waited_after_them),
        live_test(jobs_are_resumed_in_order_under_new_tokens),
        live_test(a_fetch_that_is_lost_is_made_again),
        live_test(a_finish_that_is_lost_is_said_again),
        live_test(a_take_whose_answer_is_lost_is_read_back),
        live_test(a_hand_over_whose_message_is_lost_is_read_back),
    };
    return scene_run(tests, argc, argv);
}
