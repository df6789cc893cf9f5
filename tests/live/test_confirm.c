/* SPDX-License-Identifier: MIT
 *
 * Acknowledged means that replicas have it, if the caller asks for that: on a real master with a real replica, which
 * stands still when it must not confirm. Whatever is not confirmed is there, and can be sent again.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "fake_server.h"
#include "hostile_server.h"
#include "live_worker.h"

#define WAIT_MS 150
#define MANY 2500

static struct redis_server master, replica;

static int start_pair(void **state)
{
    redis_server_start(&master, &(struct redis_server_options){.tcp = true});
    redis_server_start(&replica, &(struct redis_server_options){.tcp = true, .replica_of = &master});
    return scene_start(state);
}

static int stop_pair(void **state)
{
    redis_server_remove(&replica);
    redis_server_remove(&master);
    return scene_stop(state);
}

static struct muster_client *client_waiting(struct scene *s, const char *base, const char *parameters, int timeout_ms)
{
    struct muster_client *c;
    char url[200];
    snprintf(url, sizeof url, "%s?%s", base, parameters);
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

static struct muster_client *client_of(struct scene *s, const char *base, const char *parameters)
{
    return client_waiting(s, base, parameters, 0);
}

static struct muster_client *client_with(struct scene *s, const char *parameters)
{
    return client_of(s, master.url, parameters);
}

/* Waits as long as a slow machine needs. */
static struct muster_client *patient(struct scene *s, int replicas)
{
    char parameters[40];
    snprintf(parameters, sizeof parameters, "replicas=%d,50000", replicas);
    return client_waiting(s, master.url, parameters, 60000);
}

/* Each test plays on the pair, with a new client: a connection that has written nothing before. */
static struct muster_client *begin(struct scene *s)
{
    redis_server_thaw(&replica);
    redis_server_await_replicas(&master, 1);
    if (s->server != &master)
        scene_move(s, &master);
    return client_with(s, "replicas=1,150");
}

static struct muster_client *begin_patiently(struct scene *s)
{
    muster_client_free(begin(s));
    return patient(s, 1);
}

static void freeze_replica(void)
{
    redis_server_freeze(&replica);
}

static void thaw_replica(void)
{
    redis_server_thaw(&replica);
    redis_server_await_replicas(&master, 1);
}

/* ---- what adds something ---- */

static int enqueue_one(struct muster_client *c)
{
    return muster_task_enqueue(c, "q", "t", 1, NULL);
}

static int enqueue_some(struct muster_client *c, size_t n, int at_front, const char *id)
{
    static const struct muster_bytes tasks[MANY] = {{"a", 1}, {"b", 1}};
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = at_front, .request_id = id};
    return muster_task_enqueue_many(c, "q", tasks, n, &o, NULL);
}

static int enqueue_few(struct muster_client *c)
{
    return enqueue_some(c, 3, 0, NULL);
}

static int enqueue_few_in_front(struct muster_client *c)
{
    return enqueue_some(c, 3, 1, NULL);
}

static int enqueue_many(struct muster_client *c)
{
    return enqueue_some(c, MANY, 0, NULL);
}

static int enqueue_many_in_front(struct muster_client *c)
{
    return enqueue_some(c, MANY, 1, NULL);
}

static int request_few(struct muster_client *c)
{
    return enqueue_some(c, 3, 0, "few");
}

static int request_many(struct muster_client *c)
{
    return enqueue_some(c, MANY, 0, "many");
}

static int put(struct muster_client *c)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "job", .data = {"d", 1}};
    return muster_job_put(c, "q", &spec, NULL);
}

static int enqueue_unique(struct muster_client *c)
{
    char id[MUSTER_JOB_ID_MAX + 1];
    int err = muster_task_enqueue_unique(c, "q", "u", 1, id);
    assert_int_equal(strlen(id), 40);
    return err;
}

static int open_batch(struct muster_client *c)
{
    const struct muster_batch_spec spec = {.size = sizeof spec, .id = "batch", .on_end = {.queue = "q"}};
    return muster_batch_open(c, &spec, NULL);
}

/* `again`: what the same call returns on another connection, when it is there and confirmed. */
static const struct addition {
    const char *name;
    int (*add)(struct muster_client *c);
    int64_t n;
    bool can_repeat;
    int again;
} additions[] = {
    {"one task", enqueue_one, 1, false, MUSTER_OK},
    {"a few", enqueue_few, 3, false, MUSTER_OK},
    {"a few in front", enqueue_few_in_front, 3, false, MUSTER_OK},
    {"many", enqueue_many, MANY, false, MUSTER_OK},
    {"many in front", enqueue_many_in_front, MANY, false, MUSTER_OK},
    {"a request", request_few, 3, true, MUSTER_OK},
    {"a request of many", request_many, MANY, true, MUSTER_OK},
    {"a job", put, 1, true, MUSTER_E_EXISTS},
    {"a unique task", enqueue_unique, 1, true, MUSTER_E_EXISTS},
    {"a batch", open_batch, 0, true, MUSTER_E_EXISTS},
};

static void expect(const struct addition *a, struct muster_client *c, int expected)
{
    int64_t began_at = now_ms();
    int err = a->add(c);
    int64_t took = now_ms() - began_at;
    if (err != expected)
        fail_msg("%s: %s (%s), expected %s", a->name, muster_err_name(err), muster_client_error(c),
                 muster_err_name(expected));
    if (err == MUSTER_E_UNCONFIRMED && took < WAIT_MS)
        fail_msg("%s: told after %lld ms", a->name, (long long)took);
}

static void expect_waiting(struct scene *s, const struct addition *a)
{
    uint64_t n;
    assert_ok(muster_queue_length(s->client, "q", &n));
    if ((int64_t)n != a->n)
        fail_msg("%s: %llu wait", a->name, (unsigned long long)n);
}

static void forget(void)
{
    raw_do(master.redis, "FLUSHALL");
}

/* ---- confirmed ---- */

static void what_a_replica_has_is_confirmed(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(additions); i++) {
        struct muster_client *c = begin_patiently(s);
        expect(&additions[i], c, MUSTER_OK);
        expect_waiting(s, &additions[i]);
        muster_client_free(c);
        forget();
    }
}

/* More than there are: nobody could ever confirm it. */
static void more_replicas_than_there_are_never_confirm(void **state)
{
    struct scene *s = *state;
    muster_client_free(begin(s));
    struct muster_client *c = client_with(s, "replicas=2,150");
    expect(&additions[0], c, MUSTER_E_UNCONFIRMED);
    assert_non_null(
        strstr(muster_client_error(c), "confirmed by 1 of 2 replicas after 150 ms: it is there, but may be"));
    muster_client_free(c);
}

/* ---- not confirmed ---- */

static void what_is_not_confirmed_is_there_and_told(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(additions); i++) {
        struct muster_client *c = begin(s);
        freeze_replica();
        expect(&additions[i], c, MUSTER_E_UNCONFIRMED);
        assert_non_null(strstr(muster_client_error(c), "confirmed by 0 of 1 replica after 150 ms"));
        expect_waiting(s, &additions[i]);
        muster_client_free(c);
        forget();
    }
}

/* Also over a new connection, which has added nothing itself; and as often as it takes. */
static void a_repeated_call_is_confirmed_as_soon_as_the_replica_has_it(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(additions); i++) {
        const struct addition *a = &additions[i];
        if (!a->can_repeat)
            continue;
        struct muster_client *c = begin(s);
        freeze_replica();
        expect(a, c, MUSTER_E_UNCONFIRMED);
        expect(a, c, MUSTER_E_UNCONFIRMED);
        muster_client_free(c);
        c = client_with(s, "replicas=1,150");
        expect(a, c, MUSTER_E_UNCONFIRMED);
        thaw_replica();
        expect(a, c, a->again);
        expect_waiting(s, a);
        muster_client_free(c);
        forget();
    }
}

/* Valkey tells how far the replicas are with what the connection wrote last: a repetition must write. */
static void a_repeated_call_writes(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(additions); i++) {
        const struct addition *a = &additions[i];
        if (!a->can_repeat)
            continue;
        char before[41], after[41];
        struct muster_client *c = begin_patiently(s);
        expect(a, c, MUSTER_OK);
        redis_server_digest(&master, before);
        int64_t offset = redis_server_info(&master, "master_repl_offset");
        expect(a, c, a->again);
        assert_true(redis_server_info(&master, "master_repl_offset") > offset);
        redis_server_digest(&master, after);
        assert_string_equal(before, after);
        muster_client_free(c);
        forget();
    }
}

/* The promoted replica has what was confirmed. What was not is added by the same request. */
static void what_was_confirmed_survives_the_master(void **state)
{
    struct scene *s = *state;
    const struct addition *lost = &additions[5];
    struct muster_client *c = begin_patiently(s);
    expect(&additions[0], c, MUSTER_OK);
    muster_client_free(c);
    c = begin(s);
    freeze_replica();
    raw_do(master.redis, "CLIENT KILL TYPE replica"); /* else it would read on when it is thawed */
    expect(lost, c, MUSTER_E_UNCONFIRMED);
    redis_server_kill(&master);
    redis_server_thaw(&replica);
    raw_do(replica.redis, "REPLICAOF NO ONE");
    muster_client_free(c);
    scene_move(s, &replica);
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_ok(lost->add(s->client));
    assert_ok(lost->add(s->client));
    assert_int_equal(scene_waiting(s, "q"), 1 + lost->n);
    redis_server_restart(&master);
    raw_do(replica.redis, "REPLICAOF 127.0.0.1 %d", master.port);
    muster_client_free(begin(s));
}

/* ---- fewer than there are ---- */

static struct redis_server second;
static atomic_int n_warnings;
static char warning[300];

/* Also on the thread of an asynchronous client, whose answer comes later. */
static void keep_warning(enum muster_log_level level, const char *line, void *arg)
{
    (void)level, (void)arg;
    snprintf(warning, sizeof warning, "%s", line);
    atomic_fetch_add(&n_warnings, 1);
}

static void note_enqueued(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    (void)w, (void)waiting;
    assert_ok(err);
    ++*(int *)arg;
}

static bool are_two(void *arg)
{
    return *(int *)arg == 2;
}

static void add_by_client(struct scene *s, int replicas)
{
    char parameters[40];
    snprintf(parameters, sizeof parameters, "replicas=%d,1000", replicas);
    struct muster_client *c = client_with(s, parameters);
    assert_ok(enqueue_one(c));
    assert_ok(enqueue_few(c));
    muster_client_free(c);
}

static void add_by_async(struct scene *s, int replicas)
{
    struct answers as;
    char url[200];
    snprintf(url, sizeof url, "%s?replicas=%d,1000", master.url, replicas);
    answers_open(&as, s, url, 3000, NULL);
    for (size_t i = 1; i <= 2; i++) {
        answers_enqueue(&as, "q", "t", NULL);
        answers_await(&as, i);
    }
    assert_int_equal(as.counts[0], 2);
    answers_close(&as);
}

static void add_by_worker(struct scene *s, int replicas)
{
    int n = 0;
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w", .ttl_ms = 1000, .more = {.replicas = replicas, .replicas_ms = 1000}, .queues = {{"other", 0}}});
    for (int i = 0; i < 2; i++)
        assert_ok(muster_worker_enqueue(w->worker, "q", "t", 1, note_enqueued, &n));
    wait_on(s->base, are_two, &n, SOON_MS);
    live_worker_stop(s, w, 0);
}

static struct muster_client *begin_with_two(struct scene *s)
{
    struct muster_client *c = begin(s);
    redis_server_start(&second, &(struct redis_server_options){.tcp = true, .replica_of = &master});
    redis_server_await_replicas(&master, 2);
    return c;
}

/* Whoever adds says so once, in the log: with the first that is confirmed. */
static void fewer_replicas_than_there_are_are_warned_of(void **state)
{
    struct scene *s = *state;
    void (*const ways[])(struct scene * s, int replicas) = {add_by_client, add_by_async, add_by_worker};
    muster_client_free(begin_with_two(s));
    for (size_t i = 0; i < N_OF(ways); i++) {
        muster_log_set(keep_warning, NULL);
        n_warnings = 0;
        ways[i](s, 2);
        int n_with_all = n_warnings;
        ways[i](s, 1);
        muster_log_set(NULL, NULL);
        if (n_with_all != 0 || n_warnings != 1)
            fail_msg("way %zu: %d warnings with all replicas, and %d with fewer", i, n_with_all, (int)n_warnings);
        assert_non_null(strstr(warning, "replicas=1, but the server has 2 replicas"));
        forget();
    }
    redis_server_remove(&second);
}

/* What a failover does to a master that lives: one replica is promoted, and for a while the others stay with the old
 * master, which goes on as one. */
static void only_all_replicas_make_sure_of_a_failover(void **state)
{
    struct scene *s = *state;
    struct muster_client *one = patient(s, 1), *all = patient(s, 2);
    muster_client_free(begin_with_two(s));
    expect(&additions[0], all, MUSTER_OK);
    muster_client_free(all);
    all = client_with(s, "replicas=2,150");
    raw_do(replica.redis, "REPLICAOF NO ONE");
    redis_server_await_replicas(&master, 1);
    muster_log_set(muster_log_silent, NULL);
    expect(&additions[0], one, MUSTER_OK);
    muster_log_set(NULL, NULL);
    expect(&additions[0], all, MUSTER_E_UNCONFIRMED);
    muster_client_free(one);
    muster_client_free(all);
    scene_move(s, &replica);
    assert_int_equal(scene_waiting(s, "q"), 1);
    redis_server_remove(&second);
    raw_do(replica.redis, "REPLICAOF 127.0.0.1 %d", master.port);
    muster_client_free(begin(s));
    forget();
}

/* A refusal stays what it is, and is not told as something that is there. */
static void a_refusal_stays_a_refusal(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = begin(s);
    freeze_replica();
    raw_do(master.redis, "SET %s:queues:q x", s->prefix);
    assert_err(enqueue_one(c), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(c), "has a wrong type"));
    assert_err(enqueue_many(c), MUSTER_E_REDIS);
    assert_err(enqueue_many_in_front(c), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(c), "has a wrong type"));
    muster_client_free(c);
    forget();
    c = begin(s);
    assert_ok(request_few(c));
    freeze_replica();
    assert_err(enqueue_some(c, 2, 0, "few"), MUSTER_E_EXISTS);
    muster_client_free(c);
}

/* A user who may not ask is not told that all is well. */
static void who_may_not_ask_is_told_so(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = begin(s);
    muster_client_free(c);
    raw_do(master.redis, "ACL SETUSER some on >word ~* &* +@all -wait");
    char url[160];
    snprintf(url, sizeof url, "redis://some:word@127.0.0.1:%d?replicas=1,150", master.port);
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_err(enqueue_one(c), MUSTER_E_UNCONFIRMED);
    assert_non_null(strstr(muster_client_error(c), "NOPERM"));
    assert_int_equal(scene_waiting(s, "q"), 1);
    muster_client_free(c);
}

/* The script is refused here and goes elsewhere: what the replicas of this server have says nothing then. */
static void who_is_sent_elsewhere_is_told_what_is_known_there(void **state)
{
    struct scene *s = *state;
    struct redis_server other;
    struct hostile_server here = {.pid = 0};
    struct fake_server door; /* a port */
    char moved[64];
    muster_client_free(begin(s));
    redis_server_start(&other, &(struct redis_server_options){.tcp = true});
    snprintf(moved, sizeof moved, "-MOVED 1 127.0.0.1:%d\r\n", other.port);
    for (size_t i = 0; i < N_OF(additions); i++) {
        hostile_server_start(
            &here, master.dir,
            &(struct hostile_spec){.relay_to = master.socket, .constant = moved, .only = "\r\nEVAL\r\n"});
        fake_server_relay(&door, here.url + strlen("unix://"), NULL);
        struct muster_client *c = client_of(s, door.url, "replicas=1,150");
        if (additions[i].add != enqueue_many_in_front)
            expect(&additions[i], c, MUSTER_E_UNCONFIRMED);
        muster_client_free(c);
        fake_server_stop(&door);
        hostile_server_stop(&here);
    }
    redis_server_remove(&other);
}

/* ---- what it costs ---- */

static void only_what_adds_asks_and_only_if_it_was_told_to(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = begin(s);
    uint64_t n;
    int64_t waits = redis_server_calls(&master, "wait");
    for (size_t i = 0; i < N_OF(additions); i++)
        if (i != N_OF(additions) - 2)
            expect(&additions[i], s->client, MUSTER_OK);
    assert_int_equal(redis_server_calls(&master, "wait"), waits);
    assert_ok(muster_queue_length(c, "q", &n));
    assert_ok(muster_queue_pause(c, "q"));
    assert_ok(muster_queue_resume(c, "q"));
    assert_int_equal(redis_server_calls(&master, "wait"), waits);
    assert_ok(enqueue_one(c));
    assert_int_equal(redis_server_calls(&master, "wait"), waits + 1);
    muster_client_free(c);
}

/* ---- what is wrong ---- */

static void a_time_beyond_the_clients_own_is_refused(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    struct muster_client_options o = {
        .size = sizeof o, .url = "redis://127.0.0.1?replicas=1,200", .prefix = s->prefix, .timeout_ms = 200};
    assert_err(muster_client_new(&c, &o), MUSTER_E_INVALID);
    assert_null(c);
    assert_string_equal(muster_client_options_check(&o),
                        "replicas may take 200 ms to confirm, but the answer is waited for only 200 ms: shorten the "
                        "one, or lengthen timeout_ms");
    o.timeout_ms = 201;
    assert_ok(muster_client_new(&c, &o));
    muster_client_free(c);
    assert_null(muster_client_options_check(&o));
}

/* ---- disks ---- */

/* Nothing of it is there, and all else goes on. */
static void a_server_without_waitaof_is_refused(void **state)
{
    struct scene *s = *state;
    struct hostile_server old = {.pid = 0};
    hostile_server_start(
        &old, s->server->dir,
        &(struct hostile_spec){.relay_to = s->server->socket,
                               .constant = "-ERR unknown command 'WAITAOF', with args beginning with:\r\n",
                               .only = "WAITAOF"});
    struct muster_client *c = client_of(s, old.url, "fsync=1");
    for (size_t i = 0; i < N_OF(additions); i++)
        if (additions[i].add != enqueue_unique)
            assert_err(additions[i].add(c), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(c), "fsync needs WAITAOF, which Redis 7.2 and Valkey have"));
    uint64_t n = 9;
    assert_ok(muster_queue_length(c, "q", &n));
    assert_int_equal(n, 0);
    muster_client_free(c);
    hostile_server_stop(&old);
}

static void a_server_without_an_append_only_file_is_refused(void **state)
{
    struct scene *s = *state;
    struct hostile_server none = {.pid = 0};
    hostile_server_start(
        &none, s->server->dir,
        &(struct hostile_spec){.relay_to = s->server->socket,
                               .constant =
                                   "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n",
                               .only = "WAITAOF"});
    struct muster_client *c = client_of(s, none.url, "fsync=1&replicas=1,100");
    assert_err(enqueue_one(c), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(c), "set its appendonly to yes"));
    assert_int_equal(scene_waiting(s, "q"), 0);
    muster_client_free(c);
    hostile_server_stop(&none);
}

static void what_the_disks_have_is_told(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *parameters, *answer;
        int err;
        const char *words;
    } rows[] = {
        {"fsync=1", "*2\r\n:1\r\n:0\r\n", MUSTER_OK, NULL},
        {"fsync=1", "*2\r\n:0\r\n:0\r\n", MUSTER_E_UNCONFIRMED, "not on the server's disk after 2500 ms: it is there"},
        {"fsync=1&replicas=1,70", "*2\r\n:1\r\n:1\r\n", MUSTER_OK, NULL},
        {"fsync=1&replicas=2,70", "*2\r\n:1\r\n:1\r\n", MUSTER_E_UNCONFIRMED,
         "confirmed by 1 of 2 replicas after 70 ms"},
        {"fsync=1", ":1\r\n", MUSTER_E_UNCONFIRMED, "none that Redis gives"},
        {"replicas=1", "*0\r\n", MUSTER_E_UNCONFIRMED, "none that Redis gives"},
        {"replicas=1", "$1\r\n1\r\n", MUSTER_E_UNCONFIRMED, "none that Redis gives"},
        {"replicas=1", "-ERR no\r\n", MUSTER_E_UNCONFIRMED, "ERR no"},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct hostile_server server = {.pid = 0};
        hostile_server_start(
            &server, s->server->dir,
            &(struct hostile_spec){.relay_to = s->server->socket, .constant = rows[i].answer, .only = "\r\nWAIT"});
        struct muster_client *c = client_of(s, server.url, rows[i].parameters);
        int err = enqueue_one(c);
        if (err != rows[i].err || (err && !strstr(muster_client_error(c), rows[i].words)))
            fail_msg("row %zu: %s: %s", i, muster_err_name(err), muster_client_error(c));
        assert_int_equal(scene_waiting(s, "q"), i + 1);
        muster_client_free(c);
        hostile_server_stop(&server);
    }
}

/* The second question would wait as long as the first one, if replicas are missing. */
static void a_script_that_redis_does_not_know_is_asked_about_once(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = begin(s);
    for (int i = 0; i < 2; i++) {
        raw_do(master.redis, "SCRIPT FLUSH");
        int64_t asked = redis_server_calls(&master, "wait"), bodies = redis_server_calls(&master, "eval");
        assert_ok(enqueue_one(c));
        assert_ok(enqueue_one(c));
        assert_int_equal(redis_server_calls(&master, "wait"), asked + 2);
        assert_int_equal(redis_server_calls(&master, "eval"), bodies + 1);
        muster_client_free(c);
        c = client_with(s, "replicas=1,150");
    }
    muster_client_free(c);
}

struct heard {
    struct hostile_server server;
    uint64_t least;
};

static bool has_heard(void *arg)
{
    const struct heard *h = arg;
    return h->server.counts->commands >= h->least;
}

/* The client that waits for replicas waits no longer, as if its time were over. */
static bool is_unblocked(void *arg)
{
    struct scene *s = arg;
    char *list = raw_string(s->server->redis, "CLIENT LIST"), *rest;
    int64_t id = 0;
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, " flags=b"))
            id = strtoll(line + strlen("id="), NULL, 10);
    free(list);
    return id > 0 && raw_int(s->server->redis, "CLIENT UNBLOCK %d", (int)id) == 1;
}

/* Redis carries questions out one after the other, and each may take its whole time. */
static void an_asynchronous_client_asks_one_question_at_a_time(void **state)
{
    struct scene *s = *state;
    struct heard h = {.least = 0};
    struct answers as;
    char url[160];
    hostile_server_start(&h.server, s->server->dir, &(struct hostile_spec){.relay_to = s->server->socket});
    snprintf(url, sizeof url, "%s?replicas=1,50000", h.server.url);
    answers_open(&as, s, url, 60000, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    wait_until(is_unblocked, s, SOON_MS);
    answers_await(&as, 1); /* the script is known */
    const uint64_t before = h.server.counts->commands;
    for (uint64_t i = 0; i < 20; i++) { /* each in a turn of its own, while the first question is under way */
        answers_enqueue(&as, "q", "t", NULL);
        h.least = before + i + 2;
        wait_until(has_heard, &h, SOON_MS);
    }
    assert_int_equal(h.server.counts->commands - before, 20 + 1);
    wait_until(is_unblocked, s, SOON_MS);
    wait_until(is_unblocked, s, SOON_MS);
    answers_await(&as, 21);
    assert_int_equal(as.counts[-MUSTER_E_UNCONFIRMED], 21);
    answers_close(&as);
    hostile_server_stop(&h.server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_script_that_redis_does_not_know_is_asked_about_once),
        live_test(what_a_replica_has_is_confirmed),
        live_test(more_replicas_than_there_are_never_confirm),
        live_test(what_is_not_confirmed_is_there_and_told),
        live_test(a_repeated_call_is_confirmed_as_soon_as_the_replica_has_it),
        live_test(a_repeated_call_writes),
        live_test(fewer_replicas_than_there_are_are_warned_of),
        live_test(only_all_replicas_make_sure_of_a_failover),
        live_test(an_asynchronous_client_asks_one_question_at_a_time),
        live_test(a_refusal_stays_a_refusal),
        live_test(who_may_not_ask_is_told_so),
        live_test(who_is_sent_elsewhere_is_told_what_is_known_there),
        live_test(only_what_adds_asks_and_only_if_it_was_told_to),
        live_test(a_time_beyond_the_clients_own_is_refused),
        live_test(a_server_without_waitaof_is_refused),
        live_test(a_server_without_an_append_only_file_is_refused),
        live_test(what_the_disks_have_is_told),
        live_test(what_was_confirmed_survives_the_master),
    };
    return testing_run(tests, start_pair, stop_pair, argc, argv);
}
