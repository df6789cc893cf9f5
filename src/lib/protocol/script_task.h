/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry tasks.
 */
#ifndef SCRIPT_TASK_H
#define SCRIPT_TASK_H

#include <stdbool.h>

#include "protocol/script.h"

/* ---- enqueue ---- */

/* Many tasks go in calls of at most this many tasks and bytes. */
#define SCRIPT_ENQUEUE_TASKS 200
#define SCRIPT_ENQUEUE_BYTES ((size_t)256 * 1024)

struct script_enqueue {
    const char *queue;
    bool front;
    const char *request_id; /* NULL: none */
    size_t chunk;           /* which chunk of the request this is, */
    size_t of;              /* and how many tasks the whole request has */
    const struct muster_bytes *tasks;
    size_t n;
};
void script_enqueue(struct command *c, const struct script_root *root, const struct script_enqueue *e);

/* ---- ends: any number after script_turn(); or one after script_end(), and after each script_end_more() ---- */

/* n tokens follow. */
void script_end_group(struct command *c, const char *kind, const char *queue, size_t n);
void script_end_result(struct command *c, const char *queue, const char *token, struct muster_bytes result);
void script_end_done(struct command *c, const char *queue, const char *token);
/* A job goes into a next queue. */
struct script_next {
    const struct muster_bytes *result; /* NULL: none */
    const char *queue;
    int64_t delay_ms;
    const char *after; /* ids, each with a line feed after it */
};
void script_end_next(struct command *c, const char *queue, const char *token, const struct script_next *next);
/* `delay_ms` -1: none, or the job's own backoff. `group` and `message` may be NULL. */
void script_end_retry(struct command *c, const char *queue, const char *token, int64_t delay_ms, const char *group,
                      const char *message);
/* `move`: the reservation that script_share() has answered. */
void script_end_move(struct command *c, const char *queue, const char *token, const char *move);
void script_end_fail(struct command *c, const char *queue, const char *token, const char *group, const char *message);
void script_end(struct command *c, const struct script_root *root, const char *worker);
/* The holder of one more. So many may be in a call of end, and of extend. */
#define SCRIPT_SEVERAL_MAX ((size_t)200)
void script_end_more(struct command *c, const char *worker);
/* The answer of end and of extend to several: of how many it tells; and what they said of one of them, a status and a
 * word, or NULL. E_REDIS: that is no such answer. */
size_t script_several(const struct redisReply *r);
int script_one_of(const struct redisReply *r, size_t i, int *status, const char **word);

/* ---- leases ---- */

/* Does the caller wait for work if there is none? */
enum script_wait { SCRIPT_WAIT_NONE, SCRIPT_WAIT, SCRIPT_WAIT_OVER };

struct script_take_lease {
    const char *queue;
    size_t n;
    int64_t lease_ms;
    enum script_wait wait;
    int64_t waited_ms;
    const char *call;   /* the call's name, for script_untake(); NULL: it has none */
    const char *holder; /* the name of who takes; NULL: it has none */
    uint64_t held_back; /* a task or a job's record of exactly so many bytes does not come along; 0: all do */
};
void script_take(struct command *c, const struct script_root *root, const struct script_take_lease *take);
struct script_leased {
    int64_t next_due_ms;
    int64_t ends_at_ms;
    uint64_t first_token;
    const struct redisReply *tasks;
    bool is_more;  /* the call stopped early, also without a task: take again */
    size_t n_more; /* processes after these, for script_leased_one() */
};
size_t script_leased_len(const struct script_leased *leased);
/* `most`: as many were asked for; more than that is no answer. */
int script_leased(const struct redisReply *r, size_t most, struct script_leased *out);
struct script_leased_one {
    uint64_t token;
    const char *job; /* its id, NULL: a task */
    struct muster_bytes task;
    const struct redisReply *record;
    uint64_t held_back; /* so many bytes it has, and they did not come along; 0: they did */
};
/* The i-th one of all: first the tasks, then these. */
int script_leased_one(const struct redisReply *r, const struct script_leased *leased, size_t i,
                      struct script_leased_one *out);
/* How many bytes it has, as `take` counts them. */
uint64_t script_leased_bytes(const struct script_leased_one *one);
/* If it took fewer than so many bytes, it keeps them. */
void script_untake(struct command *c, const struct script_root *root, const char *queue, const char *call,
                   size_t least_bytes);
struct script_untaken {
    uint64_t n, n_bytes; /* processes that went back, and what they have; of all answers together */
    bool is_more;        /* untake must be called again */
};
/* Begin with 0. */
int script_untaken(const struct redisReply *r, struct script_untaken *sum);

/* `from`: the place among the holder's processes to begin at. */
void script_fail_holder(struct command *c, const struct script_root *root, const char *holder, int64_t from);
struct script_holder_failed {
    uint64_t given_back;
    int64_t next;        /* where to go on, -1: nowhere */
    uint64_t looked;     /* how many processes were looked at */
    const char *damaged; /* a key of a wrong type, because of which some were passed over; NULL: none */
};
int script_holder_failed(const struct redisReply *r, struct script_holder_failed *out);

/* `lease_ms` 0, `note` NULL, `data` NULL: it stays as it is. */
void script_extend(struct command *c, const struct script_root *root, const char *worker, const char *token,
                   const char *queue, int64_t lease_ms, const char *note, const struct muster_bytes *data);
void script_extend_more(struct command *c, const char *worker, const char *token, const char *queue);

/* ---- cancel ---- */

/* `holder` NULL: all copies of the task `what`. Otherwise `what` is a token: the one process of that holder. `cursor`
 * is "0" in the first call. Another one must follow, with the cursor of the answer, unless that is "0" again. */
#define SCRIPT_CURSOR_SIZE 24
void script_cancel(struct command *c, const struct script_root *root, const char *queue, const char *holder,
                   struct muster_bytes what, const char *cursor);
int script_cancel_done(const struct redisReply *r, uint64_t *removed, uint64_t *running,
                       char cursor[SCRIPT_CURSOR_SIZE]);
/* The answer of delete, and what that of cancel begins with. `is_more`, may be NULL: delete must be called again. */
int script_cancelled(const struct redisReply *r, uint64_t *removed, uint64_t *running, bool *is_more);

/* ---- the failed list ---- */

/* What replay and drop are to move: up to n entries of a group ("": of all groups) from a score on, or `n_entries` by
 * their names. */
struct script_failed {
    const char *queue;
    const char *group;
    uint64_t n;
    uint64_t from;
    const char *const *entries;
    size_t n_entries;
};
void script_failed(struct command *c, enum script_id id, const struct script_root *root,
                   const struct script_failed *which);
struct script_failed_moved {
    uint64_t n;
    int64_t rest;    /* of a call by names: how many were missing; of others: the score to go on from, -1: none */
    uint64_t looked; /* of a call by names: how many of them were looked at */
    bool is_halted;  /* the next one takes more than one script: ask for it again */
};
int script_failed_done(const struct redisReply *r, struct script_failed_moved *out);

#endif
