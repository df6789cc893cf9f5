/* SPDX-License-Identifier: MIT
 *
 * Tasks and tallies. The digest is cheap, since both sides compute it while the clock runs.
 */
#include "load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define BATCH 50
#define BATCH_BYTES ((size_t)256 * 1024)
#define ODD UINT64_C(0x9e3779b97f4a7c15)

static uint64_t digest(const void *data, size_t len)
{
    const char *at = data;
    uint64_t sum = len, word;
    for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * ODD;
        sum ^= sum >> 29;
    }
    word = 0;
    memcpy(&word, at, len);
    return (sum ^ word) * ODD;
}

void tally_add(struct tally *t, const void *data, size_t len)
{
    atomic_fetch_add_explicit(&t->sum, digest(data, len), memory_order_relaxed);
    atomic_fetch_add_explicit(&t->count, 1, memory_order_release);
}

void tally_check(struct tally *t, const struct tally *want, const char *where)
{
    if (t->count != want->count)
        fail("%s: %" PRIu64 " tasks went in, %" PRIu64 " came out", where, want->count, t->count);
    if (t->sum != want->sum)
        fail("%s: other bytes came out than went in", where);
    *t = (struct tally){0};
}

void load_make(struct load *l, size_t n, size_t len)
{
    *l = (struct load){.n = n, .len = len};
    l->bytes = malloc(n * len);
    l->tasks = calloc(n, sizeof *l->tasks);
    if (!l->bytes || !l->tasks)
        fail("no memory for %zu tasks of %zu bytes", n, len);
    for (size_t i = 0; i < n; i++) {
        char *task = l->bytes + i * len;
        uint64_t number = i;
        memset(task, (int)('a' + i % 26), len);
        memcpy(task, &number, len < sizeof number ? len : sizeof number);
        l->tasks[i] = (struct muster_bytes){task, len};
        tally_add(&l->all, task, len);
    }
}

void load_clear(struct load *l)
{
    free(l->bytes);
    free(l->tasks);
    *l = (struct load){0};
}

size_t load_batch(size_t len)
{
    size_t n = BATCH_BYTES / len;
    return n < 1 ? 1 : n < BATCH ? n : BATCH;
}
