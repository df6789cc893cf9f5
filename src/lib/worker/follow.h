/* SPDX-License-Identifier: MIT
 *
 * What is handed on, and the ends that follow it: see follow.c.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct link;
struct muster_process;
struct muster_worker;
struct posting;
TAILQ_HEAD(posting_queue, posting);

/* How many answers the program was told: by its functions, and by muster_worker_next(). */
struct follow_told {
    uint64_t by_function, by_next;
};

struct follow {
    _Atomic uint64_t last_number;                /* of what was handed in, on any thread */
    _Atomic uint64_t n_by_function;              /* answers */
    uint64_t n_by_next;                          /* answers, fetched or not */
    struct posting_queue of_handlers, elsewhere; /* not answered yet, by their numbers */
    size_t large_from; /* so many bytes may have ended a connection: what has as many goes alone. 0: nothing has */
    unsigned n_breaks; /* so often such a one was alone when a connection ended */
};

/* Who has handed it on: the process' own handler, that of another one, or the program outside of all. */
enum follow_source { FOLLOW_OWN, FOLLOW_ELSEWHERE, FOLLOW_OTHERS, FOLLOW_SOURCES };

/* Why something that an end follows is not there. Begin with 0. */
struct follow_refusal {
    int err;
    bool is_final;           /* trying again does not mend it */
    bool is_untold;          /* nobody was told, or the process had ended before */
    struct follow_told told; /* who ends the process and was told as many answers, decides */
    int64_t until_us;        /* a handler that returned later is not concerned */
    size_t n_bytes;
};

void follow_new(struct muster_worker *w);

/* ---- any thread ---- */
/* A handler begins on this thread; NULL: it has returned. */
void follow_enter_handler(const struct muster_process *p);
/* It is handed in: from here on it counts as handed on. */
void follow_hand_in(struct posting *posting);
/* What the program knows when it ends a process. */
struct follow_told follow_told(const struct muster_worker *w);

/* ---- the loop's thread ---- */
/* The loop has it. */
void follow_begin(struct posting *posting);
/* It is answered; tell that after this. */
void follow_end(struct posting *posting);
/* Is anything not answered yet? */
bool follow_is_open(const struct muster_worker *w);
/* It is sent when nothing else is under way, so that it is known whether it is why connections end. */
bool follow_must_go_alone(const struct posting *posting);
/* It had no answer on this link. True: it is too large for this Redis. */
bool follow_is_too_large(const struct posting *posting, const struct link *link);

/* The process ends: is there something yet that must come first? */
bool follow_must_wait(struct muster_process *p);
/* Nothing has to come first any more. If something did not come, its outcome may become another one. True: it goes back
 * for a reason that passes with time, so the next heartbeat is soon enough. */
bool follow_settle(struct muster_process *p);
/* In a round: ends that waited go on. */
void follow_go_on(struct muster_worker *w);

#endif
