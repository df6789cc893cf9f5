/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it needs before it, and an assert for muster's return codes that says the error's name.
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

#endif
