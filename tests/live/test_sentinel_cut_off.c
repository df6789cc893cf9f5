/* SPDX-License-Identifier: MIT
 *
 * A sentinel that is cut off from the others, and names a master that is none any more, for good. Who has found the master
 * by another one stays there: he does not go where only this one says.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_server.h"
#include "live_worker.h"
#include "proxy.h"
#include "taken.h"

static struct sentinels {
    struct redis_server master;
    struct fake_server cut_off, other;
    struct proxy before_other;
    int gone; /* the descriptor of what the first one names */
    char url[160];
} sentinels;

static int begin(void **state)
{
    struct sentinels *t = &sentinels;
    char gone[64];
    const int port = redis_server_free_port();
    t->gone = fake_server_refuse(gone);
    redis_server_start(&t->master, &(struct redis_server_options){.tcp = true});
    fake_server_sentinel(&t->cut_off, atoi(strrchr(gone, ':') + 1));
    fake_server_sentinel(&t->other, t->master.port);
    proxy_start_tcp(&t->before_other, port, t->other.port);
    snprintf(t->url, sizeof t->url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/main", t->cut_off.port, port);
    int err = scene_begin(state);
    scene_move(*state, &t->master);
    return err;
}

static int end(void **state)
{
    struct sentinels *t = &sentinels;
    int err = scene_end(state);
    proxy_stop(&t->before_other);
    fake_server_stop(&t->other);
    fake_server_stop(&t->cut_off);
    redis_server_remove(&t->master);
    close(t->gone);
    return err;
}

/* Whoever is cut off is asked first; then the other one, by so many connections in all. */
static bool is_other_asked(void *n)
{
    return proxy_count(&sentinels.before_other).accepted >= *(int *)n;
}

static void a_worker_stays(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .url = sentinels.url, .queues = {{"q", 0}}});
    const size_t from = journal_size(s->journal);
    int with_lookout = proxy_count(&sentinels.before_other).accepted + 1;
    wait_on(s->base, is_other_asked, &with_lookout, SOON_MS);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_null(journal_find(s->journal, from, JOURNAL_EVENT, MUSTER_EVENT_DOWN, NULL, NULL));
}

struct call {
    struct muster_client *client;
    pthread_t thread;
    atomic_bool has_ended;
    int err;
};

/* The other one is asked for the client, for its second connection, and where the master is. */
static bool is_over_or_other_is_asked(void *arg)
{
    struct call *c = arg;
    int in_all = 3;
    return atomic_load(&c->has_ended) || is_other_asked(&in_all);
}

static int stop_at_event(const struct muster_queue_event *e, void *arg)
{
    (void)e, (void)arg;
    return 1;
}

static void *listen_once(void *arg)
{
    struct call *c = arg;
    c->err = muster_queue_listen(c->client, "q", 10 * SOON_MS, NULL, stop_at_event, NULL);
    atomic_store(&c->has_ended, true);
    return NULL;
}

static void a_call_that_listens_goes_on(void **state)
{
    struct scene *s = *state;
    struct call c = {.err = MUSTER_OK};
    assert_ok(muster_client_new(&c.client, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                           .url = sentinels.url,
                                                                           .prefix = s->prefix}));
    assert_int_equal(pthread_create(&c.thread, NULL, listen_once, &c), 0);
    wait_on(s->base, is_over_or_other_is_asked, &c, SOON_MS);
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    pthread_join(c.thread, NULL);
    muster_client_free(c.client);
    assert_ok(c.err);
}

#define cut_off_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cut_off_test(a_worker_stays),
        cut_off_test(a_call_that_listens_goes_on),
    };
    return scene_run(tests, argc, argv);
}
