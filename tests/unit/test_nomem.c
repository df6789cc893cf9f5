/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out: each call is made again and again, and each time one allocation further on fails, until it gets
 * through. In between it must say so, leave nothing allocated, and leave what it was made on as it was.
 *
 * The linker puts the functions below in place of malloc() and its family, in the library too; libevent is told to use
 * them. Of hiredis' reader the functions fail in which it allocates, as they would themselves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <muster/client.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/link.h"
#include "redis/redis.h"
#include "redis/wire.h"
#include "testing.h"
#include "worker/worker.h"

#define LONG_URL "redis://user:password@[::1]:7000/3"
#define SENTINELS_URL "redis+sentinel://user:password@a,b/mymaster?sentinel_user=u&sentinel_password=p"
#define UNIX_URL "unix://user:password@/a%20path"
#define NEVER (-1)
#define ARGUMENTS 200 /* beyond the first arrays and the first block of numbers */
#define PROCESSES 200 /* beyond the first table */

static struct {
    long until_failure; /* allocations that go well before one fails */
    bool stays;         /* all after it fail as well */
    bool has_failed;
    bool is_spared; /* what a test needs before the call that it is about */
    long live;      /* allocations to be freed */
} memory = {.until_failure = NEVER};

static bool fails(void)
{
    if (memory.is_spared || (memory.has_failed && !memory.stays))
        return false;
    if (!memory.has_failed && (memory.until_failure == NEVER || memory.until_failure-- > 0))
        return false;
    memory.has_failed = true;
    errno = ENOMEM;
    return true;
}

/* ---- in place of the allocator ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

static void *counted(void *p)
{
    memory.live += p != NULL;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    void *p = fails() ? NULL : __real_realloc(old, size);
    return old ? p : counted(p);
}

void __wrap_free(void *p)
{
    memory.live -= p != NULL;
    __real_free(p);
}

char *__wrap_strndup(const char *text, size_t len)
{
    size_t kept = strnlen(text, len);
    char *copy = __wrap_malloc(kept + 1);
    if (!copy)
        return NULL;
    copy[kept] = '\0';
    return memcpy(copy, text, kept);
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

/* ---- hiredis' reader ---- */

redisReader *__real_redisReaderCreate(void);
int __real_redisReaderFeed(redisReader *r, const char *data, size_t len);
redisReader *__wrap_redisReaderCreate(void);
int __wrap_redisReaderFeed(redisReader *r, const char *data, size_t len);

static redisReplyObjectFunctions *plain, failing;

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    return fails() ? NULL : plain->createString(task, text, len);
}

#if HIREDIS_MAJOR >= 1
typedef size_t list_len;
#else
typedef int list_len;
#endif

static void *make_array(const redisReadTask *task, list_len n)
{
    return fails() ? NULL : plain->createArray(task, n);
}

redisReader *__wrap_redisReaderCreate(void)
{
    redisReader *r = fails() ? NULL : __real_redisReaderCreate();
    if (!r)
        return NULL;
    plain = r->fn;
    failing = *plain;
    failing.createString = make_string;
    failing.createArray = make_array;
    r->fn = &failing;
    return r;
}

int __wrap_redisReaderFeed(redisReader *r, const char *data, size_t len)
{
    if (!fails())
        return __real_redisReaderFeed(r, data, len);
    r->err = REDIS_ERR_OOM;
    return REDIS_ERR;
}

/* ---- the sweep ---- */

static void say_nothing(int severity, const char *text)
{
    (void)severity, (void)text;
}

static int take_over(void **state)
{
    (void)state;
    event_set_mem_functions(__wrap_malloc, __wrap_realloc, __wrap_free);
    event_set_log_callback(say_nothing); /* it would warn of what is meant to fail */
    return 0;
}

static int restore(void **state)
{
    (void)state;
    memory.until_failure = NEVER;
    memory.stays = memory.has_failed = memory.is_spared = false;
    return 0;
}

/* Makes the call once, undoes it, and returns what it answered. */
typedef int attempt_fn(void);

/*
 *   attempt   the call
 *   can_do_without
 *             it gets through without some of its allocations
 */
struct sweep {
    attempt_fn *attempt;
    bool can_do_without;
};

/* True as long as there was an allocation to fail. */
static bool fail_at(const struct sweep *s, long n)
{
    long before = memory.live;
    memory.until_failure = n;
    int err = s->attempt();
    bool has_failed = memory.has_failed;
    memory.until_failure = NEVER;
    memory.has_failed = false;
    if (memory.live != before)
        fail_msg("allocation %ld: %ld were not freed", n, memory.live - before);
    if (!has_failed)
        assert_ok(err);
    else if (err != MUSTER_E_NOMEM && (err || !s->can_do_without))
        fail_msg("allocation %ld failed: %s", n, muster_err_name(err));
    return has_failed;
}

/* Once with one failure, once with all from there on. There must have been `least` allocations, or nothing was seen. */
static void survive(const struct sweep *s, long least)
{
    assert_ok(s->attempt()); /* what is made once and kept is made now */
    for (int stays = 0; stays <= 1; stays++) {
        long n = 0;
        memory.stays = stays;
        while (fail_at(s, n))
            n++;
        assert_true(n >= least);
    }
}
#define assert_survives(least, ...) survive(&(struct sweep){__VA_ARGS__}, least)

/* ---- URLs ---- */

static int parse(const char *text)
{
    struct url url = {0};
    const char *why = NULL;
    int err = url_parse(&url, text, &why);
    assert_int_equal(err == MUSTER_OK, why == NULL);
    assert_int_equal(err == MUSTER_OK, url.user && url.password && (url.nodes || url.path));
    url_clear(&url);
    return err;
}

static int parse_long_url(void)
{
    return parse(LONG_URL);
}

static int parse_unix_url(void)
{
    return parse(UNIX_URL);
}

static int parse_sentinels_url(void)
{
    return parse(SENTINELS_URL);
}

static int check_url(void)
{
    return muster_url_check(LONG_URL) ? MUSTER_E_NOMEM : MUSTER_OK;
}

static int copy_url(void)
{
    struct url_node nodes[] = {{.host = (char[]){"h"}}, {.host = (char[]){"i"}}};
    struct url url = {.nodes = nodes, .n_nodes = 2, .user = (char[]){"u"}, .tls.ca = (char[]){"c"}}, copy = {0};
    int err = url_copy(&copy, &url);
    assert_int_equal(err == MUSTER_OK, copy.n_nodes == 2 && copy.nodes[1].host && copy.user && copy.tls.ca);
    url_clear(&copy);
    return err;
}

static void urls(void **state)
{
    (void)state;
    assert_survives(3, .attempt = parse_long_url);
    assert_survives(3, .attempt = parse_unix_url);
    assert_survives(8, .attempt = parse_sentinels_url);
    assert_survives(3, .attempt = check_url);
    assert_survives(5, .attempt = copy_url);
}

/* ---- commands ---- */

static int build_command(void)
{
    struct command c = COMMAND_EMPTY;
    for (int i = 0; i < ARGUMENTS; i++) {
        command_text(&c, "text");
        command_number(&c, i);
    }
    int err = c.failed ? MUSTER_E_NOMEM : MUSTER_OK;
    if (!err)
        assert_int_equal(c.n, 2 * ARGUMENTS);
    command_clear(&c);
    return err;
}

static void commands(void **state)
{
    (void)state;
    assert_survives(10, .attempt = build_command);
}

/* ---- clients ---- */

static int make_client(void)
{
    const struct muster_client_options o = {.size = sizeof o, .url = LONG_URL, .prefix = "p"};
    struct muster_client *c = (struct muster_client *)&o;
    int err = muster_client_new(&c, &o);
    assert_int_equal(err == MUSTER_OK, c != NULL);
    muster_client_free(c);
    return err;
}

static void clients(void **state)
{
    (void)state;
    assert_survives(8, .attempt = make_client);
}

/* ---- workers ---- */

static int make_worker(struct event_base *base)
{
    const struct muster_worker_options o = {.size = sizeof o, .url = LONG_URL, .base = base};
    struct muster_worker *w = (struct muster_worker *)&o;
    int err = muster_worker_new(&w, &o);
    assert_int_equal(err == MUSTER_OK, w != NULL);
    muster_worker_free(w);
    return err;
}

static int make_worker_with_a_loop(void)
{
    return make_worker(NULL);
}

static int make_worker_on_a_loop(void)
{
    memory.is_spared = true;
    struct event_base *base = event_base_new();
    memory.is_spared = false;
    int err = make_worker(base);
    event_base_free(base);
    return err;
}

/* libevent has other ways to wait than the first one that it tries. */
static void workers(void **state)
{
    (void)state;
    assert_survives(30, .attempt = make_worker_with_a_loop, .can_do_without = true);
    assert_survives(20, .attempt = make_worker_on_a_loop);
}

static struct sockaddr_in listening;

/* Contexts are the worker's only if it was made: otherwise the caller can go on with them. */
static int make_worker_of_contexts(void)
{
    redisAsyncContext *data = redisAsyncConnect("127.0.0.1", ntohs(listening.sin_port));
    redisAsyncContext *subscription = redisAsyncConnect("127.0.0.1", ntohs(listening.sin_port));
    struct muster_worker *w;
    const struct muster_worker_options o = {.size = sizeof o, .data = data, .subscription = subscription};
    int err = muster_worker_new(&w, &o);
    if (err != MUSTER_OK) {
        assert_true(!link_refusal(data) && !link_refusal(subscription));
        redisAsyncFree(data);
        redisAsyncFree(subscription);
    }
    muster_worker_free(w);
    return err;
}

static void workers_of_contexts(void **state)
{
    socklen_t len = sizeof listening;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    listening = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_return_code(bind(fd, (struct sockaddr *)&listening, len), 0);
    assert_return_code(getsockname(fd, (struct sockaddr *)&listening, &len), 0);
    assert_return_code(listen(fd, 1), 0);
    assert_survives(20, .attempt = make_worker_of_contexts, .can_do_without = true);
    close(fd);
}

/* ---- serving, and processes ---- */

static enum muster_outcome finish(struct muster_process *p, void *arg)
{
    (void)p, (void)arg;
    return MUSTER_FINISH;
}

/* A worker in the state in which it can serve, that was never started; serves "first". Spared, up to the return. */
static struct muster_worker *ready_worker(void)
{
    struct muster_worker *w;
    memory.is_spared = true;
    assert_ok(muster_worker_new(&w, NULL));
    w->state = WORKER_WORKING;
    assert_ok(muster_worker_serve(w, "first", 0, finish, NULL));
    memory.is_spared = false;
    return w;
}

static int free_served(struct muster_worker *w, int err)
{
    assert_int_equal(w->n_served, err == MUSTER_OK ? 2 : 1);
    muster_worker_free(w);
    return err;
}

static int serve(void)
{
    struct muster_worker *w = ready_worker();
    return free_served(w, muster_worker_serve(w, "q", 0, finish, NULL));
}

static int serve_command(void)
{
    const char *const argv[] = {"/bin/sh", "-c", "{}", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv, .replace = "{}"};
    struct muster_worker *w = ready_worker();
    return free_served(w, muster_worker_serve_command(w, "q", &command));
}

static void serving(void **state)
{
    (void)state;
    assert_survives(2, .attempt = serve);
    assert_survives(8, .attempt = serve_command);
}

static int add_process(struct muster_worker *w, uint64_t token)
{
    struct muster_process *p = process_add(w, w->served[0], token, PROCESS_TASK);
    if (!p)
        return MUSTER_E_NOMEM;
    assert_ptr_equal(process_find(w, token), p);
    int err = process_set_task(p, (struct muster_bytes){"task", 4});
    return err == MUSTER_OK && !*muster_process_id(p) ? MUSTER_E_NOMEM : err;
}

static int add_processes(void)
{
    struct muster_worker *w = ready_worker();
    int err = MUSTER_OK;
    uint64_t token = 0;
    while (err == MUSTER_OK && ++token <= PROCESSES)
        err = add_process(w, token);
    for (uint64_t known = 1; known < token; known++)
        assert_non_null(process_find(w, known));
    muster_worker_free(w);
    return err;
}

static int set_failure(void)
{
    struct muster_worker *w = ready_worker();
    memory.is_spared = true;
    struct muster_process *p = process_add(w, w->served[0], 1, PROCESS_TASK);
    assert_ok(muster_process_set_failure(p, "old group", "old message"));
    memory.is_spared = false;
    int err = muster_process_set_failure(p, "new group", "new message");
    assert_string_equal(p->group, err ? "old group" : "new group");
    assert_string_equal(p->message, err ? "old message" : "new message");
    muster_worker_free(w);
    return err;
}

/* A table that cannot grow only gets slower. */
static void processes(void **state)
{
    (void)state;
    assert_survives(3 * PROCESSES, .attempt = add_processes, .can_do_without = true);
    assert_survives(2, .attempt = set_failure);
}

/* ---- the last item ---- */

static int stop_by_next(void)
{
    struct muster_worker *w;
    struct muster_item item = {.size = sizeof item};
    memory.is_spared = true;
    assert_ok(muster_worker_new(
        &w, &(struct muster_worker_options){.size = sizeof(struct muster_worker_options), .own_thread = 1}));
    assert_return_code(muster_worker_fd(w), 0);
    memory.is_spared = false;
    tell_why(w, MUSTER_E_CONN, "no answer");
    worker_stopped(w);
    size_t n = muster_worker_next(w, &item, 1);
    bool is_told = n == 1 && item.event == MUSTER_EVENT_STOPPED && item.err == MUSTER_E_CONN &&
                   strcmp(item.text, "no answer") == 0;
    muster_worker_free(w);
    return is_told ? MUSTER_OK : MUSTER_E_STATE;
}

/* The program waits for it. */
static void a_stop_is_told_without_memory(void **state)
{
    (void)state;
    assert_survives(0, .attempt = stop_by_next, .can_do_without = true);
}

static void count_it(struct muster_process *p)
{
    end_counted(p);
}

static void lose_it(struct muster_process *p)
{
    end_uncounted(p, MUSTER_E_LOST);
}

/* What has begun has an end, of which the program hears. */
static int end_by_next_as(void (*end)(struct muster_process *p), int event)
{
    struct muster_worker *w;
    struct muster_item item = {.size = sizeof item};
    memory.is_spared = true;
    assert_ok(muster_worker_new(&w, &(struct muster_worker_options){.size = sizeof(struct muster_worker_options),
                                                                    .own_thread = 1,
                                                                    .tell_ended = 1}));
    assert_return_code(muster_worker_fd(w), 0);
    w->state = WORKER_WORKING;
    assert_ok(muster_worker_serve(w, "q", 0, NULL, NULL));
    memory.is_spared = false;
    accept_task(w, w->served[0], 1, (struct muster_bytes){"task", 4});
    struct muster_process *p = process_find(w, 1);
    int err = p ? MUSTER_OK : MUSTER_E_NOMEM;
    if (p) {
        dispatch_has_begun(p, 1);
        end(p);
        size_t n = muster_worker_next(w, &item, 1);
        bool is_told = n == 1 && item.event == event && *item.id && strcmp(item.queue, "q") == 0 && *item.text;
        err = is_told ? MUSTER_OK : MUSTER_E_STATE;
    }
    muster_worker_free(w);
    return err;
}

static int end_by_next(void)
{
    int err = end_by_next_as(count_it, MUSTER_EVENT_ENDED);
    return err == MUSTER_OK ? end_by_next_as(lose_it, MUSTER_EVENT_UNCOUNTED) : err;
}

static void an_end_is_told_without_memory(void **state)
{
    (void)state;
    assert_survives(4, .attempt = end_by_next, .can_do_without = true);
}

/* ---- wires, and what drives them ---- */

#define HELLO "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n"
#define LARGE 3000000
#define SCRIPT 100000 /* beyond the first buffer */

static void put(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All that a wire can be told, and two replies. */
static int use_wire(struct wire *w, int server)
{
    static char task[LARGE];
    const struct muster_bytes parts[] = {{"*1\r\n", 4}, {"$4\r\nPING\r\n", 10}};
    struct command c = COMMAND_EMPTY;
    command_text(&c, "SET");
    command_bytes(&c, task, sizeof task);
    int err = wire_say(w, &c, 1);
    command_clear(&c);
    if (err == MUSTER_OK)
        err = wire_say_bytes(w, parts, N_OF(parts), 1);
    if (err == MUSTER_OK)
        err = wire_subscribe(w, WIRE_SHARDED, "c");
    put(server, "*2\r\n$4\r\ntext\r\n*1\r\n+status\r\n-ERR error\r\n");
    wire_step(w, 1);
    for (size_t left = wire_asked(w); err == MUSTER_OK && left > 0; left--) {
        struct redisReply *reply;
        err = wire_next(w, &reply);
        redis_reply_free(reply);
    }
    return err;
}

static int make_wire(void)
{
    int ends[2];
    struct wire *w;
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), errno);
    int err = wire_new(&w);
    if (err == MUSTER_OK) {
        wire_borrow(w, ends[0]);
        wire_step(w, 4);
        err = use_wire(w, ends[1]);
    }
    wire_free(w);
    close(ends[0]);
    close(ends[1]);
    return err;
}

static void ignore_database(void *arg, int db)
{
    (void)arg, (void)db;
}

/* The answers are there before they are asked for, which a server cannot do; nobody looks at the time. */
static int call_by(struct redisContext *context, int server)
{
    struct redis *r;
    struct redisReply *reply = NULL;
    const struct redis_options o = {.borrowed = context,
                                    .timeout_ms = 1000,
                                    .prefix = "p",
                                    .format_key = "p:format",
                                    .root_key = "p:",
                                    .selected = ignore_database};
    int err = redis_new(&r, &o);
    if (err != MUSTER_OK)
        return err;
    put(server, HELLO "$6\r\n db=0 \r\n:0\r\n$-1\r\n$6\r\nanswer\r\n");
    struct command c = COMMAND_EMPTY;
    command_text(&c, "GET");
    command_text(&c, "key");
    err = redis_call(r, &c, &reply);
    command_clear(&c);
    assert_int_equal(err == MUSTER_OK, reply_is(reply, "answer"));
    redis_reply_free(reply);
    redis_free(r);
    return err;
}

static int call(void)
{
    int ends[2];
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), errno);
    memory.is_spared = true;
    struct redisContext *context = redisConnectFd(ends[0]);
    memory.is_spared = false;
    int err = call_by(context, ends[1]);
    assert_true(err != MUSTER_OK || context->err == 0);
    redisFree(context);
    close(ends[1]);
    return err;
}

struct linked {
    struct event_base *base;
    struct link *link;
    int server, err, n_answers;
};

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct linked *l = arg;
    l->n_answers++;
    if (reply)
        event_base_loopbreak(l->base);
    else
        assert_false(link_is_up(l->link));
}

static void on_up(void *arg)
{
    struct linked *l = arg;
    struct command c = COMMAND_EMPTY;
    static const unsigned char body[SCRIPT];
    static const struct lua_script script = {.name = "s", .sha1 = "s", .body = body, .len = sizeof body};
    command_words(&c, (const char *const[]){"EVALSHA", "0123456789012345678901234567890123456789", "0", NULL});
    c.script = &script;
    l->err = link_script(l->link, &c, on_answer, l);
    command_clear(&c);
    if (l->err == MUSTER_OK) {
        put(l->server, "-NOSCRIPT no\r\n$6\r\nanswer\r\n");
    } else {
        assert_int_equal(l->n_answers, 0);
        event_base_loopbreak(l->base);
    }
}

static void on_down(void *arg, int err, const char *text)
{
    struct linked *l = arg;
    (void)text;
    l->err = err;
    event_base_loopbreak(l->base);
}

static struct url linked_url = {.n_nodes = 0};

/* A command that was accepted is answered once, with its reply or with NULL; then the link goes down. */
static int link_and_call(void)
{
    struct linked l = {.n_answers = 0};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    memory.is_spared = true;
    l.base = event_base_new();
    memory.is_spared = false;
    snprintf(a.sun_path, sizeof a.sun_path, "%s", linked_url.path);
    unlink(a.sun_path);
    assert_return_code(bind(listener, (struct sockaddr *)&a, sizeof a), errno);
    assert_return_code(listen(listener, 1), errno);
    const struct link_options o = {.base = l.base,
                                   .url = &linked_url,
                                   .prefix = "p",
                                   .root_key = "p:",
                                   .name = "data",
                                   .delay_max_ms = 1000,
                                   .silence_ms = 1000,
                                   .callbacks = {.up = on_up, .down = on_down},
                                   .arg = &l};
    int err = link_new(&l.link, &o);
    if (err == MUSTER_OK) {
        link_connect(l.link);
        fcntl(listener, F_SETFL, O_NONBLOCK);
        l.server = accept(listener, NULL, NULL);
        (void)!send(l.server, HELLO ":0\r\n", strlen(HELLO) + 4, MSG_NOSIGNAL); /* the link may have failed by now */
        event_base_dispatch(l.base);
        err = l.err;
        link_free(l.link);
        close(l.server);
    }
    event_base_free(l.base);
    close(listener);
    unlink(linked_url.path);
    return err;
}

static void wires(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/muster-nomem-%d.sock", (int)getpid());
    linked_url.path = path;
    assert_survives(10, .attempt = make_wire);
    assert_survives(15, .attempt = call);
    assert_survives(20, .attempt = link_and_call, .can_do_without = true);
}

#define nomem_test(f) cmocka_unit_test_teardown(f, restore)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        nomem_test(urls),
        nomem_test(commands),
        nomem_test(clients),
        nomem_test(workers),
        nomem_test(workers_of_contexts),
        nomem_test(serving),
        nomem_test(processes),
        nomem_test(a_stop_is_told_without_memory),
        nomem_test(an_end_is_told_without_memory),
        nomem_test(wires),
    };
    return testing_run(tests, take_over, NULL, argc, argv);
}
