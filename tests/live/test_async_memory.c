/* SPDX-License-Identifier: MIT
 *
 * Clients and the listener in a program that has no memory, for what an answer brings or for anything: who is first in a
 * queue and larger than that stops neither the queue nor other calls, each call has its answer, and a gap is told.
 *
 * The linker puts the functions below in place of malloc() and its family, and of hiredis' own; libevent is given others.
 */
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "hearing.h"
#include "job_look.h"
#include "limited.h"
#include "proxy.h"
#include "taken.h"

#define AN_HOUR 3600000
#define LARGE 300000
#define MOST ((size_t)100000)

/* So many more answers with more than MOST bytes in one text are too much. */
static atomic_int n_short;

redisReader *__real_redisReaderCreate(void);
redisReader *__wrap_redisReaderCreate(void);

static redisReplyObjectFunctions *plain, failing;

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    return len > MOST && n_short-- > 0 ? NULL : plain->createString(task, text, len);
}

redisReader *__wrap_redisReaderCreate(void)
{
    static atomic_flag is_made = ATOMIC_FLAG_INIT;
    redisReader *r = __real_redisReaderCreate();
    if (!r)
        return NULL;
    if (!atomic_flag_test_and_set(&is_made)) { /* by the first connection of the scene: there are no threads yet */
        plain = r->fn;
        failing = *plain;
        failing.createString = make_string;
    }
    r->fn = &failing;
    return r;
}

/* ---- the library's allocations ---- */

#define NEVER (-1)

static pthread_t main_thread;
static atomic_int until_failure = NEVER; /* so many allocations of the library's thread go well before one fails */
static atomic_bool is_out;               /* all of them fail */
static atomic_size_t too_much;           /* those of more bytes fail; 0: none does */
static atomic_int n_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(size_t size)
{
    if (too_much > 0 && size > too_much && !pthread_equal(pthread_self(), main_thread))
        return true;
    if ((until_failure == NEVER && !is_out) || pthread_equal(pthread_self(), main_thread))
        return false;
    n_failed += is_out;
    if (is_out)
        return true;
    return until_failure-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails(size) ? NULL : __real_realloc(old, size);
}

/* The loop has no memory for what grows. */
static atomic_bool lacks_more;

static void *more_of_libevent(void *old, size_t size)
{
    return lacks_more && !pthread_equal(pthread_self(), main_thread) ? NULL : __real_realloc(old, size);
}

/* ---- takes ---- */

struct bag {
    int err;
    struct taken taken;
    char text[ANSWERS_TEXT];
};

static void keep(const struct muster_answer *answer, void *arg)
{
    struct bag *b = arg;
    b->err = answer->err;
    snprintf(b->text, sizeof b->text, "%s", answer->text);
    for (size_t i = 0; i < answer->n; i++)
        taken_add(&answer->processes[i], &b->taken);
    answers_fn(answer, NULL);
}

static void take_now(struct answers *as, size_t n, struct bag *b)
{
    *b = (struct bag){.err = 1};
    assert_ok(muster_async_take(as->async, "q", n, AN_HOUR, 0, keep, b));
    answers_await(as, as->n + 1);
}

static int64_t leased(struct scene *s)
{
    return raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix);
}

/* ---- takes without memory for what comes ---- */

/* Of an answer there is none, or of a copy of what it brings. */
static const struct lack {
    bool are_jobs, is_copy;
} lacks[] = {{false, false}, {true, false}, {true, true}};

/* NULL: there is memory. */
static void lack_memory(const struct lack *lack, bool is_async)
{
    n_short = lack && !lack->is_copy ? INT32_MAX : 0;
    too_much = lack && lack->is_copy ? LARGE - 1 : 0; /* a script has fewer bytes */
    main_thread = lack && lack->is_copy && !is_async ? 0 : pthread_self();
}

static void put_large(struct scene *s, bool is_job)
{
    static char large[LARGE];
    if (is_job)
        job_put(s, "q", JOB_SPEC(.id = "large", .data = {large, sizeof large}));
    else
        assert_ok(muster_task_enqueue(s->client, "q", large, sizeof large, NULL));
}

static void put_small(struct scene *s, bool are_jobs)
{
    for (int i = 0; i < 2; i++)
        if (are_jobs)
            job_put(s, "q", JOB_SPEC(.data = {"t", 1}));
        else
            scene_enqueue(s, "q", "t");
}

/* By this asynchronous client; NULL: by the scene's. It would wait for an hour. */
static void take_up_to(struct scene *s, struct answers *as, size_t n, struct bag *b)
{
    *b = (struct bag){.err = 1};
    if (as) {
        assert_ok(muster_async_take(as->async, "q", n, AN_HOUR, AN_HOUR, keep, b));
        answers_await(as, as->n + 1);
        return;
    }
    b->err = muster_lease_take(s->client, "q", n, AN_HOUR, AN_HOUR, taken_add, &b->taken);
    snprintf(b->text, sizeof b->text, "%s", muster_client_error(s->client));
}

/* The two that are small are taken first, and nothing but these stays leased. Then it is told. */
static void take_what_fits(struct scene *s, struct answers *as, struct bag *b)
{
    const int64_t held = leased(s);
    int64_t n_taken = 0;
    do {
        take_up_to(s, as, 10, b);
        n_taken += (int64_t)b->taken.n;
        raw_await(s->server->redis, NULL, held + n_taken, "HLEN %s:processing:.lease:q", s->prefix);
    } while (b->err == MUSTER_OK);
    assert_err(b->err, MUSTER_E_NOMEM);
    assert_int_equal(n_taken, 2);
    assert_non_null(strstr(b->text, "300000 bytes is more than this program has memory for"));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:suspects:q", s->prefix), 0);
}

static void take_large(struct scene *s, struct answers *as, struct bag *b)
{
    take_up_to(s, as, 1, b);
    assert_err(b->err, MUSTER_OK);
    assert_int_equal(b->taken.rows[0].len, LARGE);
    assert_ok(muster_lease_finish(s->client, b->taken.rows[0].id, NULL));
}

static void what_there_is_no_memory_for_is_for_others(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct bag b;
    answers_open(&as, s, NULL, 0, NULL);
    for (size_t i = 0; i < 2 * N_OF(lacks); i++) {
        const struct lack *lack = &lacks[i / 2];
        struct answers *by = i % 2 ? &as : NULL;
        put_large(s, lack->are_jobs);
        put_small(s, lack->are_jobs);
        lack_memory(lack, by != NULL);
        take_what_fits(s, by, &b);
        assert_int_equal(strstr(b.text, "the job 'large'") != NULL, lack->are_jobs);
        lack_memory(NULL, false);
        take_large(s, by, &b);
    }
    assert_int_equal(as.counts[-MUSTER_E_CONN], 0);
    answers_close(&as);
}

static void several_that_there_is_no_memory_for_stop_no_queue(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct bag b;
    answers_open(&as, s, NULL, 0, NULL);
    for (int i = 0; i < 2; i++) {
        struct answers *by = i == 1 ? &as : NULL;
        put_large(s, false);
        put_large(s, true);
        put_small(s, false);
        lack_memory(&lacks[0], by != NULL);
        take_what_fits(s, by, &b);
        lack_memory(NULL, false);
        take_large(s, by, &b);
        take_large(s, by, &b);
    }
    answers_close(&as);
}

/* Who wants no more gets no more, whatever is passed over. */
static int add_and_stop(const struct muster_process_info *p, void *arg)
{
    (void)taken_add(p, arg);
    return 1;
}

static void a_caller_that_has_stopped_gets_no_more(void **state)
{
    struct scene *s = *state;
    struct taken taken = {0};
    put_large(s, true);
    put_small(s, true);
    put_small(s, true);
    lack_memory(&lacks[2], false);
    assert_ok(muster_lease_take(s->client, "q", 3, AN_HOUR, 0, add_and_stop, &taken));
    lack_memory(NULL, false);
    assert_int_equal(taken.n, 1);
}

static bool has_lacked(void *times)
{
    return INT32_MAX - n_short >= *(int *)times;
}

static void a_client_that_is_freed_meanwhile_leaves_nothing_leased(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct bag b;
    put_large(s, false);
    put_small(s, false);
    for (int times = 0; times <= 3; times++) { /* the last time not before it has its answer */
        answers_open(&as, s, NULL, 0, NULL);
        lack_memory(&lacks[0], true);
        assert_ok(muster_async_take(as.async, "q", 10, AN_HOUR, 0, keep, &b));
        wait_until(has_lacked, &(int){times < 3 ? times : 2}, SOON_MS);
        if (times == 3)
            answers_await(&as, 1);
        answers_close(&as);
        lack_memory(NULL, false);
        assert_int_equal(leased(s), times == 3);
    }
}

/* One who had none for a moment gets it after all. */
static void memory_that_is_there_again_is_enough(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static struct bag b;
    uint64_t waiting, running;
    answers_open(&as, s, NULL, 0, NULL);
    for (int i = 0; i < 2; i++) {
        struct answers *by = i == 1 ? &as : NULL;
        put_large(s, false);
        put_small(s, false);
        n_short = 1;
        take_up_to(s, by, 10, &b);
        assert_err(b.err, MUSTER_OK);
        assert_int_equal(b.taken.rows[0].len, LARGE);
        for (size_t k = 0; k < b.taken.n; k++)
            assert_ok(muster_lease_finish(s->client, b.taken.rows[k].id, NULL));
        assert_ok(muster_queue_delete(s->client, "q", &waiting, &running));
    }
    answers_close(&as);
}

static bool take_with_failure(struct scene *s, int n)
{
    struct muster_client *c = scene_client(s);
    struct taken taken = {0};
    const int64_t held = leased(s);
    uint64_t waiting;
    for (int i = 0; i < 3; i++)
        job_put(s, "q", JOB_SPEC(.data = {"t", 1}));
    assert_ok(muster_queue_length(c, "q", &waiting));
    until_failure = n;
    const int err = muster_lease_take(c, "q", 3, AN_HOUR, 0, taken_add, &taken);
    const bool has_failed = until_failure == NEVER;
    until_failure = NEVER;
    assert_true(has_failed || err == MUSTER_OK);
    muster_client_free(c);
    assert_int_equal(leased(s), held + (int64_t)taken.n);
    return has_failed;
}

static void none_is_left_whichever_allocation_fails(void **state)
{
    int n = 0;
    main_thread = 0; /* it is this one's turn */
    while (take_with_failure(*state, n))
        n++;
    main_thread = pthread_self();
    assert_true(n > 3); /* one for each record */
}

/* ---- looks ---- */

static int know_what_waits(const struct muster_job *job, void *is_it)
{
    *(bool *)is_it = job->state == MUSTER_JOB_DEPENDS && job->n_after == 1 && job->n_blocked_by == 1;
    return 0;
}

/* Returns whether so many allocations were made. */
static bool get_with_failure(struct scene *s, int n)
{
    static const char *const id = "waits";
    struct muster_client *c = scene_client(s);
    bool is_it = false;
    assert_ok(muster_job_get(c, &id, 1, know_what_waits, &is_it));
    until_failure = n;
    const int err = muster_job_get(c, &id, 1, know_what_waits, &is_it);
    const bool has_failed = until_failure == NEVER;
    until_failure = NEVER;
    assert_true(has_failed || err == MUSTER_OK);
    is_it = false;
    assert_ok(muster_job_get(c, &id, 1, know_what_waits, &is_it));
    assert_true(is_it);
    muster_client_free(c);
    return has_failed;
}

/* What comes next gets no answer of a call that had no memory for its own. */
static void a_look_has_its_own_answers_whichever_allocation_failed_before(void **state)
{
    struct scene *s = *state;
    int n = 0;
    job_put(s, "q", JOB_SPEC(.id = "first"));
    job_put(s, "q", JOB_SPEC(.id = "waits", .after = IDS("first"), .n_after = 1));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "first"), NULL, NULL));
    main_thread = 0;
    while (get_with_failure(s, n))
        n++;
    main_thread = pthread_self();
    assert_true(n > 10);
}

static bool has_no_copies;

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
    return has_no_copies ? NULL : __real_strdup(text);
}

static int put_and_lack_memory(void *arg)
{
    job_put(arg, "q", JOB_SPEC(.id = "j"));
    has_no_copies = true;
    return 0;
}

static int never_hear(const struct muster_job_event *event, void *arg)
{
    (void)event, (void)arg;
    fail_msg("heard, without memory");
    return 0;
}

/* It does not go on, as if nothing had been missed. */
static void a_blocking_listener_without_memory_ends(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    const int err = muster_job_listen(c, NULL, SOON_MS, put_and_lack_memory, never_hear, s);
    has_no_copies = false;
    assert_err(err, MUSTER_E_NOMEM);
    assert_non_null(strstr(muster_client_error(c), "missed"));
    muster_client_free(c);
}

#define TOO_LARGE 2000000

/* Before the failure; and from there on, until all calls have their answers. */
struct way {
    void (*prepare)(struct scene *s, struct answers *as);
    void (*call)(struct answers *as, struct bag *b);
};

/* One try of a way, with the n-th allocation of the library's thread failing. False: there were not so many. */
static bool survive_one(struct scene *s, const struct way *way, int n)
{
    struct answers as;
    static struct bag b;
    answers_open(&as, s, NULL, 0, NULL);
    way->prepare(s, &as);
    const int64_t held = leased(s);
    until_failure = n;
    way->call(&as, &b);
    const bool has_failed = until_failure == NEVER;
    until_failure = NEVER;
    answers_close(&as);
    assert_int_equal(leased(s), held + (int64_t)b.taken.n);
    assert_true(has_failed || b.err == MUSTER_OK);
    return has_failed;
}

/* Each call has its answer, and nothing stays in the hands of nobody. */
static void survive(struct scene *s, const struct way *way, int least)
{
    int n = 0;
    main_thread = pthread_self();
    while (survive_one(s, way, n))
        n++;
    assert_true(n >= least);
}

static void enqueue_too_large(struct scene *s, struct answers *as)
{
    static char large[TOO_LARGE];
    raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
    assert_ok(muster_task_enqueue(s->client, "q", large, sizeof large, NULL));
    scene_enqueue(s, "q", "t");
    assert_ok(muster_async_length(as->async, "q", answers_fn, NULL));
    answers_await(as, 1);
}

static void take_and_count(struct answers *as, struct bag *b)
{
    take_now(as, 10, b);
    assert_ok(muster_async_length(as->async, "q", answers_fn, NULL));
    answers_await(as, as->n + 1);
}

static void what_redis_does_not_send_is_told_whichever_allocation_fails(void **state)
{
    struct scene *s = *state;
    limited_set(s, "normal 1mb 0 0");
    survive(s, &(struct way){enqueue_too_large, take_and_count}, 40);
    limited_set(s, "normal 0 0 0");
}

/* Its scripts were sent, and Redis has forgotten them. */
static void flush_scripts(struct scene *s, struct answers *as)
{
    struct bag none;
    answers_enqueue(as, "q", "t", NULL);
    answers_await(as, 1);
    take_now(as, 10, &none);
    raw_do(s->server->redis, "SCRIPT FLUSH");
}

static void enqueue_and_take(struct answers *as, struct bag *b)
{
    *b = (struct bag){.err = 1};
    answers_enqueue(as, "q", "t", NULL);
    assert_ok(muster_async_take(as->async, "q", 10, AN_HOUR, 0, keep, b));
    answers_await(as, as->n + 2);
}

static void put_three(struct scene *s, struct answers *as)
{
    for (int i = 0; i < 3; i++)
        job_put(s, "q", JOB_SPEC(.data = {"t", 1}));
    assert_ok(muster_async_length(as->async, "q", answers_fn, NULL));
    answers_await(as, 1);
}

static void take_three(struct answers *as, struct bag *b)
{
    take_now(as, 3, b);
}

static void jobs_are_taken_or_go_back_whichever_allocation_fails(void **state)
{
    survive(*state, &(struct way){put_three, take_three}, 10);
}

static void scripts_are_sent_again_whichever_allocation_fails(void **state)
{
    struct scene *s = *state;
    survive(s, &(struct way){flush_scripts, enqueue_and_take}, 10);
}

/* ---- takes that wait ---- */

enum { MANY_QUEUES = 200 };

static void wait_in_each(struct answers *as, int n)
{
    char queue[16];
    for (int i = 0; i < n; i++) {
        snprintf(queue, sizeof queue, "q_%d", i);
        assert_ok(muster_async_take(as->async, queue, 1, AN_HOUR, 300, answers_fn, NULL));
    }
    answers_await(as, as->n + (size_t)n);
}

/* One without a timer would wait for ever. */
static void a_take_that_waits_has_a_timer_or_is_refused(void **state)
{
    struct scene *s = *state;
    struct answers as;
    main_thread = pthread_self();
    answers_open(&as, s, NULL, 0, NULL);
    wait_in_each(&as, 1);
    lacks_more = true;
    wait_in_each(&as, MANY_QUEUES);
    lacks_more = false;
    assert_true(as.counts[-MUSTER_E_NOMEM] > 0);
    wait_in_each(&as, MANY_QUEUES);
    assert_int_equal(as.counts[-MUSTER_E_NOT_FOUND] + as.counts[-MUSTER_E_NOMEM], 2 * MANY_QUEUES + 1);
    assert_true(as.counts[-MUSTER_E_NOMEM] < MANY_QUEUES);
    answers_close(&as);
}

/* ---- what nobody has heard of ---- */

#define A_LEASE 3661234 /* no other number is it */
#define A_TAKE "3661234"

/* The answers of two takes are lost, and from there on the n-th allocation fails. False: there were not so many. */
static bool give_back(struct scene *s, struct proxy *proxy, int n)
{
    struct answers as;
    static struct bag bags[2];
    const int64_t held = leased(s);
    scene_enqueue_n(s, "q", "t", 4);
    answers_open(&as, s, proxy->url, 0, NULL);
    assert_ok(muster_async_length(as.async, "q", answers_fn, NULL));
    answers_await(&as, 1);
    proxy_trap(proxy, A_TAKE, PROXY_REPLIES);
    until_failure = n;
    for (size_t i = 0; i < N_OF(bags); i++) {
        bags[i] = (struct bag){.err = 1};
        assert_ok(muster_async_take(as.async, "q", 2, A_LEASE, 0, keep, &bags[i]));
    }
    answers_await(&as, 1 + N_OF(bags));
    raw_await(s->server->redis, NULL, held + (int64_t)(bags[0].taken.n + bags[1].taken.n),
              "HLEN %s:processing:.lease:q", s->prefix);
    const bool has_failed = until_failure == NEVER;
    until_failure = NEVER;
    answers_close(&as);
    return has_failed;
}

static void what_was_not_heard_of_goes_back_whichever_allocation_fails(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    int n = 0;
    main_thread = pthread_self();
    proxy_start(&proxy, s->server->dir, s->server->socket);
    while (give_back(s, &proxy, n))
        n++;
    assert_true(n >= 10);
    proxy_stop(&proxy);
}

/* ---- a listener ---- */

char *__real_strndup(const char *text, size_t len);
char *__wrap_strndup(const char *text, size_t len);

char *__wrap_strndup(const char *text, size_t len)
{
    return fails(len) ? NULL : __real_strndup(text, len);
}

static bool has_failed_twice(void *arg)
{
    (void)arg;
    return n_failed >= 2;
}

/* There is no memory for what was heard, nor for saying so: it is said as soon as there is. */
static void a_listener_without_memory_tells_of_the_gap_when_it_has_some(void **state)
{
    struct scene *s = *state;
    main_thread = pthread_self();
    for (int i = 0; i < 2; i++) {
        struct hearing h;
        hearing_open(&h, s, NULL, 0, NULL);
        hearing_add(&h, "q", i == 0 ? MUSTER_LISTEN_CANCELLED : MUSTER_LISTEN_JOBS);
        hearing_await(&h, "ready q", 1);
        hearing_forget(&h);
        n_failed = 0;
        is_out = true;
        if (i == 0)
            assert_ok(muster_task_cancel(s->client, "q", "x", 1, NULL, NULL));
        else
            job_put(s, "q", JOB_SPEC(.id = "j"));
        wait_until(has_failed_twice, NULL, SOON_MS);
        is_out = false;
        hearing_await(&h, "ready q", 1);
        assert_non_null(strstr(h.lines, "gap q "));
        hearing_close(&h);
    }
}

/* What was wished is not forgotten, and it says READY, although there was no memory even to say that there was none. */
static void a_wish_without_memory_comes_true_when_there_is_some(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    main_thread = pthread_self();
    hearing_open(&h, s, NULL, 0, NULL);
    hearing_add(&h, "before", MUSTER_LISTEN_ALL);
    hearing_await(&h, "ready before", 1);
    n_failed = 0;
    is_out = true;
    hearing_add(&h, "q", MUSTER_LISTEN_CANCELLED);
    hearing_add(&h, "r", MUSTER_LISTEN_JOBS);
    wait_until(has_failed_twice, NULL, SOON_MS);
    is_out = false;
    hearing_await(&h, "ready q", 1);
    hearing_await(&h, "ready r", 1);
    hearing_close(&h);
}

int main(int argc, char **argv)
{
    event_set_mem_functions(malloc, more_of_libevent, free);
    const struct CMUnitTest tests[] = {
        live_test(what_there_is_no_memory_for_is_for_others),
        live_test(several_that_there_is_no_memory_for_stop_no_queue),
        live_test(a_caller_that_has_stopped_gets_no_more),
        live_test(a_client_that_is_freed_meanwhile_leaves_nothing_leased),
        live_test(memory_that_is_there_again_is_enough),
        live_test(none_is_left_whichever_allocation_fails),
        live_test(a_look_has_its_own_answers_whichever_allocation_failed_before),
        live_test(a_blocking_listener_without_memory_ends),
        live_test(what_redis_does_not_send_is_told_whichever_allocation_fails),
        live_test(jobs_are_taken_or_go_back_whichever_allocation_fails),
        live_test(scripts_are_sent_again_whichever_allocation_fails),
        live_test(a_take_that_waits_has_a_timer_or_is_refused),
        live_test(what_was_not_heard_of_goes_back_whichever_allocation_fails),
        live_test(a_listener_without_memory_tells_of_the_gap_when_it_has_some),
        live_test(a_wish_without_memory_comes_true_when_there_is_some),
    };
    return scene_run(tests, argc, argv);
}
