/* SPDX-License-Identifier: MIT
 *
 * What a child receives, in memory that it shares with its parent: tallies, and how long each task was on its way. The
 * sender writes the time into a task's first bytes.
 */
#ifndef INBOX_H
#define INBOX_H

#include "bench.h"
#include "load.h"

#define INBOX_MAX 1024

struct inbox {
    _Alignas(64) struct tally tally;
    int64_t latency_ns[INBOX_MAX];
};

/* Shared memory for this process and the children it will have. */
void *shared_make(size_t size);
void shared_free(void *memory, size_t size);

/* In the child: a task is there. What was sent with a time stamp says so. */
void inbox_receive(struct inbox *in, const void *task, size_t len, int stamped);

/*
 * Send `n` stamped tasks of `len` bytes, one by one: the next one when the one before has been received, and a moment
 * in which whoever was woken becomes idle again has passed. The tasks are received in one of `n_boxes`, `stride` bytes
 * apart. Their latencies go into `out`, and they are checked.
 */
struct sender {
    void (*send)(void *arg, const void *task, size_t len);
    void *arg;
    const char *name; /* of the experiment */
};
void inbox_exchange(struct inbox *boxes, size_t n_boxes, size_t stride, const struct sender *sender, size_t n,
                    size_t len, struct block *out);

/* Wait until `n` stamped tasks, which are `sent`, have been received; then as inbox_exchange(). */
void inbox_await(struct inbox *box, size_t n, const struct tally *sent, const char *name, struct block *out);

#endif
