/* SPDX-License-Identifier: MIT
 *
 * What a process hands on is there before its end counts, whatever happens between the two: a task that its handler
 * enqueues, a job that it puts, new data that its retry is to find. Over all ways in which a process ends, with Redis
 * refusing what is handed on, and with connections cut before and behind it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "taken.h"

/* Heartbeats try again soon what was refused. */
enum { TTL_MS = 1500 };

enum kind { A_TASK, A_JOB, DATA };

/* Who ends the process, and on which thread. `helped`: another one hands on for him, and he waits for its calls only. */
static const struct way {
    const char *name;
    int threads;
    bool by_next, is_later, helped;
} ways[] = {{"inline", .threads = 0},
            {"threads", .threads = 2},
            {"later", .is_later = true},
            {"later on a thread", .threads = 2, .is_later = true},
            {"next", .by_next = true},
            {"inline, helped", .helped = true},
            {"threads, helped", .threads = 2, .helped = true},
            {"later, helped", .is_later = true, .helped = true}};

/* What goes wrong when the process hands on. */
enum trouble { WRONG_TYPE, FULL, CUT_BEFORE, CUT_BEHIND, FORGOTTEN, ENDING, DROPPED };

static struct plot {
    struct scene *scene;
    char id[8]; /* of the worker */
    struct proxy proxy;
    const struct way *way;
    enum kind kind;
    enum trouble trouble;
    atomic_int n_begun, n_hit;
    int n_finished, n_refused, n_down;
    const char *dropped; /* the process of a job with the id of what is handed on */
    char broken[200];    /* an end that counted before what it follows was there */
} the;

/* ---- the trouble ---- */

static const char *damaged(void)
{
    static char notes[16];
    snprintf(notes, sizeof notes, "notes:%s", the.id);
    return the.kind == DATA ? notes : "queues:next";
}

static void begin_trouble(void)
{
    struct redisContext *redis = the.scene->server->redis;
    const char *prefix = the.scene->prefix;
    char *turn;
    switch (the.trouble) {
    case WRONG_TYPE:
        if (the.kind == A_TASK)
            raw_do(redis, "RENAME %s:queues:next %s-aside", prefix, prefix);
        raw_do(redis, "SET %s:%s x", prefix, damaged());
        break;
    case FULL:
        raw_do(redis, "CONFIG SET maxmemory 1");
        break;
    case CUT_BEFORE:
        proxy_trap(&the.proxy, "handed-on", PROXY_REQUESTS);
        break;
    case CUT_BEHIND:
        proxy_trap(&the.proxy, "handed-on", PROXY_REPLIES);
        break;
    case FORGOTTEN: /* another worker of the namespace has brought this one again */
        raw_do(redis, "SCRIPT FLUSH");
        turn = strndup((const char *)lua_scripts[SCRIPT_TURN].body, lua_scripts[SCRIPT_TURN].len);
        raw_do(redis, "SCRIPT LOAD %s", turn);
        free(turn);
        proxy_trap(&the.proxy, "handed-on", PROXY_REPLIES);
        break;
    case ENDING: /* one of its id has ended, and those that waited for it are still let go */
        raw_do(redis, "ZADD %s:freed:dhanded-on 0 x", prefix);
        break;
    case DROPPED: /* run_what_is_dropped() */
        break;
    }
}

static void end_trouble(void)
{
    struct redisContext *redis = the.scene->server->redis;
    const char *prefix = the.scene->prefix;
    if (the.trouble == WRONG_TYPE)
        raw_do(redis, "DEL %s:%s", prefix, damaged());
    if (the.trouble == WRONG_TYPE && the.kind == A_TASK)
        raw_do(redis, "RENAME %s-aside %s:queues:next", prefix, prefix);
    if (the.trouble == FULL)
        raw_do(redis, "CONFIG SET maxmemory 0");
    if (the.trouble == ENDING)
        raw_do(redis, "DEL %s:freed:dhanded-on", prefix);
    if (the.trouble == DROPPED)
        assert_err(muster_lease_give_back(the.scene->client, the.dropped), MUSTER_E_CANCELLED);
}

/* ---- the worker ---- */

/* What is handed on by the process "first", and by the one that meets the trouble. */
static const char *what_of(struct muster_process *p)
{
    const struct muster_job *job = muster_process_job(p);
    return strcmp(job ? job->id : muster_process_task(p, NULL), "first") == 0 ? "before" : "handed-on";
}

static bool has_its_data(struct muster_process *p)
{
    return strcmp(muster_process_task(p, NULL), what_of(p)) == 0;
}

static void *call(void *process)
{
    struct muster_process *p = process;
    const char *what = what_of(p);
    struct muster_worker *w = muster_process_worker(p);
    struct muster_job_spec spec = {.size = sizeof spec, .id = what};
    if (the.kind == A_TASK)
        assert_ok(muster_worker_enqueue(w, "next", what, strlen(what), NULL, NULL));
    else if (the.kind == A_JOB)
        assert_ok(muster_worker_put(w, "next", &spec, NULL, NULL));
    else if (!has_its_data(p))
        assert_ok(muster_process_set_data(p, what, strlen(what)));
    return NULL;
}

static void call_on_a_thread(struct muster_process *p)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call, p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static enum muster_outcome hand_on(struct muster_process *p)
{
    if (strcmp(what_of(p), "handed-on") == 0 && atomic_fetch_add(&the.n_hit, 1) == 0)
        begin_trouble();
    if (the.way->helped)
        call_on_a_thread(p);
    else
        call(p);
    if (the.kind != DATA || has_its_data(p))
        return MUSTER_FINISH;
    assert_ok(muster_process_set_retry(p, 0));
    return MUSTER_RETRY;
}

static void end_in_loop(evutil_socket_t fd, short what, void *process)
{
    (void)fd, (void)what;
    assert_ok(muster_process_end(process, hand_on(process)));
}

static void *end_on_thread(void *process)
{
    assert_ok(muster_process_end(process, hand_on(process)));
    return NULL;
}

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    pthread_t thread;
    (void)arg;
    atomic_fetch_add(&the.n_begun, 1);
    if (!the.way->is_later)
        return hand_on(p);
    if (the.way->threads == 0) {
        assert_int_equal(event_base_once(the.scene->base, -1, EV_TIMEOUT, end_in_loop, p, NULL), 0);
    } else {
        assert_int_equal(pthread_create(&thread, NULL, end_on_thread, p), 0);
        pthread_detach(thread);
    }
    return MUSTER_LATER;
}

static bool is_there(const char *what)
{
    struct redisContext *redis = the.scene->server->redis;
    const char *prefix = the.scene->prefix;
    if (the.kind == A_TASK)
        return raw_int(redis, "LLEN %s:queues:next", prefix) >= (strcmp(what, "before") == 0 ? 1 : 2);
    if (the.kind == A_JOB)
        return raw_int(redis, "EXISTS %s:job:%s", prefix, what) == 1;
    char *data = raw_string(redis, "HGET %s:job:%s data", prefix, strcmp(what, "before") == 0 ? "first" : "second");
    bool is_it = data && strcmp(data, what) == 0;
    free(data);
    return is_it;
}

static void note_event(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    bool is_finished = e->type == MUSTER_EVENT_ENDED && strcmp(e->text, "finished") == 0;
    bool follows =
        (is_finished && the.kind != DATA) || (e->type == MUSTER_EVENT_ENDED && strcmp(e->text, "retried") == 0);
    const char *what = the.n_finished == 0 ? "before" : "handed-on";
    if (follows && !the.broken[0] && !is_there(what))
        snprintf(the.broken, sizeof the.broken, "%s: %s, and '%s' is not there", the.way->name, e->text, what);
    the.n_finished += is_finished;
    the.n_refused += e->type == MUSTER_EVENT_REFUSED;
    the.n_down += e->type == MUSTER_EVENT_DOWN;
}

/* ---- the plot ---- */

static bool is_met(void *arg)
{
    (void)arg;
    const bool is_refused =
        the.trouble == WRONG_TYPE || the.trouble == FULL || the.trouble == ENDING || the.trouble == DROPPED;
    return the.broken[0] || (is_refused ? the.n_refused > 0 : the.n_down > 0);
}

static bool have_finished(void *n)
{
    return the.broken[0] || the.n_finished >= *(int *)n;
}

static void begin_one(struct scene *s, const char *name)
{
    struct muster_job_spec spec = {.size = sizeof spec, .id = name, .data = {"old", 3}};
    if (the.kind == DATA)
        assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    else
        scene_enqueue(s, "q", name);
}

/* A job of the id that is to be handed on runs, and its queue was deleted. */
static void run_what_is_dropped(struct scene *s)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "handed-on", .data = {"old", 3}};
    assert_ok(muster_job_put(s->client, "gone", &spec, NULL));
    the.dropped = take_one(s, "gone", "old");
    assert_ok(muster_queue_delete(s->client, "gone", NULL, NULL));
}

static void await_finished(struct scene *s, int n)
{
    if (!wait_for(s->base, have_finished, &n, SOON_MS))
        fail_msg("%s: %d of %d finished", the.way->name, the.n_finished, n);
    if (the.broken[0])
        fail_msg("%s", the.broken);
}

static void play(struct scene *s, const struct way *way, enum kind kind, enum trouble trouble)
{
    the = (struct plot){.scene = s, .way = way, .kind = kind, .trouble = trouble};
    snprintf(the.id, sizeof the.id, "w%d", (int)(way - ways));
    proxy_start(&the.proxy, s->server->dir, s->server->socket);
    const struct worker_spec spec = {.id = the.id,
                                     .url = the.proxy.url,
                                     .ttl_ms = TTL_MS,
                                     .hands = 2,
                                     .queues = {{"q", 0}},
                                     .more = {.threads = way->threads, .tell_ended = 1},
                                     .handler = handle,
                                     .by_next = way->by_next,
                                     .on_event = note_event};
    struct live_worker *w = live_worker_idle(s, &spec);
    begin_one(s, "first"); /* the connection has brought the scripts once */
    await_finished(s, 1);
    if (trouble == DROPPED)
        run_what_is_dropped(s);
    begin_one(s, "second");
    wait_on(s->base, is_met, NULL, SOON_MS);
    end_trouble();
    await_finished(s, 2);
    live_worker_stop(s, w, 0);
    live_worker_free(s, w);
    scene_await_waiting(s, "q", 0);
    invariant_assert(s->server->redis, s->prefix);
    proxy_stop(&the.proxy);
    assert_ok(muster_queue_delete(s->client, "next", NULL, NULL));
}

static void play_all(struct scene *s, enum kind kind, enum trouble trouble)
{
    for (size_t i = 0; i < N_OF(ways); i++)
        play(s, &ways[i], kind, trouble);
}

#define PLOT(name, kind, trouble)            \
    static void name(void **state)           \
    {                                        \
        play_all(*state, (kind), (trouble)); \
    }
PLOT(a_task_whose_queue_is_damaged, A_TASK, WRONG_TYPE)
PLOT(a_task_while_redis_is_full, A_TASK, FULL)
PLOT(a_task_that_the_cut_comes_before, A_TASK, CUT_BEFORE)
PLOT(a_task_whose_answer_is_lost, A_TASK, CUT_BEHIND)
PLOT(a_task_whose_script_is_forgotten, A_TASK, FORGOTTEN)
PLOT(a_job_whose_queue_is_damaged, A_JOB, WRONG_TYPE)
PLOT(a_job_while_redis_is_full, A_JOB, FULL)
PLOT(a_job_that_the_cut_comes_before, A_JOB, CUT_BEFORE)
PLOT(a_job_whose_answer_is_lost, A_JOB, CUT_BEHIND)
PLOT(a_job_whose_script_is_forgotten, A_JOB, FORGOTTEN)
PLOT(a_job_whose_id_is_not_free_yet, A_JOB, ENDING)
PLOT(a_job_of_whose_id_one_runs_that_is_dropped, A_JOB, DROPPED)
PLOT(data_that_are_refused, DATA, WRONG_TYPE)
PLOT(data_that_the_cut_comes_before, DATA, CUT_BEFORE)
PLOT(data_whose_answer_is_lost, DATA, CUT_BEHIND)
PLOT(data_whose_script_is_forgotten, DATA, FORGOTTEN)

/* ---- what is never accepted ---- */

/* Whom the job "late", or the one of this name, is to wait for. */
static const char *const nobody[] = {"nobody"}, *const itself[] = {"dropped"}, *const *never;

static int put_behind(struct muster_process *p, muster_put_done_fn *fn)
{
    const struct muster_job_spec spec = {
        .size = sizeof spec, .id = never == itself ? *itself : "late", .after = never, .n_after = 1};
    return muster_worker_put(muster_process_worker(p), "next", &spec, fn, p);
}

static enum muster_outcome hand_on_and_finish(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return put_behind(p, NULL) == MUSTER_OK ? MUSTER_FINISH : MUSTER_RETRY;
}

static void finish_all_the_same(struct muster_worker *w, int err, const char *id, void *process)
{
    (void)w, (void)id;
    assert_err(err, MUSTER_E_NOT_FOUND);
    assert_ok(muster_process_end(process, MUSTER_FINISH));
}

static enum muster_outcome hand_on_and_decide(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return put_behind(p, finish_all_the_same) == MUSTER_OK ? MUSTER_LATER : MUSTER_RETRY;
}

static void run_one(struct scene *s, muster_handler_fn *handler)
{
    live_worker_idle(
        s, &(struct worker_spec){.id = "w", .queues = {{"q", 0}}, .more = {.tell_ended = 1}, .handler = handler});
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_ENDED, "w", 1);
    assert_int_equal(scene_starts(s), 1);
}

static void assert_it_fails(struct scene *s)
{
    run_one(s, hand_on_and_finish);
    char *failed = raw_string(s->server->redis, "HGETALL %s:failures:q", s->prefix);
    assert_non_null(strstr(failed, "not-handed-on"));
    free(failed);
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 1);
}

static void a_process_fails_if_what_it_hands_on_is_never_accepted(void **state)
{
    never = nobody;
    assert_it_fails(*state);
}

/* An id may be the word for a reason that passes. */
static void so_does_one_whose_job_would_wait_for_itself(void **state)
{
    never = itself;
    assert_it_fails(*state);
}

static void who_was_told_decides(void **state)
{
    struct scene *s = *state;
    never = nobody;
    run_one(s, hand_on_and_decide);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
    scene_assert_quiet(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_task_whose_queue_is_damaged),
        live_test(a_task_while_redis_is_full),
        live_test(a_task_that_the_cut_comes_before),
        live_test(a_task_whose_answer_is_lost),
        live_test(a_task_whose_script_is_forgotten),
        live_test(a_job_whose_queue_is_damaged),
        live_test(a_job_while_redis_is_full),
        live_test(a_job_that_the_cut_comes_before),
        live_test(a_job_whose_answer_is_lost),
        live_test(a_job_whose_script_is_forgotten),
        live_test(a_job_whose_id_is_not_free_yet),
        live_test(a_job_of_whose_id_one_runs_that_is_dropped),
        live_test(data_that_are_refused),
        live_test(data_that_the_cut_comes_before),
        live_test(data_whose_answer_is_lost),
        live_test(data_whose_script_is_forgotten),
        live_test(a_process_fails_if_what_it_hands_on_is_never_accepted),
        live_test(so_does_one_whose_job_would_wait_for_itself),
        live_test(who_was_told_decides),
    };
    return scene_run(tests, argc, argv);
}
