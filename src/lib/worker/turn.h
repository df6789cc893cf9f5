/* SPDX-License-Identifier: MIT
 *
 * A round and its parts: what was posted, what starts, what is said to Redis. round.c has the order.
 */
#ifndef TURN_H
#define TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "worker/process.h"

struct command;
struct event;

/* round.c */
struct round {
    struct event *event;
    bool is_due;
    bool is_running;
    bool is_held_back;        /* the program leaves too much unread: nothing begins in this round */
    _Atomic pthread_t thread; /* the loop's. Known before any handler runs */
};

/* turn.c */
struct turns {
    struct event *retry_timer; /* the pause after a refusal */
    bool wants_take;           /* there is a reason to take, beside hands that ends have freed */
    bool wants_rest;           /* a call could not ask for all free hands */
    /* A take has; since then nothing has arrived, and there was no reason to take. accept.c clears it. */
    bool found_nothing;
    bool must_state_hands; /* Redis must learn of a lower capacity: dispatch.c and stop.c */
    int in_flight;         /* calls */
    int takes_in_flight;   /* processes that these calls have asked for */
    size_t first_queue;    /* the number of the queue with which the next look begins: option in_turn; lack.c */
    /* A look at all queues, in one call or in several. */
    size_t look;      /* its number */
    size_t look_from; /* the number of the queue with which it began */
    size_t looked_at; /* how many queues of it are empty */
    bool looks_again; /* a reason to take has come since it began */
};

/* ---- round.c ---- */
int round_new(struct muster_worker *w);
void round_free(struct muster_worker *w);
/* Something must be started, said or checked: in a round, after the callbacks that are active already. */
void round_due(struct muster_worker *w);
/* Is the caller the loop's thread? */
bool round_is_in_loop(const struct muster_worker *w);
void round_set_thread(struct muster_worker *w, pthread_t thread);

/* ---- dispatch.c ---- */
/* Starts what is ready, as far as hands are free. True: there is more, but the loop must look at its sockets first. */
bool dispatch_ready(struct muster_worker *w);
/* It has a hand now, and its handler or the program has it. */
void dispatch_has_begun(struct muster_process *p, int64_t at_us);
/* Nothing begins any more before the loop says so, and what has begun elsewhere has begun here. Call this before you
 * decide anything by a process' being ready or running. */
void dispatch_call_off(struct muster_worker *w);
/* The program or a thread says something of this process, so it has begun. */
void dispatch_note(struct muster_process *p);
/* May a thread begin it, when its turn has come, before the loop hears of that? */
bool dispatch_may_go_ahead(const struct muster_process *p);

/* ---- turn.c ---- */
int turn_new(struct muster_worker *w);
void turn_free(struct muster_worker *w);
/* No further attempt after a refusal. */
void turn_stop(struct muster_worker *w);
/* There is a reason to take. */
void turn_want_take(struct muster_worker *w);
/* Says all that is to be said now. */
void turn_say(struct muster_worker *w);
/* Says what has ended if that fills a call of its own: Redis works on it while handlers go on. */
void turn_say_if_full(struct muster_worker *w);

/* ---- turn_ends.c ---- */
/* Adds the ends to a call of script_turn(); brings those together that go into one group. */
void turn_ends_say(struct command *c, struct muster_process **ends, size_t n);
/* Does it end by going to the worker that it is reserved for? */
bool turn_ends_is_move(const struct muster_process *p);
/* Bytes that Redis moves for its end. */
size_t turn_ends_bytes(const struct muster_process *p);

/* ---- posted.c: what other threads say of a process ---- */
int posted_new(struct muster_worker *w);
void posted_free(struct muster_worker *w);
/* Its handler has returned on a thread, or the program has ended it after muster_worker_next(). */
void posted_returned(struct muster_process *p, enum muster_outcome outcome);
/* The same for many of one worker, linked by next_returned, the last one first. */
void posted_returned_all(struct muster_worker *w, struct muster_process *last, struct muster_process *first);
/* muster_process_end() and the like, called on a thread. `note` and the bytes of `data` are posted.c's from now on. */
void posted_end(struct muster_process *p, enum muster_outcome outcome);
void posted_note(struct muster_process *p, char *note);
void posted_data(struct muster_process *p, struct muster_bytes data);
void posted_extension(struct muster_process *p, int64_t limit_ms);
void posted_stay(struct muster_process *p, int64_t for_ms);
/* The process is freed: forget what was posted of it. */
void posted_forget(struct muster_process *p);
/* It ends in the loop: what other threads have said of it before comes first. */
void posted_before_end(struct muster_process *p);
/* Carries out what was posted. */
void posted_take(struct muster_worker *w);

/* ---- extend.c ---- */
/* Sends a progress note at once. */
void extend_note(struct muster_process *p, const char *note);
/* Its job's new data, which are extend.c's from now on: sent at once, and again until Redis has them or newer ones. */
void extend_data(struct muster_process *p, struct muster_bytes data);
/* Redis has refused its newest data, until the next heartbeat. */
bool extend_is_refused(const struct muster_process *p);
/* Redis does not have its newest data yet, and its end waits for that. */
bool extend_holds(const struct muster_process *p);
/* It ends: without its newest data it goes back, and with such as are too large it fails. */
void extend_settle(struct muster_process *p);
/* In a round: sends the data that are due. */
void extend_go_on(struct muster_worker *w);
/* A heartbeat was answered: what was refused is tried again. */
void extend_try_again(struct muster_worker *w);

/* ---- limit.c ---- */
/* Before it may begin: its limit must not be passed over for want of memory. MUSTER_OK or E_NOMEM. */
int limit_keep(struct muster_process *p);
/* It begins, with the limit that it has from its job or the worker. */
void limit_begin(struct muster_process *p);
/* From now on; 0: none any more. */
void limit_set(struct muster_process *p, int64_t limit_ms);
void limit_clear(struct muster_process *p);

#endif
