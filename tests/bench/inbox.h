/* SPDX-License-Identifier: MIT
 *
 * What a child receives, in memory that it shares with its parent: tallies, and how long each task was on its way. The
 * sender writes the time into the task's first bytes.
 */
#ifndef INBOX_H
#define INBOX_H

#include "bench.h"
#include "load.h"

#define INBOX_MAX 4096

struct inbox {
    _Alignas(64) struct tally tally;
    int64_t latency_ns[INBOX_MAX];
};

/* Shared memory for this process and the children it will have. */
void *shared_make(size_t size);
void shared_free(void *memory, size_t size);

/* In the child: a task has arrived, with a time stamp or without. */
void inbox_receive(struct inbox *in, const void *task, size_t len);
void inbox_receive_stamped(struct inbox *in, const void *task, size_t len);

/*
 * Send `n` stamped tasks of `len` bytes, one by one. The next one is sent when the one before has been received, and
 * its worker has had a moment to become idle again. Tasks arrive in any of `n_boxes`, which lie `stride` bytes apart.
 * They are checked, and their latencies go into `out`.
 */
struct sender {
    void (*send)(void *arg, const void *task, size_t len);
    void *arg;
    const char *name; /* of the experiment */
    int64_t rest_us;  /* between two tasks; 0: a moment */
};
void inbox_exchange(struct inbox *boxes, size_t n_boxes, size_t stride, const struct sender *sender, size_t n,
                    size_t len, struct block *out);

/* Wait until all stamped tasks in `sent` have been received, and do the same with them. */
void inbox_await(struct inbox *boxes, size_t n_boxes, size_t stride, const struct tally *sent, const char *name,
                 struct block *out);

#endif
