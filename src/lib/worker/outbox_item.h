/* SPDX-License-Identifier: MIT
 *
 * An event or an answer that waits for muster_worker_next(), with copies of all its words and bytes.
 */
#ifndef OUTBOX_ITEM_H
#define OUTBOX_ITEM_H

#include <muster/worker.h>
#include <stddef.h>

struct outbox_item {
    struct outbox_item *next;
    struct muster_item item;
    struct muster_process *process; /* that it is about, while it waits; NULL: none, or it is freed */
    struct outbox_item *before;     /* about the same process */
    size_t bytes;                   /* what it occupies */
    char copies[];
};

/* Before a process may begin: the program may wait for the event that tells of its end. MUSTER_OK, also if it does not
 * listen, or E_NOMEM. */
int outbox_item_keep(struct muster_process *p);
/* NULL: out of memory. That of MUSTER_EVENT_STOPPED is `*stopped`, which was made for it and is used up; the same with
 * that of the end of a process. */
struct outbox_item *outbox_item_of_event(const struct muster_event *e, struct outbox_item **stopped);
struct outbox_item *outbox_item_for_stopped(void);
/* `job` may be NULL. Its `err` and `waiting` follow. */
struct outbox_item *outbox_item_of_answer(const char *queue, const char *job, void *arg);
/* It waits, and no longer: its process knows it meanwhile. Under the outbox's lock. */
void outbox_item_tie(struct outbox_item *item);
void outbox_item_untie(struct outbox_item *item);
void outbox_item_free_all(struct outbox_item *first);

#endif
