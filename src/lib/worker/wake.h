/* SPDX-License-Identifier: MIT
 *
 * How a worker learns what it holds: messages, read-backs, and the arrival of a process.
 */
#ifndef WAKE_H
#define WAKE_H

#include <stdbool.h>

#include "worker/process.h"

struct event;
struct script_take;

struct wake {
    struct event *hint_timer; /* a take that a foreign producer's announcement asked for */
    int64_t last_hint_ms;
    int64_t last_message_ms;
};

struct readback {
    bool in_flight;
    bool again;          /* it was asked for while one was in flight */
    bool ends_doubt;     /* after it the worker is in doubt no longer */
    uint64_t count;      /* read-backs applied so far */
    uint64_t last_token; /* that the last one has answered: later hand-over messages up to it are void */
};

/* ---- wake.c ---- */
int wake_new(struct muster_worker *w);
void wake_free(struct muster_worker *w);
void wake_stop(struct muster_worker *w);
int wake_subscribe(struct muster_worker *w);
/* The announcements of one more queue. */
int wake_subscribe_queue(struct muster_worker *w, const char *queue);
void wake_message(struct muster_worker *w, const char *channel, struct muster_bytes message);

/* ---- readback.c ---- */
/* Asks Redis which processes are this worker's. */
void readback_ask(struct muster_worker *w);
/* The same; its answer ends the worker's doubt. */
void readback_ask_in_doubt(struct muster_worker *w);
/* Calls in flight, and the last token, belong to a former epoch: that one's messages are known by it, and the next server's
 * clock may be behind. */
void readback_forget(struct muster_worker *w);

/* ---- accept.c: a process arrived ---- */
/* A task with its bytes. One that is known already stays as it is. */
void accept_task(struct muster_worker *w, struct served *s, uint64_t token, struct muster_bytes task);
/* All that a take has brought of this queue. */
void accept_take(struct muster_worker *w, struct served *s, const struct script_take *take);
/* Only its token came: the rest is fetched, again if it is on its way. NULL: it was not taken up. */
struct muster_process *accept_token(struct muster_worker *w, struct served *s, uint64_t token, enum process_kind kind);
/* What waits for memory: after a heartbeat, or if no other has bytes any more, it may be fetched again. */
void accept_after_heartbeat(struct muster_worker *w);
void accept_go_on(struct muster_worker *w);

#endif
