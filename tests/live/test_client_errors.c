/* SPDX-License-Identifier: MIT
 *
 * What Redis may refuse, and servers that are not a Redis: which error each gives, and that it changed nothing. The
 * digest of all data is the same before and after.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "child.h"
#include "fake_server.h"
#include "redis/redis.h"
#include "scene.h"
#include "slow.h"

/* ---- a Redis that refuses ---- */

static struct muster_client *client_of(struct scene *s, const char *url, int timeout_ms)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

/* One task, a batch of one script and a batch of several are refused with `err`; the text names `word`. */
static void assert_refused(struct muster_client *c, int err, const char *word)
{
    struct muster_bytes tasks[3000];
    for (size_t i = 0; i < N_OF(tasks); i++)
        tasks[i] = (struct muster_bytes){"task", 4};
    const size_t sizes[] = {1, 10, N_OF(tasks)};
    const struct muster_enqueue_options front = {.size = sizeof front, .at_front = 1};
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), err);
    if (!strstr(muster_client_error(c), word))
        fail_msg("the error does not say %s: %s", word, muster_client_error(c));
    for (size_t i = 0; i < N_OF(sizes); i++) {
        assert_err(muster_task_enqueue_many(c, "q", tasks, sizes[i], NULL, NULL), err);
        assert_err(muster_task_enqueue_many(c, "q", tasks, sizes[i], &front, NULL), err);
    }
}

static void a_full_redis_is_E_FULL_and_nothing_is_changed(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char before[41], after[41];
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 0);
    assert_ok(muster_task_enqueue(c, "q", "first", 5, NULL));
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    redis_server_digest(&own, before);
    assert_refused(c, MUSTER_E_FULL, "");
    redis_server_digest(&own, after);
    assert_string_equal(before, after);
    raw_do(own.redis, "CONFIG SET maxmemory 0");
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    muster_client_free(c);
    redis_server_remove(&own);
}

static int no_damage(const struct muster_damage *damage, void *arg)
{
    (void)arg;
    fail_msg("%s: %s", damage->key, damage->what);
    return 0;
}

static void a_probe_writes_or_reads_and_a_check_finds_nothing(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 0);
    assert_ok(muster_client_probe(c, MUSTER_PROBE_READ));
    assert_int_equal(raw_int(own.redis, "DBSIZE"), 0);
    assert_ok(muster_client_probe(c, MUSTER_PROBE_WRITE));
    assert_int_equal(raw_int(own.redis, "DBSIZE"), 1);
    assert_ok(muster_client_check(c, 0, no_damage, NULL));
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    assert_ok(muster_client_probe(c, MUSTER_PROBE_READ));
    assert_err(muster_client_probe(c, MUSTER_PROBE_WRITE), MUSTER_E_FULL);
    assert_err(muster_client_probe(c, (enum muster_probe)9), MUSTER_E_INVALID);
    muster_client_free(c);
    redis_server_remove(&own);
}

static void a_server_tells_what_it_is_unless_the_user_may_not_ask(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char url[256];
    struct muster_server_info info = {.size = sizeof info};
    redis_server_start(&own, &(struct redis_server_options){.tcp = true});
    raw_do(own.redis, "ACL SETUSER blind on >secret-word ~* &* +@all -info");
    raw_do(own.redis, "CONFIG SET maxmemory 100mb");
    struct muster_client *c = client_of(s, own.url, 0);
    assert_ok(muster_client_server(c, &info));
    assert_true(*info.engine && strchr("0123456789", *info.version) && info.memory > 0 && info.clients >= 2);
    assert_int_equal(info.memory_max, 100 << 20);
    assert_int_equal(info.replicas, 0);
    muster_client_free(c);
    snprintf(url, sizeof url, "redis://blind:secret-word@127.0.0.1:%d", own.port);
    c = client_of(s, url, 0);
    assert_err(muster_client_server(c, &info), MUSTER_E_DENIED);
    assert_int_equal(info.memory, 0);
    muster_client_free(c);
    redis_server_remove(&own);
}

/* If the worker were not really idle, only its entry would be removed, which a full Redis allows. */
static void a_full_redis_is_E_FULL_although_a_worker_is_known_as_idle(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char before[41], after[41];
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 0);
    assert_ok(muster_task_enqueue(c, "q", "first", 5, NULL));
    raw_do(own.redis, "DEL %s:queues:q", s->prefix);
    raw_do(own.redis, "ZADD %s:idle:q 1 gone", s->prefix);
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    redis_server_digest(&own, before);
    assert_refused(c, MUSTER_E_FULL, "");
    redis_server_digest(&own, after);
    assert_string_equal(before, after);
    raw_do(own.redis, "CONFIG SET maxmemory 0");
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    assert_int_equal(raw_int(own.redis, "ZCARD %s:idle:q", s->prefix), 0);
    muster_client_free(c);
    redis_server_remove(&own);
}

static void a_fresh_namespace_on_a_full_redis_is_E_FULL(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    struct muster_client *c = client_of(s, own.url, 0);
    assert_refused(c, MUSTER_E_FULL, "");
    assert_int_equal(raw_int(own.redis, "DBSIZE"), 0);
    muster_client_free(c);
    redis_server_remove(&own);
}

static void a_replica_is_E_BUSY_and_nothing_is_changed(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char before[41], after[41], refusing[64];
    int fd = fake_server_refuse(refusing);
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 0);
    assert_ok(muster_task_enqueue(c, "q", "first", 5, NULL));
    raw_do(own.redis, "REPLICAOF 127.0.0.1 %s", strrchr(refusing, ':') + 1);
    redis_server_digest(&own, before);
    assert_refused(c, MUSTER_E_BUSY, "");
    redis_server_digest(&own, after);
    assert_string_equal(before, after);
    raw_do(own.redis, "REPLICAOF NO ONE");
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    muster_client_free(c);
    redis_server_remove(&own);
    close(fd);
}

static void assert_denied(struct scene *s, struct redis_server *own, const char *user, const char *password)
{
    char before[41], after[41], url[160];
    snprintf(url, sizeof url, "redis://%s:%s@127.0.0.1:%d", user, password, own->port);
    struct muster_client *c = client_of(s, url, 0);
    redis_server_digest(own, before);
    assert_refused(c, MUSTER_E_DENIED, "");
    redis_server_digest(own, after);
    assert_string_equal(before, after);
    assert_null(strstr(muster_client_error(c), password));
    muster_client_free(c);
}

static void a_user_without_permission_is_E_DENIED_and_nothing_is_changed(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, &(struct redis_server_options){.tcp = true});
    raw_do(own.redis, "ACL SETUSER reader on >secret-word ~* &* +@read +@connection");
    raw_do(own.redis, "ACL SETUSER stranger on >secret-word ~%s:other:* &* +@all", s->prefix);
    raw_do(own.redis, "SET other value");
    assert_denied(s, &own, "reader", "secret-word");
    assert_denied(s, &own, "stranger", "secret-word");
    assert_denied(s, &own, "reader", "wrong-word");
    redis_server_remove(&own);
}

static void a_key_of_the_wrong_type_is_E_REDIS_and_named(void **state)
{
    struct scene *s = *state;
    char before[41], after[41], key[64];
    scene_enqueue(s, "other", "x");
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_do(s->server->redis, "SET %s text", key);
    redis_server_digest(s->server, before);
    assert_refused(s->client, MUSTER_E_REDIS, key);
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
    scene_enqueue(s, "other", "x");
}

static void another_format_is_E_FORMAT_and_nothing_is_written(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    raw_do(s->server->redis, "SET %s:format 9", s->prefix);
    redis_server_digest(s->server, before);
    assert_refused(s->client, MUSTER_E_FORMAT, "use a release of muster that knows this format");
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

static void the_first_enqueue_sets_the_format(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "x");
    assert_int_equal(raw_int(s->server->redis, "GET %s:format", s->prefix), atoi(FORMAT_VERSION));
}

/* ---- not the Redis that was hoped for ---- */

static void servers_that_are_no_use(void **state)
{
    struct scene *s = *state;
    const struct {
        const char *answer;
        int err;
    } cases[] = {
        {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", MUSTER_E_REDIS},
        {"220 mail.example ESMTP\r\n", MUSTER_E_REDIS},
        {"*1\r\n:1\r\n", MUSTER_E_REDIS},
        {"*-7\r\n", MUSTER_E_REDIS},
        {"$99999999999999999999\r\n", MUSTER_E_REDIS},
        {"-LOADING Redis is loading the dataset in memory\r\n", MUSTER_E_BUSY},
        {"-BUSY Redis is busy running a script.\r\n", MUSTER_E_BUSY},
        {"-MISCONF Errors writing to the AOF file\r\n", MUSTER_E_BUSY},
        {"-READONLY You can't write against a read only replica.\r\n", MUSTER_E_BUSY},
        {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", MUSTER_E_FULL},
        {"-NOAUTH Authentication required.\r\n", MUSTER_E_DENIED},
        {"-NOPERM this user has no permissions\r\n", MUSTER_E_DENIED},
        {"-ERR unknown command\r\n", MUSTER_E_REDIS},
        {"-ERR max number of clients reached\r\n", MUSTER_E_BUSY},
        {"", MUSTER_E_CONN},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fake_server fake;
        fake_server_start(&fake, cases[i].answer);
        struct muster_client *c = client_of(s, fake.url, slow_ms(500));
        int err = muster_task_enqueue(c, "q", "x", 1, NULL);
        if (err != cases[i].err)
            fail_msg("\"%s\" is %s (%s), not %s", cases[i].answer, muster_err_name(err), muster_client_error(c),
                     muster_err_name(cases[i].err));
        assert_string_not_equal(muster_client_error(c), "");
        muster_client_free(c);
        fake_server_stop(&fake);
    }
}

/* The versions are told as Redis tells them; before 6.0 it does not know the question. */
#define HELLO_OF(version) "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n" version "\r\n"

static void an_older_redis_is_refused_in_words(void **state)
{
    struct scene *s = *state;
    const struct {
        const char *answer, *why;
    } cases[] = {
        {HELLO_OF("6.2.7"), "the server is of version 6.2.7: muster needs Redis 7.0 or later"},
        {"-ERR unknown command `HELLO`, with args beginning with: \r\n",
         "the server does not know HELLO: muster needs Redis 7.0 or later"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fake_server fake;
        fake_server_start(&fake, cases[i].answer);
        struct muster_client *c = client_of(s, fake.url, slow_ms(500));
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_REDIS);
        if (!strstr(muster_client_error(c), cases[i].why))
            fail_msg("it says: %s", muster_client_error(c));
        muster_client_free(c);
        fake_server_stop(&fake);
    }
}

/* What it says is shown to people: it must be one line, and leave their terminal alone. */
static void no_control_character_of_a_server_comes_through(void **state)
{
    struct scene *s = *state;
    const char *answers[] = {"-ERR \033[2J\033]0;title\a\r\n", "-MOVED 7 \033[31m:7\r\n", "-LOADING \tx\nx\x7f\r\n",
                             HELLO_OF("6.\0331c")};
    for (size_t i = 0; i < N_OF(answers); i++) {
        struct fake_server fake;
        fake_server_start(&fake, answers[i]);
        struct muster_client *c = client_of(s, fake.url, slow_ms(200));
        assert_int_not_equal(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_OK);
        assert_non_null(strchr(muster_client_error(c), '?'));
        for (const char *at = muster_client_error(c); *at; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        muster_client_free(c);
        fake_server_stop(&fake);
    }
}

/* Of the places of a cluster one tells what is wrong; that another one is not there comes last. */
static void the_most_telling_refusal_of_several_places_is_told(void **state)
{
    struct scene *s = *state;
    struct fake_server loading;
    char refusing[64], url[160];
    int fd = fake_server_refuse(refusing);
    fake_server_start(&loading, "-LOADING Redis is loading the dataset in memory\r\n");
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,%s", loading.port, refusing + strlen("redis://"));
    struct muster_client *c = client_of(s, url, 400);
    for (int i = 0; i < 5; i++) {
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_BUSY);
        assert_non_null(strstr(muster_client_error(c), "LOADING"));
    }
    muster_client_free(c);
    fake_server_stop(&loading);
    close(fd);
}

/* A sentinel that is away would lead to the same master: nobody tries on for the whole time of the call. */
static void a_master_that_refuses_the_login_is_told_at_once_although_a_sentinel_is_away(void **state)
{
    struct scene *s = *state;
    char away[64], url[160];
    int fd = fake_server_refuse(away);
    struct redis_server own;
    struct fake_server there;
    redis_server_start(&own, &(struct redis_server_options){.tcp = true});
    fake_server_sentinel(&there, own.port);
    raw_do(own.redis, "CONFIG SET requirepass secret");
    for (int i = 0; i < 2; i++) {
        int ports[] = {there.port, atoi(strrchr(away, ':') + 1)};
        snprintf(url, sizeof url, "redis+sentinel://:wrong@127.0.0.1:%d,127.0.0.1:%d/main", ports[i], ports[!i]);
        struct muster_client *c = client_of(s, url, SOON_MS / 2);
        raw_do(own.redis, "CONFIG RESETSTAT");
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_DENIED);
        redisReply *info = raw(own.redis, "INFO errorstats");
        assert_non_null(strstr(info->str, "errorstat_WRONGPASS:count=1\r\n"));
        freeReplyObject(info);
        muster_client_free(c);
    }
    fake_server_stop(&there);
    redis_server_remove(&own);
    close(fd);
}

static void nobody_there_is_E_CONN_at_once(void **state)
{
    struct scene *s = *state;
    char refusing[64], missing[96];
    int fd = fake_server_refuse(refusing);
    snprintf(missing, sizeof missing, "unix://%s/no-such.sock", s->server->dir);
    const char *urls[] = {refusing, missing};
    for (size_t i = 0; i < N_OF(urls); i++) {
        int64_t before = now_ms();
        struct muster_client *c = client_of(s, urls[i], 60000);
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_CONN);
        assert_string_not_equal(muster_client_error(c), "");
        muster_client_free(c);
        assert_in_range(now_ms() - before, 0, 5000);
    }
    close(fd);
}

/* Upper bounds with room for a busy machine: far from the default of 5 s each round trip. */
static void a_silent_server_is_E_TIMEOUT_within_the_timeout(void **state)
{
    struct scene *s = *state;
    struct fake_server fake;
    fake_server_start(&fake, NULL);
    struct muster_client *c = client_of(s, fake.url, 300);
    int64_t before = now_ms();
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_TIMEOUT);
    int64_t took = now_ms() - before;
    assert_in_range(took, 250, 2300);
    assert_string_not_equal(muster_client_error(c), "");
    muster_client_free(c);
    fake_server_stop(&fake);
}

static void a_redis_that_stands_still_is_E_TIMEOUT_and_the_next_call_connects_again(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 300);
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    redis_server_freeze(&own);
    int err = muster_task_enqueue(c, "q", "x", 1, NULL);
    redis_server_thaw(&own);
    assert_err(err, MUSTER_E_TIMEOUT);
    /* The late answer to the first call must not be taken for the answer to this one. */
    uint64_t waiting = 99;
    assert_ok(muster_queue_length(c, "nothing", &waiting));
    assert_int_equal(waiting, 0);
    muster_client_free(c);
    redis_server_remove(&own);
}

static void a_url_of_a_cluster_is_refused_by_one_server_in_words(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char url[64];
    redis_server_start(&own, &(struct redis_server_options){.tcp = true});
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", own.port);
    struct muster_client *c = client_of(s, url, 60000);
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_error(c), "this is no node of a cluster, as the URL says"));
    muster_client_free(c);
    redis_server_remove(&own);
}

/* As soon as it has refused something. */
static void *mend(void *arg)
{
    const struct redis_server *own = arg;
    redisContext *redis = redisConnectUnix(own->socket);
    bool has_refused = false;
    while (!has_refused) {
        redisReply *info = redisCommand(redis, "INFO errorstats");
        has_refused = !info || strstr(info->str, "MASTERDOWN");
        freeReplyObject(info);
        sched_yield();
    }
    freeReplyObject(redisCommand(redis, "REPLICAOF NO ONE"));
    redisFree(redis);
    return NULL;
}

/* After an upgrade the next call greets again, on the connection that there is. */
static void a_passing_refusal_of_the_look_at_the_format_is_tried_again(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    pthread_t thread;
    char refusing[64];
    int fd = fake_server_refuse(refusing);
    redis_server_start(&own, NULL);
    struct muster_client *c = client_of(s, own.url, 20000);
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    assert_ok(muster_client_upgrade(c, NULL));
    raw_do(own.redis, "CONFIG SET replica-serve-stale-data no");
    raw_do(own.redis, "REPLICAOF 127.0.0.1 %s", strrchr(refusing, ':') + 1);
    assert_int_equal(pthread_create(&thread, NULL, mend, &own), 0);
    int err = muster_task_enqueue(c, "q", "x", 1, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (err != MUSTER_OK)
        fail_msg("%s: %s", muster_err_name(err), muster_client_error(c));
    muster_client_free(c);
    redis_server_remove(&own);
    close(fd);
}

/* Else parent and child would hear each other's answers. */
static void in_a_child_of_fork_a_client_is_E_STATE_and_the_parent_goes_on(void **state)
{
    struct scene *s = *state;
    assert_ok(muster_task_enqueue(s->client, "q", "x", 1, NULL));
    assert_ok(muster_client_interrupt(s->client));
    pid_t pid = child_fork();
    if (pid == 0) {
        bool is_refused = muster_task_enqueue(s->client, "q", "child", 5, NULL) == MUSTER_E_STATE &&
                          strstr(muster_client_error(s->client), "the parent's");
        muster_client_free(s->client);
        _exit(is_refused ? 0 : 1);
    }
    assert_int_equal(child_reap(pid, SOON_MS), 0);
    assert_int_equal(muster_client_interrupt_take_back(s->client), 1);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static struct redis *connection(struct scene *s)
{
    struct url url;
    const char *why;
    struct redis *r;
    assert_ok(url_parse(&url, s->server->url, &why));
    assert_ok(redis_new(&r, &(struct redis_options){.url = &url,
                                                    .timeout_ms = SOON_MS,
                                                    .prefix = "other",
                                                    .root_key = "other:",
                                                    .format_key = "other:format"}));
    url_clear(&url);
    return r;
}

static int count(struct redis *r, int (*call)(struct redis *r, struct command *c))
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"INCR", "count", NULL});
    int err = call(r, &c);
    command_clear(&c);
    return err;
}

static int call_and_forget(struct redis *r, struct command *c)
{
    struct redisReply *reply;
    int err = redis_call(r, c, &reply);
    redis_reply_free(reply);
    return err;
}

/* Another thread may fork while a call is under way. */
static void what_the_parent_was_saying_a_child_of_fork_does_not_say_again(void **state)
{
    struct scene *s = *state;
    struct redis *r = connection(s);
    struct redisReply *reply;
    assert_ok(count(r, redis_append));
    pid_t pid = child_fork();
    if (pid == 0)
        _exit(count(r, call_and_forget) == MUSTER_E_STATE ? 0 : 1);
    assert_int_equal(child_reap(pid, SOON_MS), 0);
    assert_ok(redis_read(r, &reply));
    assert_int_equal(reply_integer(reply), 1);
    redis_reply_free(reply);
    redis_free(r);
}

static int fork_when_ready(void *arg)
{
    pid_t *pid = arg;
    *pid = child_fork();
    return *pid != 0;
}

static int hear_nothing(const struct muster_queue_event *event, void *arg)
{
    (void)event, (void)arg;
    return 0;
}

static void a_child_of_fork_listens_no_further(void **state)
{
    struct scene *s = *state;
    pid_t pid = -1;
    int err = muster_queue_listen(s->client, "q", 1000, fork_when_ready, hear_nothing, &pid);
    if (pid == 0)
        _exit(err == MUSTER_E_STATE ? 0 : 1);
    assert_ok(err);
    assert_int_equal(child_reap(pid, SOON_MS), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_full_redis_is_E_FULL_and_nothing_is_changed),
        live_test(a_probe_writes_or_reads_and_a_check_finds_nothing),
        live_test(a_server_tells_what_it_is_unless_the_user_may_not_ask),
        live_test(a_full_redis_is_E_FULL_although_a_worker_is_known_as_idle),
        live_test(a_fresh_namespace_on_a_full_redis_is_E_FULL),
        live_test(a_replica_is_E_BUSY_and_nothing_is_changed),
        live_test(a_user_without_permission_is_E_DENIED_and_nothing_is_changed),
        live_test(a_key_of_the_wrong_type_is_E_REDIS_and_named),
        live_test(another_format_is_E_FORMAT_and_nothing_is_written),
        live_test(the_first_enqueue_sets_the_format),
        live_test(servers_that_are_no_use),
        live_test(an_older_redis_is_refused_in_words),
        live_test(no_control_character_of_a_server_comes_through),
        live_test(the_most_telling_refusal_of_several_places_is_told),
        live_test(a_master_that_refuses_the_login_is_told_at_once_although_a_sentinel_is_away),
        live_test(a_url_of_a_cluster_is_refused_by_one_server_in_words),
        live_test(a_passing_refusal_of_the_look_at_the_format_is_tried_again),
        live_test(nobody_there_is_E_CONN_at_once),
        live_test(a_silent_server_is_E_TIMEOUT_within_the_timeout),
        live_test(in_a_child_of_fork_a_client_is_E_STATE_and_the_parent_goes_on),
        live_test(what_the_parent_was_saying_a_child_of_fork_does_not_say_again),
        live_test(a_child_of_fork_listens_no_further),
        live_test(a_redis_that_stands_still_is_E_TIMEOUT_and_the_next_call_connects_again),
    };
    return scene_run(tests, argc, argv);
}
