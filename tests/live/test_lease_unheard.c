/* SPDX-License-Identifier: MIT
 *
 * A take whose answer does not come: what it took is given back before its client takes again or is freed, and nothing
 * of that counts. If its request comes late, it takes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "job_look.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "script_call.h"
#include "taken.h"

#define AN_HOUR 3600000
#define CALL "0123456789abcdef:1"
#define NEXT_CALL "0123456789abcdef:2"

/* Otherwise the lost answer would be the one that it is not there. */
static void make_known(struct scene *s, enum script_id id)
{
    char *text = strndup((const char *)lua_scripts[id].body, lua_scripts[id].len);
    free(raw_string(s->server->redis, "SCRIPT LOAD %s", text));
    free(text);
}

static struct muster_client *client_at(struct scene *s, const char *url, int timeout_ms)
{
    struct muster_client *c;
    uint64_t waiting;
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_queue_length(c, "q", &waiting)); /* it is connected */
    return c;
}

static int take_by(struct muster_client *c, size_t n, struct taken *taken)
{
    *taken = (struct taken){0};
    return muster_lease_take(c, "q", n, AN_HOUR, 0, taken_add, taken);
}

/* ---- by a client ---- */

struct play {
    struct scene *s;
    struct proxy proxy;
    struct muster_client *c;
};

static void play_begin(struct play *p, struct scene *s)
{
    p->s = s;
    make_known(s, SCRIPT_TAKE);
    proxy_start(&p->proxy, s->server->dir, s->server->socket);
    p->c = client_at(s, p->proxy.url, 0);
}

static void play_end(struct play *p)
{
    muster_client_free(p->c);
    proxy_stop(&p->proxy);
}

/* It takes up to n, and does not hear what. */
static void take_unheard(struct play *p, size_t n, int way)
{
    struct taken taken;
    int before = proxy_count(&p->proxy).trapped;
    proxy_trap(&p->proxy, lua_scripts[SCRIPT_TAKE].sha1, way);
    assert_err(take_by(p->c, n, &taken), MUSTER_E_CONN);
    assert_int_equal(proxy_count(&p->proxy).trapped, before + 1);
    assert_int_equal(taken.n, 0);
}

static int64_t suspects(struct scene *s)
{
    return raw_int(s->server->redis, "HLEN %s:suspects:q", s->prefix);
}

static void the_next_take_gets_the_same_tasks_at_once(void **state)
{
    static const int ways[] = {PROXY_REPLIES, PROXY_REQUESTS};
    struct scene *s = *state;
    struct play p;
    struct taken taken;
    play_begin(&p, s);
    scene_enqueue_n(s, "q", "t", 5);
    for (size_t i = 0; i < N_OF(ways); i++) {
        take_unheard(&p, 3, ways[i]);
        assert_int_equal(queue_row_of(s, "q").running, ways[i] == PROXY_REPLIES ? 3 : 0);
        assert_ok(take_by(p.c, 2, &taken));
        assert_int_equal(taken.n, 2);
        assert_string_equal(taken.rows[0].task, "t0");
        assert_string_equal(taken.rows[1].task, "t1");
        assert_int_equal(queue_row_of(s, "q").running, 2);
        assert_int_equal(suspects(s), 0);
        invariant_assert(s->server->redis, s->prefix);
        for (size_t k = taken.n; k-- > 0;)
            assert_ok(muster_lease_give_back(p.c, taken.rows[k].id));
        assert_queue_holds(s, "q", "t0 t1 t2 t3 t4 ");
    }
    play_end(&p);
    checked_assert_clean(s);
}

static void a_client_that_is_freed_gives_back(void **state)
{
    struct scene *s = *state;
    struct play p;
    play_begin(&p, s);
    scene_enqueue_n(s, "q", "t", 3);
    take_unheard(&p, 2, PROXY_REPLIES);
    play_end(&p);
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    assert_int_equal(queue_row_of(s, "q").running, 0);
}

/* It asks in vain, is told so, and asks again. */
static void it_is_given_back_as_soon_as_redis_can_be_reached_again(void **state)
{
    struct scene *s = *state;
    struct play p;
    struct taken taken;
    play_begin(&p, s);
    scene_enqueue_n(s, "q", "t", 3);
    proxy_refuse(&p.proxy);
    take_unheard(&p, 2, PROXY_REPLIES);
    for (int i = 0; i < 2; i++)
        assert_err(take_by(p.c, 1, &taken), MUSTER_E_CONN);
    redis_server_kill(s->server);
    redis_server_restart(s->server);
    proxy_accept(&p.proxy);
    assert_int_equal(queue_row_of(s, "q").running, 2);
    assert_ok(take_by(p.c, 3, &taken));
    assert_int_equal(taken.n, 3);
    assert_string_equal(taken.rows[0].task, "t0");
    assert_int_equal(queue_row_of(s, "q").running, 3);
    play_end(&p);
}

/* Often enough to be poison three times, if it counted. */
static void a_suspect_that_was_not_heard_of_has_not_begun(void **state)
{
    struct scene *s = *state;
    struct play p;
    struct taken taken;
    play_begin(&p, s);
    scene_enqueue(s, "q", "t");
    assert_ok(take_n(s, "q", 1, 30, &taken));
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_ok(muster_client_sweep(s->client, NULL));
    assert_int_equal(suspects(s), 1);
    for (int i = 0; i < 10; i++) {
        take_unheard(&p, 5, PROXY_REPLIES);
        char *began = raw_string(s->server->redis, "EVAL %s 1 %s",
                                 "return redis.call('HVALS', KEYS[1] .. ':suspects:q')[1]", s->prefix);
        assert_string_equal(began, "0b");
        free(began);
        assert_err(muster_lease_take(p.c, "other", 1, AN_HOUR, 0, taken_add, &taken), MUSTER_E_NOT_FOUND);
        char *entry = raw_string(s->server->redis, "EVAL %s 1 %s",
                                 "return redis.call('HVALS', KEYS[1] .. ':suspects:q')[1]", s->prefix);
        assert_string_equal(entry, "0");
        free(entry);
        assert_queue_holds(s, "q", "t ");
    }
    assert_int_equal(queue_row_of(s, "q").failed, 0);
    play_end(&p);
    checked_assert_clean(s);
}

static void jobs_go_back_to_their_places_and_nothing_counts(void **state)
{
    struct scene *s = *state;
    struct play p;
    struct taken taken;
    play_begin(&p, s);
    job_put(s, "q", JOB_SPEC(.id = "a", .priority = -1));
    job_put(s, "q", JOB_SPEC(.id = "b", .priority = -1));
    scene_enqueue(s, "q", "t");
    for (int i = 0; i < 5; i++) {
        take_unheard(&p, 3, PROXY_REPLIES);
        assert_job_state(s, "a", MUSTER_JOB_RUNNING);
        assert_err(muster_lease_take(p.c, "other", 1, AN_HOUR, 0, taken_add, &taken), MUSTER_E_NOT_FOUND);
        assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a b ");
        assert_int_equal(job_look(s, "a").crashes, 0);
        assert_int_equal(job_look(s, "a").retried, 0);
        assert_int_equal(suspects(s), 0);
    }
    job_take(s, "q", "a");
    job_take(s, "q", "b");
    take_one(s, "q", "t");
    play_end(&p);
    checked_assert_clean(s);
}

/* More than one script gives back. */
static void a_thousand_come_back_in_their_order(void **state)
{
    struct scene *s = *state;
    struct play p;
    struct taken taken;
    play_begin(&p, s);
    for (int i = 0; i < 400; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%03d", i);
        job_put(s, "q", JOB_SPEC(.id = id));
    }
    scene_enqueue_n(s, "q", "t", 600);
    take_unheard(&p, 1000, PROXY_REPLIES);
    assert_int_equal(queue_row_of(s, "q").running, 1000);
    assert_err(muster_lease_take(p.c, "other", 1, AN_HOUR, 0, taken_add, &taken), MUSTER_E_NOT_FOUND);
    assert_int_equal(queue_row_of(s, "q").running, 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:leases:q", s->prefix), 0);
    for (int tasks = 0, jobs = 0; tasks + jobs < 1000;) {
        char task[16], id[16];
        assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
        snprintf(task, sizeof task, "t%d", tasks);
        snprintf(id, sizeof id, "j%03d", jobs);
        if (!strcmp(taken.rows[0].task, task))
            tasks++;
        else if (job_is_there(s, id) && job_look(s, id).state == MUSTER_JOB_RUNNING)
            jobs++;
        else
            fail_msg("'%s' is neither %s nor of %s", taken.rows[0].task, task, id);
    }
    play_end(&p);
    invariant_assert(s->server->redis, s->prefix);
}

/* Redis stands still for longer than the client waits. Then it reads the old request and the new one, in some order. */
static void a_request_that_redis_reads_late_takes_nothing(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    struct muster_client *c = client_at(s, s->server->url, 300);
    make_known(s, SCRIPT_TAKE);
    scene_enqueue_n(s, "q", "t", 9);
    for (int i = 0; i < 3; i++) {
        redis_server_freeze(s->server);
        assert_err(take_by(c, 2, &taken), MUSTER_E_TIMEOUT);
        redis_server_thaw(s->server);
        int err = MUSTER_E_TIMEOUT;
        for (int tries = 0; tries < 20 && err == MUSTER_E_TIMEOUT; tries++) /* the machine may be busy */
            err = take_by(c, 1, &taken);
        assert_ok(err);
        assert_int_equal(taken.n, 1);
        assert_int_equal(taken.rows[0].task[1] - '0', i);
        assert_int_equal(queue_row_of(s, "q").running, i + 1);
    }
    muster_client_free(c);
    assert_queue_holds(s, "q", "t3 t4 t5 t6 t7 t8 ");
}

/* ---- by the scripts ---- */

static void what_comes_after_it_was_given_back_changes_nothing(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 3);
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL), 0, 0, 0);
    char *before = dump_of_all(s);
    assert_err(script_does(s, SCRIPT_TAKE, "q", "2", "3600000", "0", CALL), MUSTER_E_LOST);
    char *after = dump_of_all(s);
    assert_string_equal(before, after);
    free(before), free(after);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "3600000", "0", NEXT_CALL));
    assert_int_equal(queue_field(s, "q", "running"), 2);
}

/* The name of an earlier call gives back nothing of a later one. */
static void only_what_the_call_took_goes_back_once(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 6);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "3600000", "0", CALL));
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "2", "3600000", "0", NEXT_CALL));
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL), 0, 0, 0);
    assert_answer(script_call(s, SCRIPT_UNTAKE, "o", NEXT_CALL), 0, 0, 0);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", "another caller..:1"));
    assert_waiting(s, "q", "t5 ");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", "0123456789abcdef:3"));
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", "0123456789abcdef:3"), 0, 1, 0);
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", "0123456789abcdef:3"), 0, 0, 0);
    assert_waiting(s, "q", "t5 ");
    assert_int_equal(queue_field(s, "q", "running"), 5);
    invariant_assert(s->server->redis, s->prefix);
}

/* One was finished by somebody who saw its id, one was cancelled, one lapsed and was taken again. */
static void what_happened_meanwhile_stays_so(void **state)
{
    struct scene *s = *state;
    char token[12];
    raw_do(s->server->redis, "HSET %s:config max_crashes 0", s->prefix);
    scene_enqueue_n(s, "q", "t", 4);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "4", "3600000", "0", CALL));
    token_of_task(s, ".lease", "q", "t0", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "finish", "q", "1", token));
    token_of_task(s, ".lease", "q", "t1", token);
    assert_ok(script_does(s, SCRIPT_CANCEL, "q", ".lease", token));
    token_of_task(s, ".lease", "q", "t2", token);
    raw_do(s->server->redis, "ZADD %s:leases:q 1000 %s", s->prefix, token);
    raw_do(s->server->redis, "HSET %s:queue:q due 1000", s->prefix);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", "another caller..:1"));
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL), 0, 2, 0);
    assert_waiting(s, "q", "t3 ");
    assert_int_equal(queue_field(s, "q", "running"), 1);
    token_of_task(s, ".lease", "q", "t2", token);
    assert_int_equal(queue_field(s, "q", "cancelled"), 1);
    invariant_assert(s->server->redis, s->prefix);
}

static void an_idle_worker_gets_what_goes_back(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    scene_enqueue(s, "q", "t");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", CALL));
    acting_start(&w, s);
    acting_take(&w);
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL), 0, 1, 0);
    assert_waiting(s, "q", "");
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
    acting_forget(&w);
}

/* What was taken is known for as long as its lease, at most for ten minutes; that a call is void, for an hour. */
static void what_is_known_of_a_call_goes_by_itself(void **state)
{
    struct scene *s = *state;
    redisContext *redis = s->server->redis;
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "5000", "0", CALL));
    assert_in_range(raw_int(redis, "PTTL %s:take:0123456789abcdef", s->prefix), 1, 5000);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "86400000", "0", NEXT_CALL));
    assert_in_range(raw_int(redis, "PTTL %s:take:0123456789abcdef", s->prefix), 5001, 600000);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", ""));
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", NEXT_CALL), 0, 1, 0);
    assert_in_range(raw_int(redis, "PTTL %s:take:" NEXT_CALL, s->prefix), 3500000, 3600000);
    assert_int_equal(raw_int(redis, "EXISTS %s:take:0123456789abcdef %s:take:", s->prefix, s->prefix), 0);
}

/* Written by hand: as many calls as there are tokens would be made, or one call that never ends. */
static void tokens_that_no_take_has_drawn_are_none(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "60000", "0", CALL));
    raw_do(s->server->redis, "SET %s:take:0123456789abcdef %s", s->prefix, CALL " 00000000001 vvvvvvvvvvv");
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL), 0, 0, 0);
    assert_answer(script_call(s, SCRIPT_UNTAKE, "q", CALL, "1"), 0, 0, 0);
    assert_int_equal(queue_field(s, "q", "running"), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(the_next_take_gets_the_same_tasks_at_once),
        live_test(a_client_that_is_freed_gives_back),
        live_test(it_is_given_back_as_soon_as_redis_can_be_reached_again),
        live_test(a_suspect_that_was_not_heard_of_has_not_begun),
        live_test(jobs_go_back_to_their_places_and_nothing_counts),
        live_test(a_thousand_come_back_in_their_order),
        live_test(a_request_that_redis_reads_late_takes_nothing),
        live_test(what_comes_after_it_was_given_back_changes_nothing),
        live_test(only_what_the_call_took_goes_back_once),
        live_test(what_happened_meanwhile_stays_so),
        live_test(an_idle_worker_gets_what_goes_back),
        live_test(what_is_known_of_a_call_goes_by_itself),
        live_test(tokens_that_no_take_has_drawn_are_none),
    };
    return scene_run_durable(tests, argc, argv);
}
