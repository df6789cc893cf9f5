/* SPDX-License-Identifier: MIT
 *
 * SIGPIPE around a write: what the write raised is gone, what was pending before stays, and the thread's mask is as it
 * was. A handler of this program counts what gets through.
 */
#include "redis/sigpipe.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

static volatile sig_atomic_t caught;

static void on_sigpipe(int signal)
{
    (void)signal;
    caught++;
}

static bool is_pending(void)
{
    sigset_t pending;
    assert_return_code(sigpending(&pending), errno);
    return sigismember(&pending, SIGPIPE);
}

static sigset_t mask(void)
{
    sigset_t set;
    assert_return_code(sigprocmask(SIG_BLOCK, NULL, &set), errno);
    return set;
}

static void set_blocked(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    assert_return_code(sigprocmask(how, &set, NULL), errno);
}

static int catch_sigpipe(void **state)
{
    const struct sigaction action = {.sa_handler = on_sigpipe};
    (void)state;
    set_blocked(SIG_UNBLOCK);
    caught = 0;
    return sigaction(SIGPIPE, &action, NULL);
}

/* Whatever a failed test left behind. */
static int let_sigpipe_go(void **state)
{
    (void)state;
    set_blocked(SIG_UNBLOCK);
    return 0;
}

static void write_to_a_closed_pipe(void)
{
    int fds[2];
    assert_return_code(pipe(fds), errno);
    close(fds[0]);
    assert_int_equal(write(fds[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(fds[1]);
}

static void without_a_hold_it_is_raised(void **state)
{
    (void)state;
    write_to_a_closed_pipe();
    assert_int_equal(caught, 1);
}

static void a_failed_write_raises_nothing_and_leaves_nothing(void **state)
{
    struct sigpipe hold;
    (void)state;
    for (int i = 0; i < 3; i++) {
        sigpipe_hold(&hold);
        write_to_a_closed_pipe();
        errno = EPIPE;
        sigpipe_release(&hold, true);
        assert_int_equal(errno, EPIPE);
        assert_false(is_pending());
        sigset_t set = mask();
        assert_false(sigismember(&set, SIGPIPE));
    }
    assert_int_equal(caught, 0);
}

static void a_write_that_went_well_changes_nothing(void **state)
{
    struct sigpipe hold;
    (void)state;
    sigpipe_hold(&hold);
    sigpipe_release(&hold, false);
    assert_false(is_pending());
    write_to_a_closed_pipe();
    assert_int_equal(caught, 1);
}

static void one_that_was_pending_before_stays(void **state)
{
    struct sigpipe hold;
    (void)state;
    set_blocked(SIG_BLOCK);
    raise(SIGPIPE);
    sigpipe_hold(&hold);
    write_to_a_closed_pipe();
    sigpipe_release(&hold, true);
    assert_true(is_pending());
    assert_int_equal(caught, 0);
    set_blocked(SIG_UNBLOCK);
    assert_int_equal(caught, 1);
}

static void a_thread_that_blocks_it_goes_on_blocking_it(void **state)
{
    struct sigpipe hold;
    (void)state;
    set_blocked(SIG_BLOCK);
    sigpipe_hold(&hold);
    write_to_a_closed_pipe();
    sigpipe_release(&hold, true);
    sigset_t set = mask();
    assert_true(sigismember(&set, SIGPIPE));
    assert_false(is_pending());
    set_blocked(SIG_UNBLOCK);
    assert_int_equal(caught, 0);
}

static void other_signals_are_left_alone(void **state)
{
    struct sigpipe hold;
    sigset_t usr1, before, held, after;
    (void)state;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_return_code(sigprocmask(SIG_BLOCK, &usr1, NULL), errno);
    before = mask();
    sigpipe_hold(&hold);
    held = mask();
    sigpipe_release(&hold, true);
    after = mask();
    for (int signal = 1; signal < SIGRTMIN; signal++) {
        assert_int_equal(sigismember(&held, signal), signal == SIGPIPE || sigismember(&before, signal));
        assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
    }
    assert_return_code(sigprocmask(SIG_UNBLOCK, &usr1, NULL), errno);
}

/* Then there is nothing to swallow, and waiting for it would hang. */
static void a_program_that_ignores_it_is_not_held_up(void **state)
{
    struct sigpipe hold;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sigpipe_hold(&hold);
    write_to_a_closed_pipe();
    sigpipe_release(&hold, true);
    assert_false(is_pending());
}

#define sigpipe_test(f) cmocka_unit_test_setup_teardown(f, catch_sigpipe, let_sigpipe_go)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        sigpipe_test(without_a_hold_it_is_raised),
        sigpipe_test(a_failed_write_raises_nothing_and_leaves_nothing),
        sigpipe_test(a_write_that_went_well_changes_nothing),
        sigpipe_test(one_that_was_pending_before_stays),
        sigpipe_test(a_thread_that_blocks_it_goes_on_blocking_it),
        sigpipe_test(other_signals_are_left_alone),
        sigpipe_test(a_program_that_ignores_it_is_not_held_up),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
