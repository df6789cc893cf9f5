/* SPDX-License-Identifier: MIT
 *
 * The queues that a worker serves, or has served.
 */
#ifndef SERVE_H
#define SERVE_H

#include <stdbool.h>

#include "protocol/script.h"
#include "worker/executor.h"
#include "worker/share.h"

struct executor_command;

enum serving {
    SERVING,
    LEAVING, /* none of its tasks starts any more */
    LEFT     /* it may be served again. The structure stays, because handlers that still run point to it */
};

struct served {
    char name[MUSTER_QUEUE_MAX + 1];
    enum serving serving;
    int limit;            /* how many of its handlers may run at once; 0: as many as there are hands */
    int running;          /* how many of its handlers run */
    int in_hands;         /* how many of its processes take a hand: besides those, what the program may take */
    bool is_announced;    /* Redis was told, in this epoch, that the worker serves it, */
    bool must_say_again;  /* but not over this connection: one that came back older may not know it */
    bool announcing;      /* the call that tells Redis is in flight */
    bool handlers_told;   /* LEAVING: its handlers were told to stop */
    bool leave_in_flight; /* LEAVING: the script was sent and not answered yet */
    int n_looks;          /* calls under way that may take of it: turn.c */
    struct share share;
    uint64_t dropped_upto; /* hand-overs up to this token are void: they were given back when the queue was left */
    const struct executor *executor;
    muster_handler_fn *handler;
    void *handler_arg;
    struct executor_command *command; /* NULL: its handler is a function */
};

/* ---- serve.c ---- */
/* NULL: the worker has never served it. */
struct served *serve_find(struct muster_worker *w, const char *queue, size_t len);
/* Tells Redis of the queues of which it may not know. */
void serve_announce(struct muster_worker *w);
/* It is to be told of all of them anew: a new connection. */
void serve_say_again(struct muster_worker *w);
/* Does the worker serve it, and does Redis know? Then it takes from there. */
bool serve_is_known(const struct served *s);
/* Does Redis know of every queue that the worker serves? False also if it serves none, or is leaving one. */
bool serve_all_announced(const struct muster_worker *w);
/* How many queues the worker takes from, and how many of them it was told of before this one. */
size_t serve_count(const struct muster_worker *w);
size_t serve_number(const struct muster_worker *w, const struct served *s);
/* At most so many of these in their order, beginning with number `from`. The caller frees the result and `*served`,
 * which names the same queues in the same places. NULL: out of memory. */
struct script_queue *serve_list(const struct muster_worker *w, size_t from, size_t most, struct served ***served,
                                size_t *n);
void serve_free(struct muster_worker *w);

/* ---- leave.c ---- */
/* Does what can be done now about the queues that are being left. */
void leave_go_on(struct muster_worker *w);
/* The same for one that was left, and of which Redis says that the worker has something: it has forgotten that. */
void leave_again(struct muster_worker *w, struct served *s);
/* The registration is gone: nothing is left to give back. */
void leave_forget(struct muster_worker *w);

#endif
