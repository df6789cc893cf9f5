/* SPDX-License-Identifier: MIT
 *
 * Whose is it that something which was handed on was refused? Each process that may have handed it on hears of it,
 * whoever else has, and whatever else was refused; and who decides about its end has been told before, or has not.
 */
#include <hiredis/async.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"

static struct plot {
    atomic_bool may_go_on, has_refusal;
    atomic_int n_begun;
    struct muster_process *held;
} the;

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static bool have_begun(void *n)
{
    return atomic_load(&the.n_begun) >= *(int *)n;
}

static int put_behind_nobody(struct muster_worker *w, const char *id, muster_put_done_fn *fn, void *arg)
{
    static const char *const nobody[] = {"nobody"};
    const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .after = nobody, .n_after = 1};
    return muster_worker_put(w, "next", &spec, fn, arg);
}

static struct live_worker *begin(struct scene *s, struct worker_spec spec)
{
    the = (struct plot){.held = NULL};
    spec.id = "w";
    spec.ttl_ms = 1500;
    spec.queues[0].name = "q";
    spec.more.tell_ended = 1;
    return live_worker_idle(s, &spec);
}

/* As what the first of these processes has ended; NULL: of all. */
static const char *ended_as(struct scene *s, const char *task)
{
    const struct journal_entry *e;
    scene_await_events(s, MUSTER_EVENT_ENDED, "w", 1);
    while (!(e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ENDED, "w", task)))
        run_loop(s->base, 1);
    return e->text;
}

static enum muster_outcome hold_the_first(struct muster_process *p, void *arg)
{
    (void)arg;
    if (atomic_fetch_add(&the.n_begun, 1) > 0)
        return MUSTER_FINISH;
    the.held = p;
    return MUSTER_LATER;
}

static void await_begun(struct scene *s, int n)
{
    wait_on(s->base, have_begun, &n, SOON_MS);
}

/* ---- who was told ---- */

/* Its answer lies there to be fetched, or will. The program ends the process without having seen it. */
static void an_answer_that_was_not_fetched_is_not_told(void **state)
{
    struct scene *s = *state;
    int mark = 0;
    struct live_worker *w = begin(s, (struct worker_spec){.by_next = true, .handler = hold_the_first});
    scene_enqueue(s, "q", "t");
    await_begun(s, 1);
    struct pollfd answer = {.fd = muster_worker_fd(w->worker), .events = POLLIN};
    assert_ok(put_behind_nobody(w->worker, "late", NULL, &mark));
    assert_int_equal(poll(&answer, 1, SOON_MS), 1);
    assert_ok(muster_process_end(the.held, MUSTER_FINISH));
    assert_string_equal(ended_as(s, NULL), "given back");
}

static void an_answer_that_comes_with_the_end_is_not_told(void **state)
{
    struct scene *s = *state;
    int mark = 0;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w =
        begin(s, (struct worker_spec){.url = proxy.url, .by_next = true, .handler = hold_the_first});
    scene_enqueue(s, "q", "t");
    await_begun(s, 1);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w", 1);
    assert_ok(muster_worker_enqueue(w->worker, "next", "x", 1, NULL, &mark));
    assert_ok(muster_process_end(the.held, MUSTER_FINISH));
    proxy_accept(&proxy);
    assert_string_equal(ended_as(s, NULL), "given back");
    live_worker_stop(s, w, 0);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* ---- whose ---- */

static void note_refusal(struct muster_worker *w, int err, const char *id, void *arg)
{
    (void)w, (void)id, (void)arg;
    assert_err(err, MUSTER_E_NOT_FOUND);
    atomic_store(&the.has_refusal, true);
}

/* Outside of any handler. */
static void hand_on_more(struct muster_worker *w, int err, const char *id, void *arg)
{
    (void)id, (void)arg;
    assert_err(err, MUSTER_E_NOT_FOUND);
    assert_ok(put_behind_nobody(w, "elsewhere", note_refusal, NULL));
}

static void nap_until(atomic_bool *flag)
{
    wait_until(is_set, flag, SOON_MS);
}

static enum muster_outcome hand_on_and_return_late(struct muster_process *p, void *arg)
{
    (void)arg;
    assert_ok(put_behind_nobody(muster_process_worker(p), "own", hand_on_more, NULL));
    nap_until(&the.has_refusal);
    return MUSTER_FINISH;
}

static void what_is_refused_elsewhere_hides_nothing(void **state)
{
    struct scene *s = *state;
    begin(s, (struct worker_spec){.more = {.threads = 1}, .handler = hand_on_and_return_late});
    scene_enqueue(s, "q", "t");
    assert_string_equal(ended_as(s, "t"), "failed");
}

static enum muster_outcome hand_on_for_another(struct muster_process *p, void *arg)
{
    (void)arg;
    int n = atomic_fetch_add(&the.n_begun, 1);
    if (strcmp(muster_process_task(p, NULL), "b") == 0) {
        assert_ok(put_behind_nobody(muster_process_worker(p), "both", NULL, NULL));
        return MUSTER_FINISH;
    }
    if (n > 1)
        return MUSTER_FINISH;
    nap_until(&the.may_go_on);
    assert_ok(muster_process_end(p, MUSTER_FINISH));
    return MUSTER_LATER;
}

/* What b's handler hands on is a's, too: who ends a process himself may have handed its work on anywhere. */
static void what_another_handler_hands_on_before_this_one_has_returned(void **state)
{
    struct scene *s = *state;
    begin(s, (struct worker_spec){.hands = 2, .more = {.threads = 2}, .handler = hand_on_for_another});
    scene_enqueue(s, "q", "a");
    await_begun(s, 1);
    scene_enqueue(s, "q", "b");
    assert_string_equal(ended_as(s, "b"), "failed");
    atomic_store(&the.may_go_on, true);
    assert_string_equal(ended_as(s, "a"), "given back");
}

/* ---- nobody's ---- */

static void *enqueue_on_a_thread(void *worker)
{
    assert_ok(muster_worker_enqueue(worker, "next", "x", 1, NULL, NULL));
    return NULL;
}

/* No process runs, and nobody asked for the answer. */
static void what_is_nobodys_is_told_when_it_is_refused(void **state)
{
    struct scene *s = *state;
    pthread_t thread;
    struct live_worker *w = begin(s, (struct worker_spec){.handler = hold_the_first});
    assert_ok(put_behind_nobody(w->worker, "late", NULL, NULL));
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 1);
    assert_ok(muster_worker_enqueue(w->worker, "next", "x", 1, NULL, NULL));
    scene_await_waiting(s, "next", 1); /* from here on a refusal is told again */
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    assert_int_equal(pthread_create(&thread, NULL, enqueue_on_a_thread, w->worker), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 2);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w", NULL);
    assert_non_null(strstr(e->text, "what was handed on was refused"));
}

/* ---- the worker's end ---- */

static enum muster_outcome hand_on(struct muster_process *p, void *arg)
{
    (void)arg;
    assert_ok(muster_worker_enqueue(muster_process_worker(p), "next", "handed-on", 9, NULL, NULL));
    return MUSTER_FINISH;
}

/* Its connections cannot be made again, so it ends with them, and with the process whose end waits. */
static void nothing_is_told_after_the_worker_has_stopped(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct live_worker w = {.journal = s->journal};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    const struct muster_worker_options o = {.size = sizeof o,
                                            .prefix = s->prefix,
                                            .id = "w",
                                            .base = s->base,
                                            .data = redisAsyncConnectUnix(proxy.socket),
                                            .subscription = redisAsyncConnectUnix(proxy.socket),
                                            .on_event = live_worker_note,
                                            .arg = &w};
    assert_ok(muster_worker_new(&w.worker, &o));
    assert_ok(muster_worker_start(w.worker));
    assert_ok(muster_worker_serve(w.worker, "q", 0, hand_on, NULL));
    scene_await_idle(s, "q", "w");
    proxy_trap(&proxy, "handed-on", PROXY_REPLIES);
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    run_loop(s->base, 50);
    const struct journal_entry *last = journal_at(s->journal, journal_size(s->journal) - 1);
    assert_int_equal(last->kind, JOURNAL_EVENT);
    assert_int_equal(last->what, MUSTER_EVENT_STOPPED);
    muster_worker_free(w.worker);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_answer_that_was_not_fetched_is_not_told),
        live_test(an_answer_that_comes_with_the_end_is_not_told),
        live_test(what_is_refused_elsewhere_hides_nothing),
        live_test(what_another_handler_hands_on_before_this_one_has_returned),
        live_test(what_is_nobodys_is_told_when_it_is_refused),
        live_test(nothing_is_told_after_the_worker_has_stopped),
    };
    return scene_run(tests, argc, argv);
}
