/* SPDX-License-Identifier: MIT
 *
 * Telling the program what happens.
 */
#ifndef TELL_H
#define TELL_H

#include <muster/client.h>
#include <muster/worker.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker/tell_log.h"

/* What a worker asks of Redis, X(request, text). First what it needs to live, to work or to stop, up to REQUEST_STOP. */
#define REQUESTS(X)                                 \
    X(REQUEST_START, "registering")                 \
    X(REQUEST_HEARTBEAT, "the heartbeat")           \
    X(REQUEST_READBACK, "the read-back")            \
    X(REQUEST_TURN, "a turn")                       \
    X(REQUEST_TAKE_UP, "resuming")                  \
    X(REQUEST_STOP, "deregistering")                \
    X(REQUEST_SERVE, "serving a queue")             \
    X(REQUEST_FETCH, "fetching a task")             \
    X(REQUEST_ALONE, "beginning alone")             \
    X(REQUEST_SWEEP, "a sweep")                     \
    X(REQUEST_HANDED_ON, "what was handed on")      \
    X(REQUEST_NOTE, "a progress note")              \
    X(REQUEST_DATA, "new data of a job")            \
    X(REQUEST_PROMOTE, "moving what is due")        \
    X(REQUEST_REFILL, "computing when jobs recur")  \
    X(REQUEST_TIDY, "tidying")                      \
    X(REQUEST_AGES, "noting since when tasks wait") \
    X(REQUEST_SHARE, "sharing a queue evenly")      \
    X(REQUEST_HAND_ON, "handing on the timer")      \
    X(REQUEST_LEAVE, "leaving a queue")

enum request {
#define REQUEST_ENUM(name, text) name,
    REQUESTS(REQUEST_ENUM)
#undef REQUEST_ENUM
};

/* The words for a key of a wrong type. */
#define TELL_WRONG_TYPE "the key '%s' has a wrong type; `muster check` says what to do"

/* The words for a registration that is gone. */
#define TELL_LOST "the registration is gone: its peers took its tasks back, or Redis has lost it"
#define TELL_LOST_AND_STOPS "; the worker is to stop, and does not register again"

/* The longest words of an error. */
#define TELL_ERROR_SIZE 768
/* Has room for the name of any key. */
#define TELL_REFUSAL_SIZE 600

/* The last refusal of a request, told or not. */
struct last_refusal {
    uint64_t number; /* the higher, the later */
    int err;
    char words[TELL_REFUSAL_SIZE];
};

struct tell {
    pthread_mutex_t lock;        /* of these three */
    char error[TELL_ERROR_SIZE]; /* the last one, of a call or of an event; on any thread */
    char why[TELL_ERROR_SIZE];   /* why the worker ends; "": it was asked to. Only the loop writes it */
    bool is_over;                /* STOPPED was told: nothing else is. Only the loop writes it */
    char shown[TELL_ERROR_SIZE]; /* what the loop's thread was given last */
    int depth;                   /* callbacks of the program that run now, one inside the other */
    unsigned refused;            /* a bit for each request whose refusal was told */
    struct tell_log log;
    bool damage_told; /* a damaged key was told, and nothing has shown since that all is well */
    bool damage_met;  /* one was met since the last heartbeat */
    uint64_t n_refused;
    struct last_refusal refusals[REQUEST_STOP + 1];
};

void tell_new(struct muster_worker *w);
void tell_free(struct muster_worker *w);
/* The worker's error in words, for muster_worker_error(); any thread. */
void tell_error(struct muster_worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a call that returns `err`, which is what this returns. Any thread. */
int tell_error_as(struct muster_worker *w, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Why the worker ends, and what muster_worker_run() returns for it. A second reason goes behind the first one, whose
 * error stays. */
void tell_why(struct muster_worker *w, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The last event. */
void tell_stopped(struct muster_worker *w);
/* `text` and `process` may be NULL. With an error the text becomes muster_worker_error()'s. */
void tell_event(struct muster_worker *w, enum muster_event_type type, int err, const char *text,
                struct muster_process *process);
/* The same about a queue, and a task's bytes if there are any. */
void tell_queue_event(struct muster_worker *w, enum muster_event_type type, const char *queue,
                      struct muster_bytes task);
/* A bound has dropped entries of a failed list. `what`: how many, a blank, and the setting. */
void tell_dropped(struct muster_worker *w, const char *queue, const char *what);
/* A handler has ended its process. Only for a program that listens to ends. */
void tell_end(struct muster_process *p, enum muster_outcome outcome);
/* Redis refused something. A refusal is told once, until the same request is accepted again. `text` may be NULL. */
void tell_refused(struct muster_worker *w, enum request request, int err, const char *text);
/* The same because of this key, which has a wrong type. */
void tell_refused_for_key(struct muster_worker *w, enum request request, const char *key);
void tell_accepted(struct muster_worker *w, enum request request);
/* The last refusal in words of something that it needs to live, to work or to stop, and that was not accepted since. NULL:
 * there is none. */
const char *tell_refusal(const struct muster_worker *w, int *err);
/* A key is damaged: told once, until a heartbeat has met none (NULL), and nobody else since the one before. */
void tell_damaged(struct muster_worker *w, const char *key);
/* Around every callback of the program: a worker that is freed in one is freed after the outermost one. */
void tell_enter(struct muster_worker *w);
void tell_leave(struct muster_worker *w);

#endif
