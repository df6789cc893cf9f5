/* SPDX-License-Identifier: MIT
 *
 * A worker for which there is no memory for a moment: nothing ends the program, nothing is lost, and afterwards all goes
 * on by itself.
 *
 * The linker puts the functions below in place of malloc() and its family, in the library too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "slow.h"

#define NEVER (-1)
#define TTL_MS slow_ms(300)

static struct {
    long until_failure; /* allocations that go well before one fails */
    size_t n_failed;
    bool stays; /* all after it fail as well */
} memory = {.until_failure = NEVER};

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

static bool fails(void)
{
    if (memory.until_failure == NEVER || memory.until_failure-- > 0)
        return false;
    memory.until_failure = memory.stays ? 0 : NEVER;
    memory.n_failed++;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    return fails() ? NULL : __real_strndup(text, len);
}

/* ---- what could not be sent ---- */

/* It is enqueued again, by whom that is told. */
struct stubborn {
    int n_refused, n_done;
};

static void try_again(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    struct stubborn *s = arg;
    (void)waiting;
    memory.until_failure = NEVER;
    s->n_refused += err == MUSTER_E_NOMEM;
    s->n_done += err == MUSTER_OK;
    if (err != MUSTER_OK)
        assert_ok(muster_worker_enqueue(w, "elsewhere", "t", 1, try_again, arg));
}

static bool is_done(void *stubborn)
{
    return ((struct stubborn *)stubborn)->n_done > 0;
}

static void what_could_not_be_sent_may_be_enqueued_again_at_once(void **state)
{
    struct scene *s = *state;
    struct stubborn stubborn = {0};
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w", .queues = {{"q", 0}}});
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, try_again, &stubborn));
    memory.stays = true;
    memory.until_failure = 0;
    wait_on(s->base, is_done, &stubborn, SOON_MS);
    memory.stays = false;
    assert_int_equal(stubborn.n_refused, 1);
    assert_int_equal(scene_waiting(s, "elsewhere"), 1);
}

/* ---- each allocation fails once ---- */

/* Whatever it is refused is tried again. */
static enum muster_outcome hand_on(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    int err = muster_worker_enqueue(w->worker, "elsewhere", "t", 1, NULL, NULL);
    if (err == MUSTER_OK)
        err = muster_process_set_result(p, "result", 6);
    if (err == MUSTER_OK && muster_process_job(p))
        err = muster_process_set_data(p, "data", 4);
    if (err == MUSTER_OK)
        err = muster_process_progress(p, "done");
    return err == MUSTER_OK ? MUSTER_FINISH : MUSTER_GIVE_BACK;
}

/* How much of the queue is not done. */
static const char left[] =
    "local P, q = KEYS[1], ARGV[1] "
    "return redis.call('LLEN', P .. ':queues:' .. q) + redis.call('ZCARD', P .. ':returned:' .. q) "
    "+ redis.call('ZCARD', P .. ':waiting:' .. q) + (tonumber(redis.call('HGET', P .. ':queue:' .. q, 'running')) or "
    "0)";

/* Two tasks and a job each time. */
static void an_allocation_that_fails_once_is_made_up_for(void **state)
{
    struct scene *s = *state;
    size_t before;
    long n = -1;
    live_worker_idle(
        s, &(struct worker_spec){.id = "w", .ttl_ms = TTL_MS, .hands = 3, .queues = {{"q", 0}}, .handler = hand_on});
    do {
        const struct muster_job_spec job = {.size = sizeof job, .data = {"d", 1}};
        before = memory.n_failed;
        scene_enqueue_n(s, "q", "t", 2);
        assert_ok(muster_job_put(s->client, "q", &job, NULL));
        memory.until_failure = ++n;
        raw_await(s->server->redis, s->base, 0, "EVAL %s 1 %s q", left, s->prefix);
        memory.until_failure = NEVER;
    } while (memory.n_failed > before);
    assert_true(n > 20);
    assert_true(scene_waiting(s, "elsewhere") >= 3 * (n + 1));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
    scene_await_idle(s, "q", "w");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_could_not_be_sent_may_be_enqueued_again_at_once),
        live_test(an_allocation_that_fails_once_is_made_up_for),
    };
    return scene_run(tests, argc, argv);
}
