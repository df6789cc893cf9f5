/* SPDX-License-Identifier: MIT
 *
 * Executors: the ways to run the processes of a queue.
 */
#ifndef EXECUTOR_H
#define EXECUTOR_H

#include <muster/worker.h>
#include <stdbool.h>

struct served;

/* Each start() leads to end_by_handler(), at once or later; that of executor_next only offers the process. */
struct executor {
    void (*start)(struct muster_process *p);
    void (*tell_stop)(struct muster_process *p); /* its stop reason was set; may be NULL */
    void (*abandon)(struct muster_process *p);   /* the worker is freed while it runs; may be NULL */
    void (*clear)(struct served *s);             /* frees what serving the queue needed; may be NULL */
};

/* ---- executor_inline.c ---- */
extern const struct executor executor_inline;

/* ---- executor_threads.c ---- */
extern const struct executor executor_threads;
int executor_threads_new(struct muster_worker *w);
/* What may start next lies ahead for the threads, from the first ready one that may not on nothing. */
void executor_threads_put_ahead(struct muster_worker *w);
/* What was started or put ahead since the last call goes to the threads. */
void executor_threads_release(struct muster_worker *w);
/* What threads have taken ahead begins for the loop, up to the number of hands: an end that frees the next one's hand
 * is on its way. */
void executor_threads_note_begun(struct muster_worker *w);
/* The same for one of which it is known that a thread has it. */
void executor_threads_has_begun(struct muster_process *p);
/* What no thread has taken starts no more before the loop says so; the rest has begun. */
void executor_threads_call_off(struct muster_worker *w);
/* Waits until the handlers that run have returned. */
void executor_threads_free(struct muster_worker *w);

/* ---- executor_next.c: the same for the program's own loop ---- */
extern const struct executor executor_next;
void executor_next_release(struct muster_worker *w);
void executor_next_note_begun(struct muster_worker *w);
void executor_next_has_begun(struct muster_process *p);
void executor_next_call_off(struct muster_worker *w);
/* Has the program, since the last call, come for something that was not there? The next time it will be heard. */
bool executor_next_is_wanted(struct muster_worker *w);

/* ---- executor_command.c ---- */
/* Finds the program and copies the command, which runs the queue's tasks from then on. On an error `why` gets the
 * words. */
bool executor_command_stays(const struct served *s); /* its tasks never move to another worker */
int executor_command_setup(struct served *s, const struct muster_command *command, char *why, size_t size);

#endif
