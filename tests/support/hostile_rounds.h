/* SPDX-License-Identifier: MIT
 *
 * Rounds of calls to servers that answer nonsense. In each a process of its own makes calls in a namespace with
 * something of everything, and reads every byte that it is given: under sanitizers it would not live to its end
 * otherwise.
 *
 * MUSTER_FAULT_SECONDS: how long a case goes on. MUSTER_TEST_SEED: where it begins; a failure names the seed.
 */
#ifndef HOSTILE_ROUNDS_H
#define HOSTILE_ROUNDS_H

#include <stdint.h>

#include "random.h"
#include "scene.h"

/* One server, one process, one seed: so many calls, each with this timeout. */
#define HOSTILE_CALLS 150
#define HOSTILE_TIMEOUT_MS 100

struct hostile_caller {
    const char *url, *prefix;
    struct random random;
    char leased[80], held[80]; /* a process under a lease, and one of a worker */
    unsigned long sum;         /* of all bytes that were read */
};

void hostile_read(struct hostile_caller *c, const void *data, size_t len);
/* NULL is nothing. */
void hostile_read_text(struct hostile_caller *c, const char *text);

/* Usually the one where there is something. */
const char *hostile_queue(struct hostile_caller *c);
/* One of both. */
const char *hostile_process(struct hostile_caller *c);

/* In the child: make the calls, and leave with _exit(). */
typedef void hostile_calls_fn(struct hostile_caller *c);

/* Rounds until the time is over. `relay_to` is that of struct hostile_spec; `fastest` is how many commands the server may
 * get within one second, 0: any number. */
void hostile_rounds(struct scene *s, const char *relay_to, uint64_t fastest, hostile_calls_fn *make_calls);

#endif
