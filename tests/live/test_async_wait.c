/* SPDX-License-Identifier: MIT
 *
 * Asynchronous takes that wait for work: they hear of it at once, take turns, ask in no tight loop, and go on over a
 * break of either connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "job_look.h"
#include "proxy.h"
#include "slow.h"
#include "taken.h"

#define LONG_MS 20000
#define AN_HOUR 3600000
#define AN_HOUR 3600000
/* Well below the time after which a waiting take looks by itself. */
#define AT_ONCE_MS slow_ms(2500)
#define TAKES 20
#define DRIP_MS 100

struct waiter {
    struct answers *as;
    int err;
    size_t n;
    char task[32], id[PROCESS_ID_MAX];
    int64_t at_ms;
};

static void note(const struct muster_answer *answer, void *arg)
{
    struct waiter *w = arg;
    w->err = answer->err;
    w->n = answer->n;
    w->at_ms = now_ms();
    if (answer->n > 0) {
        snprintf(w->task, sizeof w->task, "%.*s", (int)answer->processes[0].len,
                 (const char *)answer->processes[0].task);
        snprintf(w->id, sizeof w->id, "%s", answer->processes[0].id);
    }
    answers_fn(answer, NULL);
}

static void wait_for_work(struct answers *as, const char *queue, int64_t wait_ms, struct waiter *w)
{
    *w = (struct waiter){.as = as, .err = 1};
    assert_ok(muster_async_take(as->async, queue, 1, AN_HOUR, wait_ms, note, w));
}

/* So many callers wait there, as the scripts know. */
static void await_takers(struct scene *s, const char *queue, int n)
{
    raw_await(s->server->redis, NULL, n, "ZCARD %s:takers:%s", s->prefix, queue);
}

static bool is_unheard(void *arg)
{
    struct scene *s = arg;
    char *text = raw_string(s->server->redis, "PUBSUB CHANNELS %s_q_work", s->prefix);
    bool is_none = !text || !*text;
    free(text);
    return is_none;
}

static bool is_heard(void *arg)
{
    return !is_unheard(arg);
}

static void assert_got(struct answers *as, const struct waiter *w, size_t n_answers, const char *task)
{
    int64_t began_ms = now_ms();
    answers_await(as, n_answers);
    assert_err(w->err, MUSTER_OK);
    assert_string_equal(w->task, task);
    assert_in_range(now_ms() - began_ms, 0, AT_ONCE_MS);
}

static void one_that_waits_hears_of_work_at_once(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    answers_open(&as, s, NULL, 0, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    await_takers(s, "q", 1);
    assert_err(muster_async_wait(as.async, 50), MUSTER_E_TIMEOUT);
    answers_enqueue(&as, "q", "own", NULL); /* also from the same client */
    assert_got(&as, &w, 2, "own");
    wait_for_work(&as, "q", AN_HOUR, &w);
    await_takers(s, "q", 1);
    scene_enqueue(s, "q", "other");
    assert_got(&as, &w, 3, "other");
    answers_close(&as);
}

static void what_is_there_is_taken_without_waiting(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    scene_enqueue(s, "q", "t");
    answers_open(&as, s, NULL, 0, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    assert_got(&as, &w, 1, "t");
    assert_true(is_unheard(s));
    answers_close(&as);
}

static void takes_of_a_queue_take_turns(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct waiter w[TAKES];
    answers_open(&as, s, NULL, 0, NULL);
    for (int i = 0; i < TAKES; i++)
        wait_for_work(&as, "q", AN_HOUR, &w[i]);
    await_takers(s, "q", TAKES);
    for (size_t i = 0; i < TAKES / 2; i++) {
        scene_enqueue(s, "q", "t");
        answers_await(&as, i + 1);
    }
    scene_enqueue_n(s, "q", "t", TAKES / 2); /* one message for all of them */
    answers_await(&as, TAKES);
    assert_int_equal(as.counts[0], TAKES);
    for (int i = 1; i < TAKES; i++)
        assert_string_not_equal(w[i].id, w[i - 1].id);
    answers_close(&as);
}

static void many_queues_are_waited_for(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct waiter w[TAKES];
    char queue[16], task[16];
    answers_open(&as, s, NULL, 0, NULL);
    for (int i = 0; i < TAKES; i++) {
        snprintf(queue, sizeof queue, "q_%d", i);
        wait_for_work(&as, queue, AN_HOUR, &w[i]);
    }
    for (int i = TAKES - 1; i >= 0; i--) {
        snprintf(queue, sizeof queue, "q_%d", i);
        snprintf(task, sizeof task, "t%d", i);
        await_takers(s, queue, 1);
        scene_enqueue(s, queue, task);
        assert_got(&as, &w[i], (size_t)(TAKES - i), task);
    }
    answers_close(&as);
}

static void when_its_time_is_over_there_was_nothing(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    answers_open(&as, s, NULL, 0, NULL);
    int64_t began_ms = now_ms();
    wait_for_work(&as, "q", 300, &w);
    answers_await(&as, 1);
    assert_err(w.err, MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(as.last.text, "in time"));
    assert_in_range(w.at_ms - began_ms, 290, 300 + AT_ONCE_MS);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:takers:q", s->prefix), 0);
    answers_close(&as);
}

static void a_task_that_becomes_due_is_taken(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    scene_enqueue(s, "q", "late");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "late"), 700));
    answers_open(&as, s, NULL, 0, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    assert_got(&as, &w, 1, "late");
    answers_close(&as);
}

/* That something is due sooner is told to none of them by name: it does not go with the one who would have looked. The
 * third one tells how late it is. */
static void what_becomes_due_waits_for_none_that_has_left(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter first, second, third;
    answers_open(&as, s, NULL, 0, NULL);
    wait_for_work(&as, "q", 500, &first);
    await_takers(s, "q", 1);
    wait_for_work(&as, "q", AN_HOUR, &second);
    await_takers(s, "q", 2);
    job_put(s, "q", JOB_SPEC(.id = "late", .data = {"late", 4}, .delay_ms = 2500));
    wait_for_work(&as, "other", 4000, &third);
    answers_await(&as, 3);
    assert_err(as.rows[0].err, MUSTER_E_NOT_FOUND);
    assert_err(as.rows[1].err, MUSTER_OK);
    assert_err(as.rows[2].err, MUSTER_E_NOT_FOUND);
    assert_string_equal(second.task, "late");
    answers_close(&as);
}

/* A take that waits says so again. */
#define RENEW_MS 5000

/* Without names, and from anybody: a look follows, and a flood makes no tight loop. */
static void messages_of_others_are_heard_and_make_no_tight_loop(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    char key[64];
    answers_open(&as, s, NULL, 0, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    await_takers(s, "q", 1);
    int64_t scripts = redis_server_calls(s->server, "evalsha"), looks = redis_server_calls(s->server, "hget");
    const int64_t began_ms = now_ms();
    for (int i = 0; i < 3000; i++)
        raw_do(s->server->redis, "PUBLISH %s_q_work anything", s->prefix);
    int64_t span_ms = now_ms() - began_ms;
    assert_in_range(redis_server_calls(s->server, "hget") - looks, 0, span_ms / 10 + 10);
    assert_in_range(redis_server_calls(s->server, "evalsha") - scripts, 0, span_ms / RENEW_MS + 1);
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_push(s->server->redis, key, "bare", 4);
    raw_do(s->server->redis, "PUBLISH %s_q_work anything", s->prefix);
    assert_got(&as, &w, 1, "bare");
    answers_close(&as);
}

/* ---- messages that come before the answer ---- */

/* The answer says that nothing was there, and comes after the message that says that something is. */
static void a_message_that_overtakes_the_answer_is_heard(void **state)
{
    struct scene *s = *state;
    for (int is_bare = 0; is_bare < 2; is_bare++) {
        struct proxy proxy;
        struct answers as;
        struct waiter w, other;
        char key[64];
        proxy_start(&proxy, s->server->dir, s->server->socket);
        answers_open(&as, s, proxy.url, LONG_MS, NULL);
        wait_for_work(&as, "q", AN_HOUR, &w);
        wait_for_work(&as, "r", AN_HOUR, &other);
        await_takers(s, "q", 1);
        await_takers(s, "r", 1);
        scene_enqueue(s, "q", "first");
        assert_got(&as, &w, 1, "first");
        proxy_pace(&proxy, PROXY_DATA, 0, DRIP_MS);
        wait_for_work(&as, "q", AN_HOUR, &w);
        await_takers(s, "q", 1);
        if (is_bare) {
            snprintf(key, sizeof key, "%s:queues:q", s->prefix);
            raw_push(s->server->redis, key, "t", 1);
            raw_do(s->server->redis, "PUBLISH %s_q_work anything", s->prefix);
        } else {
            scene_enqueue(s, "q", "t");
        }
        scene_enqueue(s, "r", "t"); /* who hears of this has heard of that */
        raw_await(s->server->redis, NULL, 0, "LLEN %s:queues:r", s->prefix);
        proxy_pace(&proxy, 0, 0, 0);
        assert_got(&as, &w, 3, "t");
        answers_close(&as);
        proxy_stop(&proxy);
    }
}

/* ---- what breaks ---- */

/* A take that was under way just then is answered with E_CONN, and what it had taken is given back. */
static void await_work(struct answers *as, const char *queue, struct waiter *w)
{
    answers_await(as, as->n + 1);
    for (int again = 0; w->err == MUSTER_E_CONN; again++) {
        assert_true(again < 3);
        wait_for_work(as, queue, AN_HOUR, w);
        answers_await(as, as->n + 1);
    }
    assert_err(w->err, MUSTER_OK);
}

static void it_goes_on_when_connections_are_cut(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    struct waiter w;
    static const int kinds[] = {PROXY_SUBSCRIPTION, PROXY_DATA, PROXY_BOTH};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    for (size_t i = 0; i < 2 * N_OF(kinds); i++) {
        wait_for_work(&as, "q", AN_HOUR, &w);
        await_takers(s, "q", 1);
        proxy_cut(&proxy, kinds[i % N_OF(kinds)]);
        if (i >= N_OF(kinds)) /* or in the gap itself */
            wait_until(is_heard, s, SOON_MS);
        scene_enqueue(s, "q", "t");
        await_work(&as, "q", &w);
        assert_ok(muster_lease_finish(s->client, w.id, NULL));
        scene_assert_quiet(s);
    }
    answers_close(&as);
    proxy_stop(&proxy);
}

struct again {
    struct scene *scene;
    struct waiter *waiter;
};

/* Has it said again that it waits, by itself, or as it was asked to after its answer? */
static bool waits_again(void *arg)
{
    struct again *a = arg;
    while (muster_async_dispatch(a->waiter->as->async, 0) > 0)
        ;
    if (a->waiter->err == MUSTER_E_CONN)
        wait_for_work(a->waiter->as, "q", AN_HOUR, a->waiter);
    return raw_int(a->scene->server->redis, "ZCARD %s:takers:q", a->scene->prefix) == 1;
}

static void it_goes_on_when_redis_starts_again(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    answers_open(&as, s, NULL, LONG_MS, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    await_takers(s, "q", 1);
    redis_server_kill(s->server);
    redis_server_restart(s->server);
    struct again again = {s, &w};
    wait_until(waits_again, &again, SOON_MS);
    scene_enqueue(s, "q", "t");
    await_work(&as, "q", &w);
    assert_string_equal(w.task, "t");
    answers_close(&as);
}

static void one_who_may_not_listen_is_told(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct waiter w;
    char url[160];
    raw_do(s->server->redis, "ACL SETUSER deaf on >pw ~* &* +@all -subscribe");
    snprintf(url, sizeof url, "unix://deaf:pw@%s", s->server->socket);
    answers_open(&as, s, url, LONG_MS, NULL);
    wait_for_work(&as, "q", AN_HOUR, &w);
    answers_await(&as, 1);
    assert_err(w.err, MUSTER_E_DENIED);
    answers_close(&as);
    raw_do(s->server->redis, "ACL DELUSER deaf");
}

static void a_client_is_freed_while_takes_wait(void **state)
{
    struct scene *s = *state;
    static struct waiter w[TAKES];
    char queue[16];
    for (int round = 0; round < 6; round++) {
        struct answers as;
        snprintf(queue, sizeof queue, "q%d", round);
        answers_open(&as, s, NULL, LONG_MS, NULL);
        for (int i = 0; i < TAKES; i++)
            wait_for_work(&as, i % 2 ? queue : "r", AN_HOUR, &w[i]);
        if (round % 2)
            await_takers(s, queue, TAKES / 2);
        if (round % 3)
            scene_enqueue_n(s, queue, "t", 5);
        int64_t began_ms = now_ms();
        answers_close(&as);
        assert_in_range(now_ms() - began_ms, 0, LONG_MS / 2);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:.lease:%s", s->prefix, queue), 0);
        assert_int_equal(scene_waiting(s, queue), round % 3 ? 5 : 0);
    }
}

static void a_queue_for_which_nobody_waits_is_left(void **state)
{
    static const char *const others[] = {"a", "qq", "z"};
    struct scene *s = *state;
    struct answers as;
    struct waiter w, of_others[N_OF(others)];
    answers_open(&as, s, NULL, 0, NULL);
    for (size_t i = 0; i < N_OF(others); i++)
        wait_for_work(&as, others[i], AN_HOUR, &of_others[i]);
    wait_for_work(&as, "q", 100, &w);
    answers_await(&as, 1);
    wait_until(is_unheard, s, 30000);
    wait_for_work(&as, "q", AN_HOUR, &w);
    await_takers(s, "q", 1);
    scene_enqueue(s, "q", "t");
    assert_got(&as, &w, 2, "t");
    for (size_t i = 0; i < N_OF(others); i++) {
        scene_enqueue(s, others[i], others[i]);
        assert_got(&as, &of_others[i], 3 + i, others[i]);
    }
    answers_close(&as);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(one_that_waits_hears_of_work_at_once),
        live_test(what_is_there_is_taken_without_waiting),
        live_test(takes_of_a_queue_take_turns),
        live_test(many_queues_are_waited_for),
        live_test(when_its_time_is_over_there_was_nothing),
        live_test(a_task_that_becomes_due_is_taken),
        live_test(what_becomes_due_waits_for_none_that_has_left),
        live_test(messages_of_others_are_heard_and_make_no_tight_loop),
        live_test(a_message_that_overtakes_the_answer_is_heard),
        live_test(it_goes_on_when_connections_are_cut),
        live_test(it_goes_on_when_redis_starts_again),
        live_test(one_who_may_not_listen_is_told),
        live_test(a_client_is_freed_while_takes_wait),
        live_test(a_queue_for_which_nobody_waits_is_left),
    };
    return scene_run(tests, argc, argv);
}
