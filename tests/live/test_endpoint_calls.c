/* SPDX-License-Identifier: MIT
 *
 * An endpoint leads to another server from one moment on, while the connections that there are stay. Calls that listen or
 * wait over a connection of their own do not stay at the old one, whatever they hear of it, and in whatever order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "endpoint_scene.h"
#include "taken.h"

static void finish(struct scene *s, const char *task)
{
    scene_enqueue(s, "q", task);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", task), NULL));
}

struct caller {
    struct scene *scene;
    struct muster_client *client;
    pthread_t thread;
    void *(*run)(void *arg);
    atomic_bool has_begun, has_ended;
    int err;
};

static void begin_call(struct caller *c, struct scene *s, void *(*run)(void *arg))
{
    *c = (struct caller){.scene = s, .client = endpoint_client(s), .run = run};
    assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

static void end_call(struct caller *c)
{
    pthread_join(c->thread, NULL);
    muster_client_free(c->client);
    assert_ok(c->err);
}

static int note_begun(void *arg)
{
    struct caller *c = arg;
    atomic_store(&c->has_begun, true);
    return 0;
}

static bool has_begun(void *arg)
{
    struct caller *c = arg;
    return atomic_load(&c->has_begun);
}

static int stop_at_event(const struct muster_queue_event *e, void *arg)
{
    (void)e, (void)arg;
    return 1;
}

/* A call may end while Redis is away, and one that listens when it is elsewhere than the scripts. A program repeats it. */
static bool is_passing(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_BUSY || err == MUSTER_E_TIMEOUT;
}

static void *listen_again_and_again(void *arg)
{
    struct caller *c = arg;
    do
        c->err = muster_queue_listen(c->client, "q", 10 * SOON_MS, note_begun, stop_at_event, c);
    while (is_passing(c->err));
    atomic_store(&c->has_ended, true);
    return NULL;
}

/* What is done before it listens at the new one is not told there. */
static bool hears_what_is_done(void *arg)
{
    struct caller *c = arg;
    finish(c->scene, "a");
    return atomic_load(&c->has_ended);
}

static void a_call_that_listens_follows(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct caller c;
    begin_call(&c, s, listen_again_and_again);
    wait_on(s->base, has_begun, &c, SOON_MS);
    endpoint_fail_over(s, turn, after);
    wait_on(s->base, endpoint_hears_at_the_new_one, NULL, SOON_MS);
    wait_on(s->base, hears_what_is_done, &c, SOON_MS);
    end_call(&c);
}

static void *take_and_finish(void *arg)
{
    struct caller *c = arg;
    struct taken taken = {.n = 0};
    do
        c->err = muster_lease_take(c->client, "q", 1, 10 * SOON_MS, 10 * SOON_MS, taken_add, &taken);
    while (is_passing(c->err));
    if (c->err == MUSTER_OK)
        c->err = muster_lease_finish(c->client, taken.rows[0].id, NULL);
    return NULL;
}

static void a_take_that_waits_follows(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct caller c;
    begin_call(&c, s, take_and_finish);
    wait_on(s->base, endpoint_hears_at_the_old_one, NULL, SOON_MS);
    endpoint_fail_over(s, turn, after);
    wait_on(s->base, endpoint_hears_at_the_new_one, NULL, SOON_MS);
    scene_enqueue(s, "q", "t");
    end_call(&c);
}

static void take_later(struct answers *as)
{
    assert_ok(muster_async_take(as->async, "q", 1, 10 * SOON_MS, 10 * SOON_MS, answers_fn, NULL));
}

/* Asks again if the answer is that it was in doubt. */
static bool has_taken(void *arg)
{
    struct answers *as = arg;
    const size_t n = as->n;
    muster_async_dispatch(as->async, 0);
    if (as->n > n && is_passing(as->last.err))
        take_later(as);
    return as->n > n && as->last.err == MUSTER_OK;
}

static bool waits_at_the_old_one(void *arg)
{
    assert_false(has_taken(arg));
    return endpoint_hears_at_the_old_one(NULL);
}

static bool waits_at_the_new_one(void *arg)
{
    assert_false(has_taken(arg));
    return endpoint_hears_at_the_new_one(NULL);
}

static void an_asynchronous_take_follows(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct answers as;
    answers_open(&as, s, endpoint.url, ENDPOINT_TIMEOUT_MS, NULL);
    take_later(&as);
    wait_on(s->base, waits_at_the_old_one, &as, SOON_MS);
    endpoint_fail_over(s, turn, after);
    wait_on(s->base, waits_at_the_new_one, &as, SOON_MS);
    scene_enqueue(s, "q", "t");
    wait_on(s->base, has_taken, &as, SOON_MS);
    answers_close(&as);
}

/* ---- all of them ---- */

ENDPOINT_CASES(ENDPOINT_CASE, a_call_that_listens)
ENDPOINT_CASES(ENDPOINT_CASE, a_take_that_waits)
ENDPOINT_CASES(ENDPOINT_CASE, an_asynchronous_take)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {ENDPOINT_CASES(ENDPOINT_ENTRY, a_call_that_listens) ENDPOINT_CASES(
        ENDPOINT_ENTRY, a_take_that_waits) ENDPOINT_CASES(ENDPOINT_ENTRY, an_asynchronous_take)};
    return scene_run(tests, argc, argv);
}
