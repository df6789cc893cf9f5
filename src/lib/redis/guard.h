/* SPDX-License-Identifier: MIT
 *
 * A guard on what hiredis reads: it looks at each part of an answer before hiredis makes room for it, and may refuse
 * it. Then the connection is broken, with the guard's words.
 *
 * hiredis makes room for a list as soon as it has read its length, so a length alone could take all memory, and much
 * time to give back. And it asserts, on a connection of a loop, that what it reads was asked for.
 */
#ifndef GUARD_H
#define GUARD_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest list: more than any command of muster brings. */
#define GUARD_LIST_MAX 10000000

/* A part of an answer. `text` is that of a string, a status or an error, otherwise NULL; `n` its length, a list's
 * length, or 0. */
struct guard_part {
    const redisReadTask *task;
    const char *text;
    size_t n;
};

typedef bool guard_expect_fn(void *arg, const struct guard_part *part);

struct guard {
    redisReplyObjectFunctions functions; /* what hiredis calls */
    redisReplyObjectFunctions *plain;    /* hiredis' own, which do the work */
    guard_expect_fn *expects;            /* NULL: everything but a list that is too long */
    void *arg;
    const char *refused; /* why it has refused an answer; NULL: it has not */
};

/* The guard must live as long as the reader. */
void guard_attach(struct guard *g, redisReader *reader, guard_expect_fn *expects, void *arg);

#endif
