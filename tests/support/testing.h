/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it needs before it, an assert for muster's return codes that says the error's name, and
 * the one way to run the cases of a test program:
 *
 *     PROGRAM            run all cases
 *     PROGRAM CASE       run the cases that this name or pattern (with * and ?) matches; none is a failure
 *     PROGRAM --list     print the names of all cases, one a line
 *
 * A failure is reported at the line of the case, with the calls from there to the assert, so a helper that asserts
 * needs no line of its caller.
 */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <muster/error.h>

#define assert_err(call, expected)                                                                    \
    do {                                                                                              \
        int err_ = (call);                                                                            \
        if (err_ != (expected))                                                                       \
            fail_msg("%s: %s, expected %s", #call, muster_err_name(err_), muster_err_name(expected)); \
    } while (0)
#define assert_ok(call) assert_err(call, MUSTER_OK)

#define N_OF(array) (sizeof array / sizeof array[0])

/* The exit status of the program. `set_up` and `tear_down` are called once, around all cases; NULL: nothing. */
int testing_run_cases(const struct CMUnitTest *cases, size_t n, CMFixtureFunction set_up, CMFixtureFunction tear_down,
                      int argc, char **argv);
#define testing_run(cases, set_up, tear_down, argc, argv) \
    testing_run_cases(cases, N_OF(cases), set_up, tear_down, argc, argv)

/* From now on until it is called, or set to NULL, `tell` is called when an assert fails: it prints what the failure
 * comes from. */
void testing_on_failure(void (*tell)(void *arg), void *arg);

#endif
