/* SPDX-License-Identifier: MIT
 *
 * Complaints on standard error. One table turns the library's errors into exit codes and advice. A message takes the
 * address of Redis from the library's words, which hold no password; the URL may hold one, and is never printed.
 */
#include "complain.h"

#include <muster/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static void print_message(const struct call *call, const char *format,
                                                                va_list args)
{
    fprintf(stderr, "muster %s: ", call->command->name);
    vfprintf(stderr, format, args);
}

void complain(const struct call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(call, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int complain_usage(const struct call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(call, format, args);
    va_end(args);
    fprintf(stderr, "; see `muster %s --help`\n", call->command->name);
    return EXIT_USAGE;
}

/* ---- errors of the library ---- */

/*
 *   what    printed before the library's words, where these do not say it; NULL: nothing
 *   advice  what to do next; NULL: there is no general advice
 */
struct meaning {
    int exit;
    const char *what, *advice;
};

/* The index is the error's number without its sign. */
static const struct meaning meanings[] = {
    [-MUSTER_OK] = {EXIT_DONE, NULL, NULL},
    [-MUSTER_E_NOMEM] = {EXIT_FAILED, NULL, "free some memory and try again"},
    [-MUSTER_E_INVALID] = {EXIT_USAGE, NULL, NULL},
    [-MUSTER_E_TOO_BIG] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_CONN] = {EXIT_NO_REDIS, "no Redis",
                        "start one with `muster serve`, or name another with --url or MUSTER_URL"},
    [-MUSTER_E_TIMEOUT] = {EXIT_TIMEOUT, NULL, "wait longer with --timeout"},
    [-MUSTER_E_FULL] = {EXIT_BUSY, "Redis is full",
                        "raise its maxmemory, let workers take what waits, or `muster drop` what has failed"},
    [-MUSTER_E_BUSY] = {EXIT_BUSY, "Redis is busy", "try again later"},
    [-MUSTER_E_DENIED] = {EXIT_DENIED, "denied",
                          "name a user who has the permission in the URL: redis://user:password@host"},
    [-MUSTER_E_REDIS] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_FORMAT] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_NOT_FOUND] = {EXIT_NOT_FOUND, NULL, NULL},
    [-MUSTER_E_EXISTS] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_STATE] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_LOST] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_GONE] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_NOT_STARTED] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_CANCELLED] = {EXIT_FAILED, NULL, NULL},
    [-MUSTER_E_UNCONFIRMED] = {EXIT_UNCONFIRMED, NULL, NULL},
};

#define COUNT_ERROR(name, number, text) +1
_Static_assert(sizeof meanings / sizeof *meanings == 0 MUSTER_ERRORS(COUNT_ERROR), "every error has a meaning here");
#undef COUNT_ERROR

/* A replica does not get better by waiting. */
static const struct meaning replica = {EXIT_BUSY, "this Redis is a replica",
                                       "name its master with --url or MUSTER_URL"};

int complain_error(const struct call *call, int err, const char *detail)
{
    const struct meaning *m = &meanings[-err];
    if (err == MUSTER_E_BUSY && strstr(detail, "READONLY"))
        m = &replica;
    if (err != MUSTER_OK)
        complain(call, "%s%s%s%s%s", m->what ? m->what : "", m->what ? ": " : "",
                 *detail ? detail : muster_err_text(err), m->advice ? "; " : "", m->advice ? m->advice : "");
    return m->exit;
}
