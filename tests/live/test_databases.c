/* SPDX-License-Identifier: MIT
 *
 * Redis has one set of channels for all of its databases. So two namespaces of one prefix in two databases have
 * channels of their own: nobody hears the other's messages, and no script takes the other's worker for a reader. Where
 * two namespaces do share a channel, because a queue's name completes a prefix, its messages are hints: nothing is lost
 * by a stranger's.
 */
#include <hiredis/async.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live_worker.h"
#include "taken.h"

#define AN_HOUR (3600 * 1000)

/* A scene's second database: a connection there, and the URL. Some namespaces of the tests lie in it. */
struct other {
    char url[160];
    struct redisContext *redis;
    struct muster_client *client;
};

static void other_open(struct other *o, struct scene *s)
{
    snprintf(o->url, sizeof o->url, "%s?db=1", s->server->url);
    o->redis = redisConnectUnix(s->server->socket);
    raw_do(o->redis, "SELECT 1");
    const struct muster_client_options options = {.size = sizeof options, .url = o->url, .prefix = s->prefix};
    assert_ok(muster_client_new(&o->client, &options));
}

static void other_close(struct other *o)
{
    muster_client_free(o->client);
    redisFree(o->redis);
}

/* ---- workers ---- */

static void await_idle_in(struct scene *s, struct redisContext *redis)
{
    raw_await(redis, s->base, 1, "ZCARD %s:idle:q", s->prefix);
}

static void enqueue_for(struct muster_client *c, const char *task)
{
    assert_ok(muster_task_enqueue(c, "q", task, strlen(task), NULL));
}

/* Nothing but hand-overs can start a task here: the heartbeat comes in 20 minutes. */
static void workers_of_one_id_in_two_databases_get_their_own_tasks(void **state)
{
    struct scene *s = *state;
    struct other o;
    other_open(&o, s);
    const struct worker_spec spec = {.id = "w", .ttl_ms = AN_HOUR, .answer = MUSTER_FINISH, .queues = {{"q", 0}}};
    struct worker_spec spec_there = spec;
    spec_there.url = o.url;
    struct live_worker *here = live_worker_idle(s, &spec), *there = live_worker_new(s, &spec_there);
    await_idle_in(s, o.redis);
    for (size_t i = 0; i < 3; i++) {
        enqueue_for(s->client, "here");
        scene_await_starts(s, 2 * i + 1);
        scene_await_idle(s, "q", "w");
        enqueue_for(o.client, "there");
        scene_await_starts(s, 2 * i + 2);
        await_idle_in(s, o.redis);
    }
    scene_assert_started(s, 0, (const char *[]){"here", "there", "here", "there", "here", "there", NULL});
    live_worker_free(s, here);
    live_worker_free(s, there);
    other_close(&o);
}

/* The other one's subscription is no reader: a hand-over to a worker that does not listen is undone, and the task stays
 * in the queue. */
static void a_worker_of_the_id_in_another_database_is_no_reader(void **state)
{
    struct scene *s = *state;
    struct other o;
    other_open(&o, s);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .queues = {{"q", 0}}});
    /* It has registered in the other database, and is dead by now: it hears nothing. */
    struct redisContext *r = o.redis;
    raw_do(r, "HSET %s:worker:w epoch 0123456789a ttl 3600000 hands 1 held 0 q:q 0", s->prefix);
    raw_do(r, "SET %s:alive:w 1 PX 3600000", s->prefix);
    raw_do(r, "ZADD %s:idle:q 1 w", s->prefix);
    enqueue_for(o.client, "there");
    assert_int_equal(raw_int(r, "LLEN %s:queues:q", s->prefix), 1);
    assert_int_equal(raw_int(r, "EXISTS %s:processing:w:q", s->prefix), 0);
    raw_do(r, "FLUSHDB");
    other_close(&o);
}

/* ---- connections that are handed in ---- */

/* A connected context with its database selected, on which nothing is outstanding. */
static struct redisAsyncContext *connected(struct scene *s, int db)
{
    struct redisAsyncContext *c = redisAsyncConnectUnix(s->server->socket);
    char text[32];
    assert_int_equal(c->err, 0);
    int len = snprintf(text, sizeof text, "SELECT %d\r\n", db);
    assert_int_equal(write(c->c.fd, text, (size_t)len), len);
    assert_int_equal(poll(&(struct pollfd){.fd = c->c.fd, .events = POLLIN}, 1, SOON_MS), 1);
    assert_int_equal(read(c->c.fd, text, sizeof text), 5);
    assert_memory_equal(text, "+OK\r\n", 5);
    return c;
}

struct given {
    struct muster_worker *worker;
    int n_started, stopped_by;
    bool has_stopped;
    char why[256];
};

static enum muster_outcome count(struct muster_process *p, void *arg)
{
    struct given *g = arg;
    (void)p;
    g->n_started++;
    return MUSTER_FINISH;
}

static void note_stop(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct given *g = arg;
    (void)w;
    if (e->type != MUSTER_EVENT_STOPPED)
        return;
    g->has_stopped = true;
    g->stopped_by = e->err;
    snprintf(g->why, sizeof g->why, "%s", e->text ? e->text : "");
}

/* `url`: NULL for none. */
static void start_given(struct scene *s, struct given *g, const char *url, int data_db, int subscription_db)
{
    const struct muster_worker_options o = {.size = sizeof o,
                                            .prefix = s->prefix,
                                            .url = url,
                                            .id = "given",
                                            .ttl_ms = AN_HOUR,
                                            .base = s->base,
                                            .data = connected(s, data_db),
                                            .subscription = connected(s, subscription_db),
                                            .on_event = note_stop,
                                            .arg = g};
    *g = (struct given){0};
    assert_ok(muster_worker_new(&g->worker, &o));
    assert_ok(muster_worker_start(g->worker));
    assert_ok(muster_worker_serve(g->worker, "q", 0, count, g));
}

static bool has_started_two(void *arg)
{
    return ((struct given *)arg)->n_started == 2;
}

static bool has_stopped(void *arg)
{
    return ((struct given *)arg)->has_stopped;
}

static void connections_that_are_handed_in_tell_their_database(void **state)
{
    struct scene *s = *state;
    struct other o;
    struct given g;
    struct muster_client *given;
    other_open(&o, s);
    live_worker_idle(s, &(struct worker_spec){.id = "given", .ttl_ms = AN_HOUR, .queues = {{"q", 0}}});
    start_given(s, &g, NULL, 1, 1);
    await_idle_in(s, o.redis);
    enqueue_for(o.client, "by URL");
    await_idle_in(s, o.redis);
    const struct muster_client_options options = {.size = sizeof options, .prefix = s->prefix, .redis = o.redis};
    assert_ok(muster_client_new(&given, &options));
    enqueue_for(given, "by a connection");
    wait_on(s->base, has_started_two, &g, SOON_MS);
    assert_int_equal(scene_starts(s), 0);
    muster_client_free(given);
    muster_worker_free(g.worker);
    other_close(&o);
}

static void connections_to_different_databases_are_refused(void **state)
{
    struct scene *s = *state;
    const struct {
        bool by_url;
        int data, subscription;
        const char *why;
    } cases[] = {
        {false, 1, 2, "the data connection is in database 1, the subscription in 2"},
        {true, 1, 1, "the connection that was handed in is in database 1, the URL's is 0"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct given g;
        start_given(s, &g, cases[i].by_url ? s->server->url : NULL, cases[i].data, cases[i].subscription);
        wait_on(s->base, has_stopped, &g, SOON_MS);
        assert_err(g.stopped_by, MUSTER_E_INVALID);
        if (!strstr(g.why, cases[i].why))
            fail_msg("it says: %s", g.why);
        muster_worker_free(g.worker);
    }
}

/* ---- listeners ---- */

struct hearing {
    struct scene *scene;
    struct other *other;
    struct muster_client *stranger;
    char heard[256];
};

static void hear(struct hearing *h, const char *what, const char *of)
{
    size_t len = strlen(h->heard);
    snprintf(h->heard + len, sizeof h->heard - len, "%s %s\n", what, of);
}

static int put_in_both(void *arg)
{
    struct hearing *h = arg;
    struct muster_client *clients[] = {h->other->client, h->scene->client};
    for (size_t i = 0; i < N_OF(clients); i++) {
        const struct muster_job_spec spec = {.size = sizeof spec, .id = i ? "here" : "there"};
        assert_ok(muster_job_put(clients[i], "q", &spec, NULL));
    }
    return 0;
}

static int hear_job(const struct muster_job_event *e, void *arg)
{
    hear(arg, e->what, e->id);
    return strcmp(e->id, "here") == 0;
}

static void events_of_jobs_are_heard_in_their_own_database(void **state)
{
    struct scene *s = *state;
    struct other o;
    other_open(&o, s);
    struct hearing h = {.scene = s, .other = &o};
    /* Somebody listens there too: events are published in both. */
    raw_do(o.redis, "HSET %s:config listen 99999999999999", s->prefix);
    struct muster_client *c = scene_client(s);
    assert_ok(muster_job_listen(c, NULL, SOON_MS, put_in_both, hear_job, &h));
    assert_string_equal(h.heard, "put here\n");
    muster_client_free(c);
    other_close(&o);
}

/* ---- two namespaces that share channels ---- */

/* A stranger says all that a namespace says on a queue's channels: "<prefix>_mail" has a queue "new", which has the
 * channels of the queue "mail_new" of "<prefix>". */
static int be_a_stranger(void *arg)
{
    struct hearing *h = arg;
    struct scene *s = h->scene;
    struct taken taken = {0};
    uint64_t waiting, running;
    raw_do(s->server->redis, "HSET %s_mail:queue:new broadcast 1", s->prefix);
    for (int i = 0; i < 2; i++)
        assert_ok(muster_task_enqueue(h->stranger, "new", "t", 1, NULL));
    assert_ok(muster_lease_take(h->stranger, "new", 1, 3600000, 0, taken_add, &taken));
    assert_ok(muster_lease_finish(h->stranger, taken.rows[0].id, NULL));
    assert_ok(muster_task_cancel(h->stranger, "new", "t", 1, &waiting, &running));
    assert_int_equal(waiting, 1);
    assert_ok(muster_queue_delete(h->stranger, "new", &waiting, &running));
    scene_enqueue(s, "mail_new", "last");
    assert_ok(muster_lease_finish(s->client, take_one(s, "mail_new", "last"), NULL));
    return 0;
}

static int hear_queue(const struct muster_queue_event *e, void *arg)
{
    char task[16];
    snprintf(task, sizeof task, "%.*s", (int)e->len, e->task ? (const char *)e->task : "");
    hear(arg,
         e->type == MUSTER_QUEUE_DONE        ? "done"
         : e->type == MUSTER_QUEUE_CANCELLED ? "cancelled"
                                             : "deleted",
         task);
    return strcmp(task, "last") == 0;
}

/* Only the cancel is heard: its message does not tell whose queue it means. */
static void a_strangers_messages_are_hints_and_nothing_is_lost(void **state)
{
    struct scene *s = *state;
    struct hearing h = {.scene = s};
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s_mail", s->prefix);
    const struct muster_client_options options = {.size = sizeof options, .url = s->server->url, .prefix = prefix};
    assert_ok(muster_client_new(&h.stranger, &options));
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .queues = {{"mail_new", 0}}});
    scene_enqueue(s, "mail_new", "t");
    scene_await_starts(s, 1);
    struct muster_client *c = scene_client(s);
    assert_ok(muster_queue_listen(c, "mail_new", SOON_MS, be_a_stranger, hear_queue, &h));
    assert_string_equal(h.heard, "cancelled t\ndone last\n");
    scene_await_events(s, MUSTER_EVENT_CANCEL, "w", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_GO_ON);
    live_worker_answer(w, MUSTER_FINISH);
    scene_enqueue(s, "mail_new", "next");
    scene_await_starts(s, 2);
    scene_await_idle(s, "mail_new", "w");
    scene_assert_quiet(s);
    muster_client_free(c);
    muster_client_free(h.stranger);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(workers_of_one_id_in_two_databases_get_their_own_tasks),
        live_test(a_worker_of_the_id_in_another_database_is_no_reader),
        live_test(connections_that_are_handed_in_tell_their_database),
        live_test(connections_to_different_databases_are_refused),
        live_test(events_of_jobs_are_heard_in_their_own_database),
        live_test(a_strangers_messages_are_hints_and_nothing_is_lost),
    };
    return scene_run(tests, argc, argv);
}
