/* SPDX-License-Identifier: MIT
 *
 * What lies ready for muster_worker_next(): see outbox.c.
 */
#ifndef OUTBOX_H
#define OUTBOX_H

#include <muster/worker.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "worker/outbox_item.h"

/* A suspect is offered only once Redis knows that it begins. If the program then never took it, a death would count
 * against what nobody has run. So the program is invited first, and Redis is told when it has come. */
enum outbox_invitation { INVITES_NOBODY, INVITES, HAS_COME };

struct outbox {
    bool is_there;              /* option own_thread */
    int fd;                     /* an eventfd; -1: none */
    atomic_bool is_heard;       /* the program has asked for it */
    atomic_int n_out;           /* processes that were handed out and not ended */
    atomic_int hands;           /* how many may be out; written under the lock */
    atomic_int n_answers;       /* that are outstanding, or not fetched */
    _Atomic uint64_t n_fetched; /* answers */

    /* Under the lock. */
    pthread_mutex_t lock;
    struct outbox_item *items, **items_end;
    size_t n_events, event_bytes; /* of what is in the list; answers are bounded by n_answers */
    uint64_t n_left_out;
    struct muster_process *offered, **offered_end; /* by next_in_outbox, as the next one */
    struct muster_process *taken, **taken_end;     /* handed out, and the loop does not know it yet */
    enum outbox_invitation invitation;
    bool is_signalled; /* the descriptor is readable */
    bool is_full;      /* the loop was told so, and begins nothing */

    /* The thread that calls muster_worker_next(). */
    struct outbox_item *lent;

    /* The loop's: executor_next.c. */
    struct muster_process *offering, **offering_end; /* to be offered with the end of this dispatch */
    struct outbox_item *stopped;                     /* kept for the last event, which a program waits for */
    int n_running;                                   /* of those that were handed out */
    bool is_inviting;                                /* it does not know of anybody who came */
};

int outbox_new(struct muster_worker *w);
void outbox_free(struct muster_worker *w);

/* ---- the loop's thread ---- */
/* Is it the program's ear for events? */
bool outbox_is_heard(const struct muster_worker *w);
void outbox_event(struct muster_worker *w, const struct muster_event *e);
/* The process is freed: events about it name it no more. */
void outbox_forget(struct muster_process *p);
/* Is so much unread that nothing shall begin? */
bool outbox_is_full(struct muster_worker *w);
/* Offers these processes behind those that are offered, and lets `hands` be out at once. NULL: no more. */
void outbox_offer(struct muster_worker *w, struct muster_process *first, int hands);
/* Invites the program. True, once: it has come, while fewer than `hands` were out. */
bool outbox_invite(struct muster_worker *w, int hands);
/* Nothing is offered any more, and nobody invited. */
void outbox_call_off(struct muster_worker *w);
/* At most `max` of those that were handed out since the last call, by next_in_outbox. */
struct muster_process *outbox_taken(struct muster_worker *w, size_t max);

/* ---- any thread ---- */
/* The program has ended n that were out. */
void outbox_ended(struct muster_worker *w, int n);
/* One more answer is to come: E_BUSY if too many are outstanding. It comes by outbox_answer(), or not at all by
 * outbox_no_answer(). Both free the item, or see to it. */
int outbox_expect_answer(struct muster_worker *w);
void outbox_answer(struct muster_worker *w, struct outbox_item *answer);
void outbox_no_answer(struct muster_worker *w, struct outbox_item *answer);

#endif
