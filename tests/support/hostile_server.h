/* SPDX-License-Identifier: MIT
 *
 * A server that answers nonsense, in a process of its own: its own nonsense, or a real Redis' answers of which it
 * changes some. A seed decides all of it. It counts what it is asked, so that a caller that asks in a tight loop is
 * found out.
 */
#ifndef HOSTILE_SERVER_H
#define HOSTILE_SERVER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/*
 *   relay_to  the socket of a real Redis; NULL: there is none
 *   seed      of what it answers
 *   percent   of the answers that are nonsense. Without a real Redis all others are what a greeting expects
 *   constant  if it is not NULL, this is the answer to everything but a greeting; with a real Redis, to
 *             what has the text `only` in it, and all else is passed on as it is
 */
struct hostile_spec {
    const char *relay_to;
    uint64_t seed;
    unsigned percent;
    const char *constant, *only;
};

/*
 *   fastest     the most commands within one second
 *   refuses_in  that of so many commands from now on is not passed on to the real Redis, but gets the error `refusal`,
 *               once; 0: none is
 *   holds_in    the answer to that of so many commands from now on is not passed on, nor any behind it; 0: none is held
 *   is_mild     not 0: what has the text `only` is passed on, too
 *   held        answers that came first of those that are not passed on
 */
struct hostile_counts {
    _Atomic uint64_t commands, replies, nonsense, fastest, refuses_in, holds_in, held, is_mild;
    char refusal[128];
};

struct hostile_server {
    pid_t pid;
    char url[112];
    struct hostile_counts *counts;
};

/* In the directory. The counts are those of all servers that were started with this struct. */
void hostile_server_start(struct hostile_server *h, const char *dir, const struct hostile_spec *spec);
void hostile_server_stop(struct hostile_server *h);

/* Of the server that runs: the most commands within one second. Taking it sets it back. */
uint64_t hostile_server_fastest(struct hostile_server *h);

#endif
