/* SPDX-License-Identifier: MIT
 *
 * What has a loop of its own, made by a program that has few descriptors left, or none.
 */
#include <fcntl.h>
#include <muster/async.h>
#include <muster/listen.h>
#include <muster/worker.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testing.h"

#define MOST 64 /* descriptors of the program */
#define FREE 16 /* enough for each of them */

static const struct muster_client_options nowhere = {.size = sizeof nowhere, .url = "unix:///nowhere"};

static int make_worker(void)
{
    struct muster_worker *w;
    const struct muster_worker_options o = {.size = sizeof o, .url = nowhere.url};
    int err = muster_worker_new(&w, &o);
    muster_worker_free(w);
    return err;
}

static int make_async(void)
{
    struct muster_async *a;
    const struct muster_async_options o = {.size = sizeof o, .client = &nowhere};
    int err = muster_async_new(&a, &o);
    muster_async_free(a);
    return err;
}

static int make_listener(void)
{
    struct muster_listener *l;
    const struct muster_listener_options o = {.size = sizeof o, .client = &nowhere};
    int err = muster_listener_new(&l, &o);
    muster_listener_free(l);
    return err;
}

/* With all descriptors in use but so many. */
static int make_with(int (*make)(void), int n_free)
{
    int fds[MOST], n = 0;
    while (n < MOST && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    for (int i = 0; i < n_free; i++)
        close(fds[--n]);
    int err = make();
    while (n > 0)
        close(fds[--n]);
    return err;
}

static void without_descriptors_there_is_none_and_the_program_lives(void **state)
{
    static int (*const makes[])(void) = {make_worker, make_async, make_listener};
    struct rlimit before, few;
    (void)state;
    assert_return_code(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){MOST, before.rlim_max};
    assert_return_code(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (size_t i = 0; i < N_OF(makes); i++) {
        assert_err(make_with(makes[i], 0), MUSTER_E_NOMEM);
        for (int n = 1; n < FREE; n++) {
            int err = make_with(makes[i], n);
            if (err != MUSTER_OK)
                assert_err(err, MUSTER_E_NOMEM);
        }
        assert_ok(make_with(makes[i], FREE));
    }
    assert_return_code(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_descriptors_there_is_none_and_the_program_lives),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
