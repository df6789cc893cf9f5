/* SPDX-License-Identifier: MIT
 *
 * A guard on what is read: it looks at each part of a reply before hiredis' reader makes room for it, and may refuse
 * it. Then the connection is broken, with the guard's words.
 *
 * The reader makes room for a list as soon as it has read its length, follows any depth in later versions, keeps a line
 * without an end for ever, and does not know what was asked for. So the bounds stand here, and so does the law that
 * nothing is read which was not asked for.
 */
#ifndef GUARD_H
#define GUARD_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

/* More than any command of muster brings. */
#define GUARD_DEPTH_MAX 7
#ifndef GUARD_ELEMENTS_MAX          /* a fuzzer has a smaller one */
#define GUARD_ELEMENTS_MAX 10000000 /* of one reply, on all its levels */
#endif
#define GUARD_LINE_MAX ((size_t)64 * 1024)                 /* an error, a status, a number */
#define GUARD_TEXT_MAX ((size_t)512 * 1024 * 1024)         /* Redis' own limit */
#define GUARD_BYTES_MAX ((uint64_t)4 * 1024 * 1024 * 1024) /* the texts of one reply */

struct guard {
    redisReplyObjectFunctions functions; /* what the reader calls */
    redisReplyObjectFunctions *plain;    /* hiredis' own, which do the work */
    size_t asked;                        /* so many answers are still to come */
    bool listens;                        /* what is pushed to a subscriber may come at any time */
    size_t elements;                     /* of the reply that is being read */
    uint64_t bytes;
    const char *refused; /* why it has refused a reply; NULL: it has not */
};

/* The guard must live as long as the reader. */
void guard_attach(struct guard *g, redisReader *reader);

/* Call this when the reader has no whole reply: what it holds of the next one may grow beyond the bounds. Returns false
 * if it must not be waited for. */
bool guard_may_wait(struct guard *g, const redisReader *reader);

/* Was the reply pushed, and is it no answer? */
bool guard_is_push(const redisReply *reply);

#endif
