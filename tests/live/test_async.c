/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client: what goes in and comes out, from which threads, and within which bounds. What happens when
 * Redis or the connection fails: test_async_failures.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "live_worker.h"
#include "taken.h"

#define MANY 100000

static void open_plainly(struct answers *as, struct scene *s)
{
    answers_open(as, s, NULL, 0, NULL);
}

static bool is_readable(struct muster_async *a)
{
    struct pollfd p = {.fd = muster_async_fd(a), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* ---- in and out ---- */

static void each_task_is_enqueued_in_its_order_and_answered(void **state)
{
    struct scene *s = *state;
    struct answers as;
    int args[3];
    open_plainly(&as, s);
    for (int i = 0; i < 3; i++)
        answers_enqueue(&as, "q", (const char *const[]){"a", "b", "c"}[i], &args[i]);
    answers_await(&as, 3);
    for (int i = 0; i < 3; i++) {
        assert_err(as.rows[i].err, MUSTER_OK);
        assert_int_equal(as.rows[i].waiting, i + 1);
        assert_ptr_equal(as.rows[i].arg, &args[i]);
    }
    assert_queue_holds(s, "q", "a b c ");
    answers_close(&as);
}

/* The order over all queues is that of the calls, and any bytes arrive as they are. */
static void tasks_are_bytes_that_were_copied(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char task[] = "a\0\xff\n";
    open_plainly(&as, s);
    assert_ok(muster_async_enqueue(as.async, "q", task, sizeof task - 1, answers_fn, NULL));
    assert_ok(muster_async_enqueue(as.async, "r", NULL, 0, answers_fn, NULL));
    memset(task, 'x', sizeof task);
    answers_await(&as, 2);
    struct redisReply *reply = raw(s->server->redis, "LINDEX %s:queues:q 0", s->prefix);
    assert_int_equal(reply->len, 4);
    assert_memory_equal(reply->str, "a\0\xff\n", 4);
    freeReplyObject(reply);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:r", s->prefix), 1);
    answers_close(&as);
}

static void an_idle_worker_is_handed_the_task(void **state)
{
    struct scene *s = *state;
    struct answers as;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 3600000, .queues = {{"q", 0}}});
    open_plainly(&as, s);
    answers_enqueue(&as, "q", "t", NULL);
    scene_await_starts(s, 1);
    answers_await(&as, 1);
    assert_int_equal(as.rows[0].waiting, 0);
    answers_close(&as);
}

/* ---- taking answers ---- */

static void next_calls_nothing_and_gives_what_was_given(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct longer {
        struct muster_answer answer;
        char more[64];
    } got[4];
    open_plainly(&as, s);
    assert_false(is_readable(as.async));
    for (int i = 0; i < 3; i++)
        answers_enqueue(&as, "q", "t", &got[i]);
    assert_ok(muster_async_wait(as.async, SOON_MS));
    memset(got, 'x', sizeof got);
    got[0].answer.size = sizeof got[0];
    assert_true(is_readable(as.async));
    assert_int_equal(muster_async_next(as.async, &got[0].answer, 2), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(got[i].answer.size, sizeof got[0]);
        assert_ptr_equal(got[i].answer.fn, answers_fn);
        assert_ptr_equal(got[i].answer.arg, &got[i]);
        assert_err(got[i].answer.err, MUSTER_OK);
        assert_string_equal(got[i].answer.text, "");
        assert_int_equal(got[i].answer.waiting, i + 1);
        assert_int_equal(got[i].more[63], 0);
    }
    assert_true(is_readable(as.async));
    assert_int_equal(muster_async_next(as.async, &got[0].answer, 4), 1);
    assert_ptr_equal(got[0].answer.arg, &got[2]);
    assert_false(is_readable(as.async));
    assert_int_equal(muster_async_next(as.async, &got[0].answer, 4), 0);
    assert_int_equal(as.n, 0);
    answers_close(&as);
}

static void ignore_line(enum muster_log_level level, const char *line, void *arg)
{
    (void)level;
    snprintf(arg, 128, "%s", line);
}

static void a_wrong_size_of_an_answer_is_told_by_the_log(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct muster_answer got = {.size = 0};
    char line[128] = "";
    open_plainly(&as, s);
    answers_enqueue(&as, "q", "t", NULL);
    assert_ok(muster_async_wait(as.async, SOON_MS));
    muster_log_set(ignore_line, line);
    assert_int_equal(muster_async_next(as.async, &got, 1), 0);
    muster_log_set(NULL, NULL);
    assert_non_null(strstr(line, "muster_answer is 0"));
    answers_await(&as, 1); /* it is not lost */
    answers_close(&as);
}

struct chain {
    struct muster_async *async;
    int left;
};

static void enqueue_another(const struct muster_answer *answer, void *arg)
{
    struct chain *c = arg;
    struct muster_answer got = {.size = sizeof got};
    assert_err(answer->err, MUSTER_OK);
    assert_int_equal(muster_async_dispatch(c->async, 0), 0); /* this is for one at a time */
    assert_int_equal(muster_async_next(c->async, &got, 1), 0);
    if (c->left-- > 0)
        assert_ok(muster_async_enqueue(c->async, "q", "t", 1, enqueue_another, c));
}

/* Also where the bound allows no second one. */
static void a_function_of_an_answer_makes_the_next_call(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0,
                 &(struct muster_async_options){.size = sizeof(struct muster_async_options), .max_in_flight = 1});
    struct chain c = {as.async, 20};
    assert_ok(muster_async_enqueue(as.async, "q", "t", 1, enqueue_another, &c));
    for (size_t n = 0; n < 21;) {
        struct pollfd p = {.fd = muster_async_fd(as.async), .events = POLLIN};
        assert_int_equal(poll(&p, 1, SOON_MS), 1);
        n += muster_async_dispatch(as.async, 3);
    }
    assert_int_equal(scene_waiting(s, "q"), 21);
    answers_close(&as);
}

static void an_answer_without_a_function_is_taken_all_the_same(void **state)
{
    struct scene *s = *state;
    struct answers as;
    open_plainly(&as, s);
    assert_ok(muster_async_enqueue(as.async, "q", "t", 1, NULL, NULL));
    assert_ok(muster_async_wait(as.async, -1));
    assert_int_equal(muster_async_dispatch(as.async, 0), 1);
    assert_false(is_readable(as.async));
    answers_close(&as);
}

/* ---- bounds ---- */

static int enqueue_some(struct answers *as, size_t len)
{
    static char bytes[1000];
    return muster_async_enqueue(as->async, "q", bytes, len, answers_fn, NULL);
}

static void beyond_its_bounds_a_call_is_refused_until_answers_are_taken(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0,
                 &(struct muster_async_options){
                     .size = sizeof(struct muster_async_options), .max_in_flight = 3, .max_bytes = 500});
    for (int i = 0; i < 3; i++)
        assert_ok(enqueue_some(&as, 1));
    assert_err(enqueue_some(&as, 1), MUSTER_E_BUSY);
    assert_non_null(strstr(muster_async_error(as.async), "take answers"));
    assert_ok(muster_async_wait(as.async, SOON_MS));
    assert_err(enqueue_some(&as, 1), MUSTER_E_BUSY); /* answered is not taken */
    answers_await(&as, 3);
    assert_ok(enqueue_some(&as, 250));
    assert_ok(enqueue_some(&as, 250));
    assert_err(enqueue_some(&as, 1), MUSTER_E_BUSY);
    answers_await(&as, 5);
    assert_ok(enqueue_some(&as, 1000)); /* alone it may be larger */
    assert_err(enqueue_some(&as, 0), MUSTER_E_BUSY);
    answers_await(&as, 6);
    assert_int_equal(as.counts[0], 6);
    assert_int_equal(scene_waiting(s, "q"), 6);
    answers_close(&as);
}

static void what_is_not_allowed_is_refused_at_the_call(void **state)
{
    struct scene *s = *state;
    struct answers as;
    const struct muster_client_options client = {
        .size = sizeof client, .url = s->server->url, .prefix = s->prefix, .max_task_len = 10};
    const struct muster_async_options options = {.size = sizeof options, .client = &client};
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(muster_async_enqueue(as.async, "", "t", 1, answers_fn, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_enqueue(as.async, NULL, "t", 1, answers_fn, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_enqueue(as.async, "q", NULL, 1, answers_fn, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_async_error(as.async), "no bytes"));
    assert_err(muster_async_wait(as.async, -2), MUSTER_E_INVALID);
    answers_close(&as);
    assert_ok(muster_async_new(&as.async, &options));
    assert_ok(muster_async_enqueue(as.async, "q", "0123456789", 10, answers_fn, NULL));
    assert_err(muster_async_enqueue(as.async, "q", "0123456789x", 11, answers_fn, NULL), MUSTER_E_TOO_BIG);
    assert_non_null(strstr(muster_async_error(as.async), "limit of 10"));
    answers_await(&as, 1);
    answers_close(&as);
}

static void options_that_are_not_allowed_are_refused_in_words(void **state)
{
    struct scene *s = *state;
    struct muster_async *a;
    struct muster_client_options client = {.size = sizeof client, .url = "nonsense"};
    struct muster_async_options o = {.size = sizeof o, .client = &client};
    assert_err(muster_async_new(&a, &o), MUSTER_E_INVALID);
    assert_null(a);
    assert_string_equal(muster_async_error(NULL), muster_async_options_check(&o));
    client.url = NULL;
    client.redis = s->server->redis;
    assert_non_null(strstr(muster_async_options_check(&o), "redis"));
    assert_err(muster_async_new(&a, &o), MUSTER_E_INVALID);
    o.size = 3;
    assert_err(muster_async_new(&a, &o), MUSTER_E_INVALID);
    assert_null(muster_async_options_check(NULL));
    muster_async_free(NULL);
}

/* ---- many ---- */

static void enqueue_numbers(struct answers *as, const char *queue, int from, int to)
{
    for (int i = from; i < to; i++) {
        char task[16];
        snprintf(task, sizeof task, "%d", i);
        answers_enqueue(as, queue, task, NULL);
    }
}

static void assert_holds_numbers(struct scene *s, const char *queue, int n)
{
    struct redisReply *list = raw(s->server->redis, "LRANGE %s:queues:%s 0 -1", s->prefix, queue);
    assert_int_equal(list->elements, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(atoi(list->element[n - 1 - i]->str), i);
    freeReplyObject(list);
}

static void a_hundred_thousand_are_in_flight_and_keep_their_order(void **state)
{
    struct scene *s = *state;
    struct answers as;
    open_plainly(&as, s);
    int64_t scripts = redis_server_calls(s->server, "evalsha");
    enqueue_numbers(&as, "q", 0, MANY);
    assert_err(muster_async_enqueue(as.async, "q", "t", 1, NULL, NULL), MUSTER_E_BUSY);
    answers_await(&as, MANY);
    assert_int_equal(as.counts[0], MANY);
    assert_holds_numbers(s, "q", MANY);
    assert_true(redis_server_calls(s->server, "evalsha") - scripts < MANY / 4); /* neighbours go together */
    answers_close(&as);
}

#define THREADS 4
#define EACH 5000

struct caller {
    struct answers *as;
    char queue[8];
    pthread_t thread;
};

static void *enqueue_own(void *arg)
{
    struct caller *c = arg;
    enqueue_numbers(c->as, c->queue, 0, EACH);
    return NULL;
}

/* Each thread's calls keep their order; another thread takes the answers meanwhile. */
static void several_threads_call_at_once(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct caller callers[THREADS];
    open_plainly(&as, s);
    for (int i = 0; i < THREADS; i++) {
        callers[i].as = &as;
        snprintf(callers[i].queue, sizeof callers[i].queue, "q%d", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, enqueue_own, &callers[i]), 0);
    }
    answers_await(&as, THREADS * EACH);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_holds_numbers(s, callers[i].queue, EACH);
    }
    assert_int_equal(as.counts[0], THREADS * EACH);
    answers_close(&as);
}

/* Waits for nobody, calls nobody, and loses no memory. */
static void a_client_is_freed_with_calls_in_flight(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 20; i++) {
        struct answers as;
        open_plainly(&as, s);
        enqueue_numbers(&as, "q", 0, i * 100);
        if (i % 3 == 0)
            muster_async_dispatch(as.async, 10);
        size_t n = as.n;
        answers_close(&as);
        assert_int_equal(as.n, n);
    }
}

static void free_it(const struct muster_answer *answer, void *arg)
{
    struct answers *as = arg;
    as->n++;
    muster_async_free(as->async);
    muster_async_free(as->async); /* it is one */
    assert_err(answer->err, MUSTER_OK);
}

/* Its descriptors are closed, too: it is gone, and not only forgotten. */
static void a_client_may_be_freed_in_a_function_of_an_answer(void **state)
{
    struct scene *s = *state;
    struct answers as;
    open_plainly(&as, s);
    for (int i = 0; i < 3; i++)
        assert_ok(muster_async_enqueue(as.async, "q", "t", 1, free_it, &as));
    assert_ok(muster_async_wait(as.async, SOON_MS));
    int fd = muster_async_fd(as.async);
    assert_int_equal(muster_async_dispatch(as.async, 0), 1);
    assert_int_equal(as.n, 1);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(scene_waiting(s, "q"), 3);
}

static void a_child_of_fork_has_no_part_in_it(void **state)
{
    struct scene *s = *state;
    struct answers as;
    int status;
    open_plainly(&as, s);
    answers_enqueue(&as, "q", "parent", NULL);
    pid_t child = fork();
    if (child == 0) {
        struct muster_answer got = {.size = sizeof got};
        int refused = muster_async_enqueue(as.async, "q", "child", 5, NULL, NULL) == MUSTER_E_STATE &&
                      muster_async_wait(as.async, -1) == MUSTER_E_STATE && muster_async_dispatch(as.async, 0) == 0 &&
                      muster_async_next(as.async, &got, 1) == 0;
        muster_async_free(as.async);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    answers_enqueue(&as, "q", "parent", NULL);
    answers_await(&as, 2);
    assert_int_equal(as.counts[0], 2);
    assert_queue_holds(s, "q", "parent parent ");
    answers_close(&as);
}

struct forking {
    int calls;
    pid_t parent, child;
};

static void fork_once(const struct muster_answer *answer, void *arg)
{
    struct forking *f = arg;
    (void)answer;
    if (f->calls++ == 0)
        f->child = fork();
}

/* The child returns into muster_async_dispatch(), as a server does that forks for each request. */
static void the_other_answers_are_the_parents_alone(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct forking f = {.parent = getpid()};
    int status;
    open_plainly(&as, s);
    for (int i = 0; i < 5; i++)
        assert_ok(muster_async_enqueue(as.async, "q", "t", 1, fork_once, &f));
    assert_ok(muster_async_wait(as.async, SOON_MS));
    size_t n = muster_async_dispatch(as.async, 0);
    if (getpid() != f.parent) {
        alarm(SOON_MS / 1000); /* a lock that is never free */
        bool has_no_more = muster_async_dispatch(as.async, 0) == 0;
        muster_async_free(as.async);
        _exit(has_no_more && n == 1 && f.calls == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(f.child, &status, 0), f.child);
    assert_int_equal(status, 0);
    assert_int_equal(n, 5);
    assert_int_equal(f.calls, 5);
    answers_close(&as);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_task_is_enqueued_in_its_order_and_answered),
        live_test(tasks_are_bytes_that_were_copied),
        live_test(an_idle_worker_is_handed_the_task),
        live_test(next_calls_nothing_and_gives_what_was_given),
        live_test(a_wrong_size_of_an_answer_is_told_by_the_log),
        live_test(a_function_of_an_answer_makes_the_next_call),
        live_test(an_answer_without_a_function_is_taken_all_the_same),
        live_test(beyond_its_bounds_a_call_is_refused_until_answers_are_taken),
        live_test(what_is_not_allowed_is_refused_at_the_call),
        live_test(options_that_are_not_allowed_are_refused_in_words),
        live_test(a_hundred_thousand_are_in_flight_and_keep_their_order),
        live_test(several_threads_call_at_once),
        live_test(a_client_is_freed_with_calls_in_flight),
        live_test(a_client_may_be_freed_in_a_function_of_an_answer),
        live_test(a_child_of_fork_has_no_part_in_it),
        live_test(the_other_answers_are_the_parents_alone),
    };
    return scene_run(tests, argc, argv);
}
