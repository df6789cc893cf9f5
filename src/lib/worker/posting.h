/* SPDX-License-Identifier: MIT
 *
 * A task or job that the program has handed to the worker to be enqueued or put: see posting.c.
 */
#ifndef POSTING_H
#define POSTING_H

#include <muster/client.h>
#include <muster/job.h>
#include <muster/worker.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "redis/command.h"
#include "worker/calls.h"

struct outbox_item;
struct redisReply;

struct posting {
    struct call call; /* until the loop has it */
    struct posting *next;
    struct muster_worker *worker;
    TAILQ_ENTRY(posting) in_open; /* follow.c */
    uint64_t number;
    uint64_t handler; /* the process whose handler has handed it in; 0: none has */
    int64_t made_us;
    muster_done_fn *fn;
    muster_put_done_fn *put_fn; /* for a job */
    void *arg;
    struct outbox_item *answer; /* for muster_worker_next(); NULL: for `fn`, or for nobody */
    size_t n_run;               /* of the first one of a call: how many it carries */
    int err;
    uint64_t waiting;
    struct command put; /* what puts a job; empty: it is a task */
    char job[MUSTER_JOB_ID_MAX + 1];
    bool was_there; /* a job of its id, says its answer: it may be what the same call has put before */
    bool may_pass;  /* its answer says that what is in its way will be gone in a moment, whatever `err` is */
    char queue[MUSTER_QUEUE_MAX + 1];
    size_t len;
    char bytes[];
};

/* A copy. `task` of a job is empty; its `job` and its `put` follow. NULL: out of memory. */
struct posting *posting_new(struct muster_worker *w, const char *queue, const struct muster_bytes *task);
bool posting_is_job(const struct posting *posting);
/* By its answer: it is there. A job may have been before: by the same call, perhaps. */
bool posting_is_there(const struct posting *posting);
/* Somebody hears its answer. */
bool posting_is_told(const struct posting *posting);
size_t posting_bytes(const struct posting *posting);
/* Before it is handed in: will somebody fetch its answer? MUSTER_OK, E_NOMEM or E_BUSY. */
int posting_expect_answer(struct posting *posting);
/* The error in the answer to a put; its words are the worker's error. */
int posting_note_put(struct posting *posting, const struct redisReply *reply);
/* Tells its answer, and frees it. */
void posting_finish(struct posting *posting);
/* Nobody is told. */
void posting_discard(struct posting *posting);

#endif
