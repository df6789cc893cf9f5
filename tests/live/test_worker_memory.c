/* SPDX-License-Identifier: MIT
 *
 * A worker for which there is no memory for a moment: nothing ends the program, and afterwards all goes on.
 *
 * The linker puts the functions below in place of malloc() and its family, in the library too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"

static bool is_out;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
    errno = is_out ? ENOMEM : errno;
    return is_out;
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

/* What could not be sent is enqueued again, by whom that is told. */
struct stubborn {
    int n_refused, n_done;
};

static void try_again(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    struct stubborn *s = arg;
    (void)waiting;
    is_out = false;
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
    is_out = true;
    wait_on(s->base, is_done, &stubborn, SOON_MS);
    assert_int_equal(stubborn.n_refused, 1);
    assert_int_equal(scene_waiting(s, "elsewhere"), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(what_could_not_be_sent_may_be_enqueued_again_at_once)};
    return scene_run(tests, argc, argv);
}
