/* SPDX-License-Identifier: MIT
 *
 * Connecting by a name, with a name service of the test's own: its getaddrinfo() stands before that of the C library,
 * and answers, fails or hangs as the test says. All kinds of connection look a name up in the same way: each time anew,
 * never for longer than their callers wait; what one address refuses, the next one may do.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "answers.h"
#include "hearing.h"
#include "live_worker.h"

#define NAME "redis.test"
#define SHORT_MS 300
#define A_MINUTE 60000
#define ADDRESSES_MAX 4

/* ---- the name service ---- */

enum family { BOTH, V4, V6, FAMILIES };
enum mode { ANSWERS, ANSWERS_ONCE, FAILS, HANGS };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum mode modes[FAMILIES];
    const char *addresses[ADDRESSES_MAX];
    int asked[FAMILIES], inside;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* In one piece, as freeaddrinfo() wants it. */
static struct addrinfo *make_addrinfo(const char *address)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in v4;
    } *made = calloc(1, sizeof *made);
    made->v4.sin_family = AF_INET;
    (void)inet_pton(AF_INET, address, &made->v4.sin_addr);
    made->info = (struct addrinfo){.ai_family = AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_addrlen = sizeof made->v4,
                                   .ai_addr = (struct sockaddr *)&made->v4};
    return &made->info;
}

static int answer(enum family family, struct addrinfo **list)
{
    int failure = EAI_NONAME;
    pthread_mutex_lock(&service.lock);
    service.asked[family]++;
    service.inside++;
    while (service.modes[family] == HANGS)
        pthread_cond_wait(&service.changed, &service.lock);
    if (service.modes[family] <= ANSWERS_ONCE && family != V6)
        for (int i = 0; i < ADDRESSES_MAX && service.addresses[i]; i++, failure = 0) {
            *list = make_addrinfo(service.addresses[i]);
            list = &(*list)->ai_next;
        }
    if (service.modes[family] == ANSWERS_ONCE)
        service.modes[family] = HANGS;
    service.inside--;
    pthread_mutex_unlock(&service.lock);
    return failure;
}

int getaddrinfo(const char *restrict node, const char *restrict port, const struct addrinfo *restrict hints,
                struct addrinfo **restrict list)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (node && strcmp(node, NAME) == 0)
        return answer(hints->ai_family == AF_INET ? V4 : hints->ai_family == AF_INET6 ? V6 : BOTH, list);
    *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    return next(node, port, hints, list);
}

/* From now on, and for those who wait. */
static void serve(enum mode both, enum mode v4, const char *first, const char *second)
{
    pthread_mutex_lock(&service.lock);
    service.modes[BOTH] = both;
    service.modes[V4] = v4;
    service.modes[V6] = both == HANGS ? HANGS : FAILS;
    service.addresses[0] = first;
    service.addresses[1] = second;
    memset(service.asked, 0, sizeof service.asked);
    pthread_cond_broadcast(&service.changed);
    pthread_mutex_unlock(&service.lock);
}

static int asked(enum family family)
{
    pthread_mutex_lock(&service.lock);
    int n = service.asked[family];
    pthread_mutex_unlock(&service.lock);
    return n;
}

static bool is_asked(void *arg)
{
    return asked(BOTH) >= *(int *)arg;
}

static void await_asked(int n)
{
    wait_until(is_asked, &n, SOON_MS);
}

/* ---- two servers on one port: the master, and another one before it ---- */

#define MASTER "127.0.0.2"
#define OTHER "127.0.0.1"
#define NOBODY "127.0.0.9"

static struct redis_server master, other;
static char url[64];

static int start_pair(void **state)
{
    redis_server_start(&other, &(struct redis_server_options){.tcp = true});
    redis_server_start(&master, NULL);
    raw_do(master.redis, "CONFIG SET bind " MASTER);
    raw_do(master.redis, "CONFIG SET port %d", other.port);
    snprintf(url, sizeof url, "redis://" NAME ":%d", other.port);
    return scene_start(state);
}

static int stop_pair(void **state)
{
    redis_server_remove(&other);
    redis_server_remove(&master);
    return scene_stop(state);
}

static struct muster_client *client_of(struct scene *s, int timeout_ms)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

static void enqueue(struct muster_client *c, const char *queue)
{
    int err = muster_task_enqueue(c, queue, "t", 1, NULL);
    if (err)
        fail_msg("%s: %s", muster_err_name(err), muster_client_error(c));
}

/* Everybody who connects by the name comes to the master. `meanwhile`, once they try. */
static void assert_all_connect(struct scene *s, const char *id, void (*meanwhile)(void))
{
    struct answers as;
    struct hearing h;
    scene_move(s, &master);
    answers_open(&as, s, url, A_MINUTE, NULL);
    answers_enqueue(&as, id, "t", NULL);
    hearing_open(&h, s, url, A_MINUTE, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.id = id, .url = url, .ttl_ms = 1500, .queues = {{"q", 0}}});
    if (meanwhile)
        meanwhile();
    scene_await_idle(s, "q", id);
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_OK);
    hearing_await(&h, "ready q", 1);
    struct muster_client *c = client_of(s, A_MINUTE);
    enqueue(c, id);
    muster_client_free(c);
    hearing_close(&h);
    answers_close(&as);
    live_worker_stop(s, w, 0);
    assert_true(raw_int(master.redis, "LLEN %s:queues:%s", s->prefix, id) == 2);
}

/* ---- */

/* As behind a name server, or a firewall, that drops the questions for one family. */
static void an_address_is_used_although_the_other_family_has_no_answer(void **state)
{
    serve(HANGS, ANSWERS, MASTER, NULL);
    assert_all_connect(*state, "w1", NULL);
    serve(ANSWERS, ANSWERS, MASTER, NULL);
}

static void lead_to_the_master(void)
{
    await_asked(6);
    serve(ANSWERS, ANSWERS, MASTER, NULL);
}

static void a_name_that_leads_elsewhere_by_now_is_looked_up_again(void **state)
{
    serve(ANSWERS, ANSWERS, NOBODY, NULL);
    assert_all_connect(*state, "w2", lead_to_the_master);
    serve(FAILS, FAILS, NULL, NULL);
    assert_all_connect(*state, "w3", lead_to_the_master);
}

static void of_several_addresses_the_one_of_the_master_is_found(void **state)
{
    raw_do(other.redis, "REPLICAOF " MASTER " %d", other.port);
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    assert_all_connect(*state, "w4", NULL);
    raw_do(other.redis, "REPLICAOF NO ONE");
}

static bool reads_what_is_there(void *client)
{
    uint64_t waiting;
    assert_ok(muster_queue_length(client, "r", &waiting));
    return waiting == 7;
}

/* He is refused nothing there, so he has to see it by himself. */
static void of_several_addresses_a_reader_leaves_that_of_a_demoted_master(void **state)
{
    struct scene *s = *state;
    scene_move(s, &master);
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    struct muster_client *c = client_of(s, A_MINUTE);
    assert_false(reads_what_is_there(c));
    raw_do(other.redis, "REPLICAOF " NOBODY " %d", other.port); /* it has nothing of the master's */
    scene_enqueue_n(s, "r", "t", 7);
    wait_on(s->base, reads_what_is_there, c, SOON_MS);
    muster_client_free(c);
    raw_do(other.redis, "REPLICAOF NO ONE");
}

static int cancel_one(void *scene)
{
    struct scene *s = scene;
    uint64_t removed, running;
    assert_ok(muster_task_cancel(s->client, "l", "t", 1, &removed, &running));
    return 0;
}

static int stop_at_once(const struct muster_queue_event *event, void *scene)
{
    (void)scene;
    assert_string_equal(event->queue, "l");
    return 1;
}

/* Its second connection is made by the name, too, and nobody refuses it there. What is published never comes to the replica. */
static void of_several_addresses_a_call_that_listens_finds_that_of_the_master(void **state)
{
    struct scene *s = *state;
    scene_move(s, &master);
    raw_do(other.redis, "REPLICAOF " NOBODY " %d", other.port);
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    struct muster_client *c = client_of(s, A_MINUTE);
    scene_enqueue(s, "l", "t");
    enqueue(c, "of the master");
    assert_ok(muster_queue_listen(c, "l", A_MINUTE, cancel_one, stop_at_once, s));
    muster_client_free(c);
    serve(ANSWERS, ANSWERS, MASTER, OTHER);
    c = client_of(s, A_MINUTE);
    scene_enqueue(s, "l", "t");
    enqueue(c, "of the master");
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    assert_ok(muster_queue_listen(c, "l", A_MINUTE, cancel_one, stop_at_once, s));
    muster_client_free(c);
    raw_do(other.redis, "REPLICAOF NO ONE");
}

/* With its link to the new master down it may refuse whatever it is asked, also what only reads, in words of its own. */
static void of_several_addresses_that_of_a_demoted_master_is_left_that_serves_nothing(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct hearing h;
    scene_move(s, &other);
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    answers_open(&as, s, url, A_MINUTE, NULL);
    answers_enqueue(&as, "d", "t", NULL);
    answers_await(&as, 1);
    hearing_open(&h, s, url, A_MINUTE, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w8", .url = url, .ttl_ms = 1500, .queues = {{"q", 0}}});
    raw_do(other.redis, "CONFIG SET replica-serve-stale-data no");
    raw_do(other.redis, "REPLICAOF " NOBODY " %d", other.port);
    scene_move(s, &master);
    scene_await_idle(s, "q", "w8");
    hearing_await(&h, "ready q", 2);
    answers_enqueue(&as, "d", "t", NULL);
    answers_await(&as, 2);
    assert_err(as.last.err, MUSTER_OK);
    assert_true(raw_int(master.redis, "LLEN %s:queues:d", s->prefix) == 1);
    answers_close(&as);
    hearing_close(&h);
    live_worker_stop(s, w, 0);
    raw_do(other.redis, "REPLICAOF NO ONE");
    raw_do(other.redis, "CONFIG SET replica-serve-stale-data yes");
}

static void of_several_addresses_the_one_that_refuses_the_login_is_left(void **state)
{
    raw_do(other.redis, "CONFIG SET requirepass secret");
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    assert_all_connect(*state, "w5", NULL);
    raw_do(other.redis, "CONFIG SET requirepass %s", "");
}

/* It takes connections, and says nothing. */
static void of_several_addresses_the_one_of_a_server_that_hangs_is_left_in_the_time_of_the_call(void **state)
{
    struct scene *s = *state;
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    redis_server_freeze(&other);
    struct muster_client *c = client_of(s, 4000);
    enqueue(c, "q");
    muster_client_free(c);
    struct answers as;
    answers_open(&as, s, url, 4000, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_OK);
    answers_close(&as);
    redis_server_thaw(&other);
}

/* What the first address refuses, the second one may accept, although it takes long to learn that there is one. */
static void a_refusal_at_one_address_is_not_the_end_while_the_name_is_looked_up_again(void **state)
{
    struct scene *s = *state;
    struct answers as;
    scene_move(s, &master);
    raw_do(other.redis, "CONFIG SET requirepass secret");
    serve(ANSWERS_ONCE, HANGS, OTHER, MASTER);
    answers_open(&as, s, url, A_MINUTE, NULL);
    await_asked(2);
    answers_enqueue(&as, "e", "t", NULL);
    serve(ANSWERS, ANSWERS, OTHER, MASTER);
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_OK);
    answers_close(&as);
    raw_do(other.redis, "CONFIG SET requirepass %s", "");
}

static void *thaw_soon(void *server)
{
    await_asked(2);
    redis_server_thaw(server);
    return NULL;
}

/* Which has only a share of the time at first. */
static void of_several_addresses_a_server_that_is_slow_has_the_time_that_nobody_needs_at_another_one(void **state)
{
    struct scene *s = *state;
    pthread_t thread;
    scene_move(s, &master);
    serve(ANSWERS, ANSWERS, OTHER, NOBODY);
    struct muster_client *c = client_of(s, 6000);
    redis_server_freeze(&other);
    pthread_create(&thread, NULL, thaw_soon, &other);
    enqueue(c, "q");
    pthread_join(thread, NULL);
    muster_client_free(c);
}

static bool has_stopped(void *w)
{
    return ((struct live_worker *)w)->has_stopped;
}

static void assert_all_are_denied(struct scene *s, const char *id)
{
    struct answers as;
    struct hearing h;
    answers_open(&as, s, url, A_MINUTE, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_E_DENIED);
    answers_close(&as);
    hearing_open(&h, s, url, A_MINUTE, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "gap q E_DENIED", 1);
    hearing_close(&h);
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.id = id, .url = url, .ttl_ms = 1500, .queues = {{"q", 0}}});
    wait_on(s->base, has_stopped, w, SOON_MS);
    assert_err(w->stop_err, MUSTER_E_DENIED);
    live_worker_free(s, w);
    struct muster_client *c = client_of(s, A_MINUTE);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_DENIED);
    muster_client_free(c);
}

/* As of a name that has an address of each family, where the server listens on one of them. */
static void a_refused_login_is_the_end_although_nobody_is_at_another_address(void **state)
{
    raw_do(other.redis, "CONFIG SET requirepass secret");
    serve(ANSWERS, ANSWERS, OTHER, NOBODY);
    assert_all_are_denied(*state, "w6");
    serve(ANSWERS, ANSWERS, NOBODY, OTHER);
    assert_all_are_denied(*state, "w7");
    raw_do(other.redis, "CONFIG SET requirepass %s", "");
}

static void a_refusal_by_all_addresses_is_told_at_once(void **state)
{
    struct scene *s = *state;
    serve(ANSWERS, ANSWERS, NOBODY, "127.0.0.8");
    struct muster_client *c = client_of(s, A_MINUTE);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_CONN);
    assert_non_null(strstr(muster_client_error(c), "Connection refused"));
    muster_client_free(c);
}

static bool is_master_busy(void *arg)
{
    redisReply *reply = redisCommand(arg, "PING");
    bool is_busy = reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return is_busy;
}

/* The master refuses for a reason that passes, and nobody is at the other address. */
static void what_passes_at_one_address_is_waited_for_although_nobody_is_at_another_one(void **state)
{
    struct scene *s = *state;
    redisContext *busy = redisConnect(MASTER, other.port);
    raw_do(master.redis, "CONFIG SET busy-reply-threshold 1");
    for (int i = 0; i < 2; i++) {
        redisAppendCommand(busy, "EVAL %s 0", "while true do end");
        int done = 0;
        while (!done)
            assert_int_equal(redisBufferWrite(busy, &done), REDIS_OK);
        wait_until(is_master_busy, master.redis, SOON_MS);
        serve(ANSWERS, ANSWERS, i ? NOBODY : MASTER, i ? MASTER : NOBODY);
        struct muster_client *c = client_of(s, 2000);
        assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_BUSY);
        assert_true(asked(BOTH) > 1);
        raw_do(master.redis, "SCRIPT KILL");
        redisReply *killed;
        assert_int_equal(redisGetReply(busy, (void **)&killed), REDIS_OK);
        freeReplyObject(killed);
        enqueue(c, "q");
        muster_client_free(c);
    }
    redisFree(busy);
}

static void *interrupt_soon(void *client)
{
    await_asked(1);
    muster_client_interrupt(client);
    return NULL;
}

/* What it comes to later, the next call uses. */
static void a_lookup_without_an_answer_ends_in_the_time_of_its_caller(void **state)
{
    struct scene *s = *state;
    pthread_t thread;
    serve(HANGS, HANGS, MASTER, NULL);
    struct muster_client *c = client_of(s, SHORT_MS);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_TIMEOUT);
    assert_non_null(strstr(muster_client_error(c), NAME ": the name lookup has had no answer within 300 ms"));
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_TIMEOUT);
    assert_int_equal(asked(BOTH), 1);
    serve(ANSWERS, ANSWERS, MASTER, NULL);
    while (muster_task_enqueue(c, "q", "t", 1, NULL) != MUSTER_OK)
        assert_non_null(strstr(muster_client_error(c), "name lookup")); /* on a slow machine */
    assert_int_equal(asked(BOTH), 0);
    muster_client_free(c);

    serve(HANGS, HANGS, MASTER, NULL);
    c = client_of(s, A_MINUTE);
    pthread_create(&thread, NULL, interrupt_soon, c);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_INTERRUPTED);
    pthread_join(thread, NULL);
    muster_client_free(c);

    struct answers as;
    answers_open(&as, s, url, SHORT_MS, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_E_TIMEOUT);
    assert_non_null(strstr(as.last.text, "the name lookup has "));
    answers_close(&as);
    serve(ANSWERS, ANSWERS, MASTER, NULL);
}

/* ---- */

static size_t n_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool are_descriptors_back(void *arg)
{
    return n_descriptors() <= *(size_t *)arg;
}

static void make_and_free_all(struct scene *s, int asked_by_now)
{
    struct answers as;
    struct hearing h;
    struct muster_client *c = client_of(s, 1);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_TIMEOUT);
    answers_open(&as, s, url, A_MINUTE, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    hearing_open(&h, s, url, A_MINUTE, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w", .url = url, .queues = {{"q", 0}}});
    await_asked(asked_by_now + 6);
    muster_client_free(c);
    answers_close(&as);
    hearing_close(&h);
    live_worker_free(s, w);
}

static void whoever_is_freed_while_its_name_is_looked_up_leaves_nothing(void **state)
{
    struct scene *s = *state;
    serve(ANSWERS, ANSWERS, MASTER, NULL);
    enqueue(s->client, "q");
    size_t before = n_descriptors();
    serve(HANGS, HANGS, MASTER, NULL);
    for (int i = 0; i < 5; i++)
        make_and_free_all(s, 6 * i);
    serve(ANSWERS, ANSWERS, MASTER, NULL);
    wait_until(are_descriptors_back, &before, SOON_MS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_address_is_used_although_the_other_family_has_no_answer),
        live_test(a_name_that_leads_elsewhere_by_now_is_looked_up_again),
        live_test(of_several_addresses_the_one_of_the_master_is_found),
        live_test(of_several_addresses_a_reader_leaves_that_of_a_demoted_master),
        live_test(of_several_addresses_a_call_that_listens_finds_that_of_the_master),
        live_test(of_several_addresses_that_of_a_demoted_master_is_left_that_serves_nothing),
        live_test(of_several_addresses_the_one_that_refuses_the_login_is_left),
        live_test(of_several_addresses_the_one_of_a_server_that_hangs_is_left_in_the_time_of_the_call),
        live_test(of_several_addresses_a_server_that_is_slow_has_the_time_that_nobody_needs_at_another_one),
        live_test(a_refusal_at_one_address_is_not_the_end_while_the_name_is_looked_up_again),
        live_test(a_refused_login_is_the_end_although_nobody_is_at_another_address),
        live_test(a_refusal_by_all_addresses_is_told_at_once),
        live_test(what_passes_at_one_address_is_waited_for_although_nobody_is_at_another_one),
        live_test(a_lookup_without_an_answer_ends_in_the_time_of_its_caller),
        live_test(whoever_is_freed_while_its_name_is_looked_up_leaves_nothing),
    };
    return testing_run(tests, start_pair, stop_pair, argc, argv);
}
