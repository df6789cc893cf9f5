/* SPDX-License-Identifier: MIT
 *
 * Sending to children, and what they received.
 */
#include "inbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "meter.h"

#define LEN_MAX 1024
/* More than a worker needs to finish a task and become idle. */
#define REST_US 150

void *shared_make(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("no shared memory: %s", strerror(errno));
    return memory;
}

void shared_free(void *memory, size_t size)
{
    munmap(memory, size);
}

void inbox_receive(struct inbox *in, const void *task, size_t len)
{
    tally_add(&in->tally, task, len);
}

void inbox_receive_stamped(struct inbox *in, const void *task, size_t len)
{
    int64_t sent_ns, at_ns = now_ns();
    memcpy(&sent_ns, task, sizeof sent_ns);
    in->latency_ns[in->tally.count % INBOX_MAX] = at_ns - sent_ns;
    inbox_receive(in, task, len); /* last: the parent waits for the count */
}

/* ---- the parent ---- */

struct boxes {
    struct inbox *first;
    size_t n, stride;
    uint64_t want;
};

static struct inbox *box_at(const struct boxes *b, size_t i)
{
    return (struct inbox *)((char *)b->first + i * b->stride);
}

static bool all_received(void *arg)
{
    const struct boxes *b = arg;
    uint64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += atomic_load_explicit(&box_at(b, i)->tally.count, memory_order_acquire);
    return n >= b->want;
}

/* Empties the boxes. */
static void collect(const struct boxes *b, struct tally *got, int64_t *latencies)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct inbox *in = box_at(b, i);
        memcpy(latencies + n, in->latency_ns, in->tally.count * sizeof *latencies);
        n += in->tally.count;
        got->count += in->tally.count;
        got->sum += in->tally.sum;
        in->tally = (struct tally){0};
    }
}

static void finish(const struct boxes *b, const struct tally *sent, const char *name, struct block *out)
{
    struct tally got = {0};
    int64_t latencies[INBOX_MAX];
    collect(b, &got, latencies);
    meter_latencies(latencies, got.count, out);
    tally_check(&got, sent, name);
}

void inbox_exchange(struct inbox *boxes, size_t n_boxes, size_t stride, const struct sender *sender, size_t n,
                    size_t len, struct block *out)
{
    struct boxes b = {boxes, n_boxes, stride, 0};
    struct tally sent = {0};
    char task[LEN_MAX];
    memset(task, 'm', sizeof task);
    for (; b.want < n && b.want < INBOX_MAX;) {
        int64_t at_ns = now_ns();
        memcpy(task, &at_ns, sizeof at_ns);
        sender->send(sender->arg, task, len);
        tally_add(&sent, task, len);
        b.want++;
        pause_us(sender->rest_us ? sender->rest_us : REST_US);
        await(all_received, &b, "a task is received");
    }
    finish(&b, &sent, sender->name, out);
}

void inbox_await(struct inbox *boxes, size_t n_boxes, size_t stride, const struct tally *sent, const char *name,
                 struct block *out)
{
    struct boxes b = {boxes, n_boxes, stride, sent->count};
    await(all_received, &b, "all are received");
    finish(&b, sent, name, out);
}
