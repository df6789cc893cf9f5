/* SPDX-License-Identifier: MIT
 *
 * The events of jobs that listeners hear: each change of state with its own words, once, in order, with the worker that
 * held the job, and with a mark for a tracked one.
 */
#include <stdio.h>
#include <string.h>

#include "job_look.h"
#include "script_call.h"
#include "taken.h"

#define A_MINUTE 60000
#define SHORT 20

#define FINISH(...) (&(struct muster_finish_options){.size = sizeof(struct muster_finish_options), __VA_ARGS__})

struct hearing {
    struct scene *scene;
    void (*act)(struct scene *s);
    int64_t last_ms;
    char heard[2048];
};

/* Those of "-..." are left out: they only prepare. */
static int note_event(const struct muster_job_event *e, void *arg)
{
    struct hearing *h = arg;
    assert_true(e->at_ms >= h->last_ms);
    h->last_ms = e->at_ms;
    if (!strcmp(e->id, "the end"))
        return 1;
    if (*e->id != '-')
        sprintf(h->heard + strlen(h->heard), "%s:%s:%s%s%s%s%s%s ", e->id, e->queue, e->what, *e->worker ? "@" : "",
                e->worker, *e->text ? "=" : "", e->text, e->tracked ? "!" : "");
    return 0;
}

static int act(void *arg)
{
    struct hearing *h = arg;
    h->act(h->scene);
    job_put(h->scene, "q", JOB_SPEC(.id = "the end"));
    return 0;
}

static void assert_heard(struct scene *s, void (*what)(struct scene *s), const char *expected)
{
    struct hearing h = {.scene = s, .act = what};
    struct muster_client *c = scene_client(s);
    int err = muster_job_listen(c, NULL, SOON_MS, act, note_event, &h);
    muster_client_free(c);
    assert_ok(err);
    assert_string_equal(h.heard, expected);
}

static void finish(struct scene *s, const char *id)
{
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", id), NULL));
}

/* ---- */

static void put_in_each_state(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a", .track = 1));
    job_put(s, "q", JOB_SPEC(.id = "b", .delay_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "d", .every_ms = A_MINUTE, .offset_ms = A_MINUTE));
    assert_err(muster_job_put(s->client, "q", JOB_SPEC(.id = "a"), NULL), MUSTER_E_EXISTS); /* which nobody hears */
}

static void a_put_is_heard_in_each_state(void **state)
{
    assert_heard(*state, put_in_each_state, "a:q:put! b:q:put c:q:put d:q:put ");
}

static void track_and_change(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.track = 1)));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.priority = 2)));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.queue = "r")));
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.track = -1)));
    assert_err(muster_job_change(s->client, "a", JOB_CHANGE(.every_ms = 1000)), MUSTER_E_STATE);
}

static void tracking_moves_and_changes_are_heard(void **state)
{
    assert_heard(*state, track_and_change,
                 "a:q:put a:q:tracked! a:q:changed! a:q:changed! a:r:moved=q! a:q:moved=r! a:q:untracked a:q:changed ");
}

static void go_on(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "-other"));
    job_put(s, "q", JOB_SPEC(.id = "a", .priority = -1, .track = 1));
    job_put(s, "q", JOB_SPEC(.id = "ready", .after = IDS("-other"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "later", .after = IDS("-other"), .n_after = 1, .delay_ms = A_MINUTE));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), FINISH(.next = "r")));
    assert_ok(muster_lease_finish(s->client, job_take(s, "r", "a"), NULL));
    finish(s, "-other");
}

static void an_advance_a_completion_and_whom_it_releases_are_heard(void **state)
{
    struct scene *s = *state;
    struct hearing h = {.scene = s, .act = go_on};
    struct muster_client *c = scene_client(s);
    int err = muster_job_listen(c, NULL, SOON_MS, act, note_event, &h);
    muster_client_free(c);
    assert_ok(err);
    static const char first[] = "a:q:put! ready:q:put later:q:put a:q:taken@.lease=.lease! a:q:advanced@.lease=r! "
                                "a:r:put=q! a:r:taken@.lease=.lease! a:r:completed@.lease=.lease! ";
    assert_memory_equal(h.heard, first, sizeof first - 1);
    const char *rest = h.heard + sizeof first - 1; /* of a set: in no order */
    assert_true(!strcmp(rest, "ready:q:ready later:q:scheduled ") || !strcmp(rest, "later:q:scheduled ready:q:ready "));
}

static void fail_and_come_back(struct scene *s)
{
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = 1));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), SHORT));
    await_server_ms(s, job_look(s, "a").due_at_ms);
    assert_err(muster_lease_retry(s->client, job_take(s, "q", "a"), 0), MUSTER_E_EXHAUSTED);
    assert_words(s, "has had all its retries");
    assert_ok(muster_failed_replay(s->client, &all, NULL));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), "g", "m"));
    assert_ok(muster_failed_drop(s->client, &all, NULL));
}

static void retries_failures_and_replays_are_heard(void **state)
{
    assert_heard(*state, fail_and_come_back,
                 "a:q:put a:q:taken@.lease=.lease a:q:retried@.lease a:q:ready a:q:taken@.lease=.lease "
                 "a:q:exhausted@.lease=1 a:q:failed@.lease=failed-retries a:q:replayed a:q:taken@.lease=.lease "
                 "a:q:failed@.lease=g a:q:dropped ");
}

static void replace(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
    job_take(s, "q", "a");
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
    job_take(s, "q", "a");
    job_put(s, "r", JOB_SPEC(.id = "a", .replace = 1));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.queue = "q")));
    finish(s, "a");
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = A_MINUTE, .offset_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = A_MINUTE, .replace = 1));
    job_put(s, "r", JOB_SPEC(.id = "e", .every_ms = A_MINUTE, .replace = 1));
    assert_ok(muster_job_change(s->client, "e", JOB_CHANGE(.queue = "q")));
}

/* And where it was taken from, be that a queue or a holder. */
static void a_job_that_is_put_again_is_heard_of_its_holder_too(void **state)
{
    assert_heard(*state, replace,
                 "a:q:put a:q:put=in place a:q:taken@.lease=.lease a:q:put@.lease=q a:q:taken@.lease=.lease "
                 "a:r:moved@.lease=q a:q:moved=r a:q:taken@.lease=.lease a:q:completed@.lease=.lease "
                 "e:q:put e:q:put=in place e:r:moved=q e:q:moved=r ");
}

static void lapse(struct scene *s)
{
    struct taken taken;
    job_put(s, "q", JOB_SPEC(.id = "a", .track = 1));
    assert_ok(take_n(s, "q", 1, SHORT, &taken));
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_ok(take_n(s, "q", 1, SHORT, &taken)); /* it is a suspect by now */
    await_server_ms(s, taken.rows[0].ends_at_ms);
    finish(s, "a");
}

static void a_lapse_is_heard_before_what_comes_of_it(void **state)
{
    assert_heard(*state, lapse,
                 "a:q:put! a:q:taken@.lease=.lease! a:q:stalled@.lease=its lease lapsed! "
                 "a:q:given-back@.lease=.lease! a:q:taken@.lease=.lease! a:q:stalled@.lease=its lease lapsed! "
                 "a:q:crashed@.lease=.lease! a:q:given-back@.lease=.lease! "
                 "a:q:taken@.lease=.lease! a:q:completed@.lease=.lease! ");
}

/* Taken under a lease of this name. Returns its end. */
static int64_t hold(struct scene *s, const char *queue, int64_t lease_ms, struct taken *taken)
{
    const struct muster_take_options o = {.size = sizeof o, .lease_ms = lease_ms, .holder = "h"};
    *taken = (struct taken){0};
    assert_ok(muster_lease_take_as(s->client, queue, &o, taken_add, taken));
    return taken->rows[0].ends_at_ms;
}

static const char *held(struct scene *s, const char *queue, struct taken *taken)
{
    hold(s, queue, A_MINUTE, taken);
    return taken->rows[0].id;
}

static void end_in_each_way_by_name(struct scene *s)
{
    struct taken t;
    const struct muster_extend_options data = {.size = sizeof data, .data = &(struct muster_bytes){"new", 3}};
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = 1));
    assert_ok(muster_lease_extend(s->client, held(s, "q", &t), &data));
    assert_ok(muster_lease_retry(s->client, t.rows[0].id, 0));
    assert_ok(muster_lease_give_back(s->client, held(s, "q", &t)));
    for (int i = 0; i < 2; i++)
        await_server_ms(s, hold(s, "q", SHORT, &t));
    assert_ok(muster_lease_finish(s->client, held(s, "q", &t), FINISH(.next = "r")));
    held(s, "r", &t);
    assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
    assert_err(muster_lease_give_back(s->client, t.rows[0].id), MUSTER_E_CANCELLED);
    job_put(s, "q", JOB_SPEC(.id = "b", .retries = MUSTER_ZERO));
    assert_err(muster_lease_retry(s->client, held(s, "q", &t), 0), MUSTER_E_EXHAUSTED);
    job_put(s, "q", JOB_SPEC(.id = "c", .retries = 1));
    assert_ok(muster_lease_retry(s->client, held(s, "q", &t), 0));
    assert_err(muster_lease_retry(s->client, held(s, "q", &t), 0), MUSTER_E_EXHAUSTED);
    job_put(s, "q", JOB_SPEC(.id = "d"));
    held(s, "q", &t);
    assert_ok(muster_worker_fail(s->client, "h", NULL));
    assert_ok(muster_lease_finish(s->client, held(s, "q", &t), NULL));
    job_put(s, "q", JOB_SPEC(.id = "e"));
    held(s, "q", &t);
    job_put(s, "r", JOB_SPEC(.id = "e", .replace = 1));
}

/* The name is forgotten with the lease, and stands in all that is told of the job. */
static void who_held_a_lease_is_told_by_its_name(void **state)
{
    assert_heard(*state, end_in_each_way_by_name,
                 "a:q:put a:q:taken@h=h a:q:changed@h=data a:q:retried@h a:q:taken@h=h a:q:given-back@h=h "
                 "a:q:taken@h=h a:q:stalled@h=its lease lapsed a:q:given-back@h=h "
                 "a:q:taken@h=h a:q:stalled@h=its lease lapsed a:q:crashed@h=h a:q:given-back@h=h "
                 "a:q:taken@h=h a:q:advanced@h=r a:r:put=q a:r:taken@h=h a:r:cancelled@h "
                 "b:q:put b:q:taken@h=h b:q:failed@h=failed-retries "
                 "c:q:put c:q:taken@h=h c:q:retried@h c:q:taken@h=h c:q:exhausted@h=1 c:q:failed@h=failed-retries "
                 "d:q:put d:q:taken@h=h d:q:given-back@h=h d:q:taken@h=h d:q:completed@h=h "
                 "e:q:put e:q:taken@h=h e:r:moved@h=q ");
    assert_string_equal(job_look(*state, "d").history, "put taken=h given-back=h taken=h completed=h ");
}

static void die(struct scene *s)
{
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    job_put(s, "q", JOB_SPEC(.id = "a"));
    freeReplyObject(acting_turn(&w, NULL));
    acting_die(&w);
    assert_ok(muster_client_sweep(s->client, NULL));
    finish(s, "a");
    acting_forget(&w);
}

static void a_death_is_heard_before_what_comes_of_it(void **state)
{
    assert_heard(*state, die,
                 "a:q:put a:q:taken@w=w a:q:stalled@w=the worker that held it died a:q:given-back@w=w "
                 "a:q:taken@.lease=.lease a:q:completed@.lease=.lease ");
}

static void cancel_in_each_state(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "run", .track = 1));
    const char *process = job_take(s, "q", "run");
    job_put(s, "q", JOB_SPEC(.id = "bad"));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "bad"), "g", NULL));
    job_put(s, "q", JOB_SPEC(.id = "wait"));
    job_put(s, "q", JOB_SPEC(.id = "later", .delay_ms = A_MINUTE));
    job_put(s, "q", JOB_SPEC(.id = "needs", .after = IDS("later"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "every", .every_ms = A_MINUTE, .offset_ms = A_MINUTE));
    assert_ok(
        muster_job_cancel(s->client, N_IDS("run", "bad", "wait", "needs", "later", "every", "none"), 0, NULL, NULL));
    assert_err(muster_lease_give_back(s->client, process), MUSTER_E_CANCELLED);
}

/* Of one that runs, once: not again when it goes. */
static void a_cancel_is_heard_in_each_state_once(void **state)
{
    struct scene *s = *state;
    struct hearing h = {.scene = s, .act = cancel_in_each_state};
    struct muster_client *c = scene_client(s);
    int err = muster_job_listen(c, NULL, SOON_MS, act, note_event, &h);
    muster_client_free(c);
    assert_ok(err);
    static const char *const ids[] = {"run:q:cancelled",   "bad:q:cancelled",   "wait:q:cancelled",
                                      "needs:q:cancelled", "later:q:cancelled", "every:q:cancelled"};
    for (size_t i = 0; i < N_OF(ids); i++) {
        const char *found = strstr(h.heard, ids[i]);
        if (!found || strstr(found + 1, ids[i]))
            fail_msg("%s: not once in %s", ids[i], h.heard);
    }
    assert_non_null(strstr(h.heard, "run:q:cancelled@.lease! "));
}

static void do_nothing_of_ones_own(struct scene *s)
{
    const int64_t five = 5;
    scene_enqueue(s, "q", "plain");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "plain"), NULL));
    assert_ok(muster_config_set(s->client, "q", "max_running", &five));
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_ok(muster_queue_resume(s->client, "q"));
    assert_err(muster_job_change(s->client, "none", JOB_CHANGE(.track = 1)), MUSTER_E_NOT_FOUND);
    assert_ok(muster_job_cancel(s->client, N_IDS("none"), 0, NULL, NULL));
}

static void of_tasks_settings_and_what_changes_nothing_there_is_nothing_to_hear(void **state)
{
    assert_heard(*state, do_nothing_of_ones_own, "");
}

static void without_listeners_no_message_is_sent(void **state)
{
    struct scene *s = *state;
    int64_t before = redis_server_calls(s->server, "publish");
    job_put(s, "q", JOB_SPEC(.id = "a", .track = 1));
    finish(s, "a");
    assert_int_equal(redis_server_calls(s->server, "publish"), before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_put_is_heard_in_each_state),
        live_test(tracking_moves_and_changes_are_heard),
        live_test(an_advance_a_completion_and_whom_it_releases_are_heard),
        live_test(a_job_that_is_put_again_is_heard_of_its_holder_too),
        live_test(retries_failures_and_replays_are_heard),
        live_test(a_lapse_is_heard_before_what_comes_of_it),
        live_test(who_held_a_lease_is_told_by_its_name),
        live_test(a_death_is_heard_before_what_comes_of_it),
        live_test(a_cancel_is_heard_in_each_state_once),
        live_test(of_tasks_settings_and_what_changes_nothing_there_is_nothing_to_hear),
        live_test(without_listeners_no_message_is_sent),
    };
    return scene_run(tests, argc, argv);
}
