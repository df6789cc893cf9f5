/* SPDX-License-Identifier: MIT
 *
 * Queues that share evenly: see share.c.
 */
#ifndef SHARE_H
#define SHARE_H

#include <muster/worker.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct muster_process;
struct muster_worker;
struct redisReply;
struct script_share_figures;
struct served;

/* What a worker knows of its share of a queue. */
struct share {
    bool is_on;   /* the last heartbeat said so */
    size_t place; /* of the queue in that heartbeat's call */
    bool in_flight;
    unsigned life;              /* of the queue here: an answer of a former one means nothing */
    bool was_unheard;           /* the last answer was lost: it may have reserved something */
    bool is_wanted;             /* the script is to be called in the next round */
    bool asks_again;            /* at the next heartbeat, although nothing may have changed */
    uint64_t runs, hands, mine; /* what it was asked about last */
    int notes;
    char **given_up; /* reservations that Redis does not know of yet to be over */
    size_t n_given_up;
};

/* A heartbeat's answer says so of the queues that share. */
void share_apply_heartbeat(struct muster_worker *w, const struct redisReply *shares);
/* Does the worker hold its share, as far as the figures of a probe say? */
bool share_is_even(const struct muster_worker *w, const struct served *s, struct script_share_figures figures);
/* In a round: calls the script where that is wanted. */
void share_go_on(struct muster_worker *w);
/* The process stays: it is not asked to move for so long; 0: for the usual time. */
void share_stay(struct muster_process *p, int64_t for_ms);
/* Its end has counted: it was given back to move. */
void share_moved(struct muster_process *p);
/* The process is freed. */
void share_let_go(struct muster_process *p);
/* The registration is gone, or the queue was left: reservations went with it. */
void share_forget(struct served *s);
void share_free(struct served *s);

#endif
