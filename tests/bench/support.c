/* SPDX-License-Identifier: MIT
 *
 * Failing, the clock, and waiting for what other processes do.
 */
#include <muster/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "child.h"

#define LOOK_US 100
#define AWAIT_NS ((int64_t)30 * 1000000000)

void fail(const char *format, ...)
{
    va_list args;
    fputs("muster-bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void must(int err, const char *what)
{
    if (err != MUSTER_OK)
        fail("%s: %s (%s)", what, muster_err_text(err), muster_err_name(err));
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pause_us(int64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

void await(bool (*holds)(void *arg), void *arg, const char *what)
{
    for (int64_t until = now_ns() + AWAIT_NS; !holds(arg); pause_us(LOOK_US)) {
        child_check();
        if (now_ns() > until)
            fail("waited too long until %s", what);
    }
}
