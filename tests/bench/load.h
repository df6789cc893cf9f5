/* SPDX-License-Identifier: MIT
 *
 * The tasks that the benchmark sends, and how it knows that they arrived: their number, and the sum of a digest of each
 * task's bytes, which does not depend on their order.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <muster/client.h>

/* Several processes and threads may add to it. */
struct tally {
    _Atomic uint64_t count, sum;
};

void tally_add(struct tally *t, const void *data, size_t len);

/* fail() unless the tally is `want`; then set it to zero. `where` says where the tasks came from. */
void tally_check(struct tally *t, const struct tally *want, const char *where);

/* `n` tasks of `len` bytes, each different. */
struct load {
    size_t n, len;
    char *bytes;
    struct muster_bytes *tasks;
    struct tally all;
};

void load_make(struct load *l, size_t n, size_t len);
void load_clear(struct load *l);

/* How many tasks travel together: 50, or as many as 256 KiB hold. */
size_t load_batch(size_t len);

#endif
