/* SPDX-License-Identifier: MIT
 *
 * What the tests stand on: a failing helper names the line of the case that called it, and a program runs the cases
 * that its argument names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "testing.h"

/* ---- a program of three cases, which fail or not ---- */

static void assert_even(int n)
{
    assert_int_equal(n % 2, 0);
}

static void assert_both_even(int a, int b)
{
    assert_even(a);
    assert_even(b);
}

enum { CALLED_AT = __LINE__ + 6 };

static void it_fails(void **state)
{
    (void)state;
    assert_both_even(2, 4);
    assert_both_even(2, 5);
}

static void it_passes(void **state)
{
    (void)state;
}

static void it_passes_too(void **state)
{
    (void)state;
}

struct ended {
    int status;
    char said[4096];
};

/* Runs the program with this argument in a child, and keeps all that it prints. */
static struct ended run_with(const char *argument)
{
    const struct CMUnitTest cases[] = {cmocka_unit_test(it_fails), cmocka_unit_test(it_passes),
                                       cmocka_unit_test(it_passes_too)};
    char name[] = "program", copy[64], *argv[] = {name, copy, NULL};
    struct ended ended = {0};
    int ends[2];
    snprintf(copy, sizeof copy, "%s", argument);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = child_fork();
    if (pid == 0) {
        unsetenv("CMOCKA_TEST_ABORT");
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        int status = testing_run(cases, NULL, NULL, 2, argv);
        fflush(NULL);
        _exit(status);
    }
    close(ends[1]);
    ssize_t got = 1;
    for (size_t at = 0; at < sizeof ended.said - 1 && got > 0; at += (size_t)got) {
        got = read(ends[0], ended.said + at, sizeof ended.said - 1 - at);
        assert_true(got >= 0);
    }
    close(ends[0]);
    int status = child_reap(pid, 10000);
    assert_true(WIFEXITED(status));
    ended.status = WEXITSTATUS(status);
    return ended;
}

static void assert_said(const struct ended *ended, const char *words)
{
    if (!strstr(ended->said, words))
        fail_msg("'%s' is not in '%s'", words, ended->said);
}

/* ---- cases ---- */

/* Only the sanitizers' runtime tells the lines. */
static void a_failing_helper_names_the_line_of_its_case(void **state)
{
    (void)state;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    skip();
#endif
    struct ended ended = run_with("it_fails");
    char place[600];
    snprintf(place, sizeof place, "%s:%d: error: Failure!", __FILE__, CALLED_AT);
    assert_said(&ended, place);
    assert_said(&ended, ": assert_even\n");
    assert_said(&ended, ": assert_both_even\n");
    assert_int_equal(ended.status, EXIT_FAILURE);
}

static void a_name_runs_its_case(void **state)
{
    (void)state;
    struct ended ended = run_with("it_passes");
    assert_said(&ended, "Running 1 test(s)");
    assert_said(&ended, "it_passes\n");
    assert_int_equal(ended.status, EXIT_SUCCESS);
}

static void a_pattern_runs_all_that_it_matches(void **state)
{
    (void)state;
    struct ended ended = run_with("*passes*");
    assert_said(&ended, "Running 2 test(s)");
    assert_int_equal(ended.status, EXIT_SUCCESS);
}

static void a_name_of_no_case_is_a_failure(void **state)
{
    (void)state;
    struct ended ended = run_with("it_is_none");
    assert_string_equal(ended.said, "no case is named it_is_none; --list prints the names\n");
    assert_int_equal(ended.status, EXIT_FAILURE);
}

static void the_list_has_each_case_in_a_line(void **state)
{
    (void)state;
    struct ended ended = run_with("--list");
    assert_string_equal(ended.said, "it_fails\nit_passes\nit_passes_too\n");
    assert_int_equal(ended.status, EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_helper_names_the_line_of_its_case),
        cmocka_unit_test(a_name_runs_its_case),
        cmocka_unit_test(a_pattern_runs_all_that_it_matches),
        cmocka_unit_test(a_name_of_no_case_is_a_failure),
        cmocka_unit_test(the_list_has_each_case_in_a_line),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
