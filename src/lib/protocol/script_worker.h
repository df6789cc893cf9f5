/* SPDX-License-Identifier: MIT
 *
 * Scripts of a worker's life and turns, and of keeping the timer.
 */
#ifndef SCRIPT_WORKER_H
#define SCRIPT_WORKER_H

#include <stdbool.h>

#include "protocol/script.h"

struct script_start {
    const char *worker;
    const char *nonce;
    const char *host;
    int ttl_ms;
    int hands;
    bool permanent;
    bool resume;
    int64_t pid;
};
void script_start(struct command *c, const struct script_root *root, const struct script_start *start);
struct script_started {
    char epoch[TOKEN_LEN + 1];
    int64_t interval_ms;
    uint64_t to_take_up; /* processes of the former life, for script_take_up() */
};
int script_started(const struct redisReply *r, struct script_started *out);

/* `hands`: the worker's, without what it takes in advance. */
void script_serve(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const struct script_queue *queue, int hands);

/* ---- turn: a worker's ends and takes ---- */

enum script_ends {
    ENDS_TOGETHER,  /* finishes of a queue in one command: either all of them count, or none can be confirmed */
    ENDS_ONE_BY_ONE /* each end is sent separately, because some may have been counted already */
};
struct script_turn {
    int want; /* how many to take at most */
    enum script_ends how;
    const struct script_queue *queues;
    size_t n_queues;
};
/* The ends follow: add them with script_end_*() before the command is sent. */
void script_turn(struct command *c, const struct script_root *root, const struct script_caller *caller,
                 const struct script_turn *turn);
struct script_turned {
    const struct redisReply *ends; /* NULL: all counted */
    const char *damaged;           /* NULL: none */
    bool is_more;                  /* the call stopped early, because that was many bytes: take again */
    bool is_full;                  /* it stopped because all hands are full, before it had looked at every queue */
    size_t n_takes;                /* runs of tasks, and jobs */
};
int script_turned(const struct redisReply *r, struct script_turned *out);
/* The i-th of n_takes. */
struct script_take {
    size_t place; /* of the queue in the call, from 0 */
    uint64_t first_token;
    const struct redisReply *tasks;  /* NULL: a job */
    const char *job;                 /* its id, */
    const struct redisReply *record; /* and its record, for job_record_read() */
    bool is_suspect;                 /* the tasks, or the job */
};
int script_turned_take(const struct redisReply *r, size_t i, struct script_take *out);

/* ---- heartbeat ---- */

/* How many workers past their end one heartbeat looks at. */
#define HEARTBEAT_BATCH 10

/* `notes_names`: the names of its queues, which tidying may have removed. */
void script_heartbeat(struct command *c, const struct script_root *root, const struct script_caller *caller,
                      uint64_t registry_from, bool notes_names, const struct script_queue *queues, size_t n);
/* The value of next_due_ms when another worker keeps the timer. */
#define HEARD_OTHER_KEEPER (-2)
struct script_heard {
    int64_t interval_ms;
    uint64_t held;
    uint64_t last_token;
    bool work;       /* work waits for this worker */
    uint64_t n_past; /* workers past their end, from registry_from on; it looked at HEARTBEAT_BATCH of them */
    const char *damaged;
    const struct redisReply *marks;  /* for script_marked() */
    int64_t next_due_ms;             /* for the timer's keeper; -1: nothing is due; or HEARD_OTHER_KEEPER */
    const struct redisReply *shares; /* for script_shares() */
    uint64_t n_ears;                 /* so many heard the echo at the server that answers */
    size_t n_dead;
};
int script_heard(const struct redisReply *r, struct script_heard *out);
const char *script_heard_dead(const struct redisReply *r, size_t i);

/* A process of the caller's that was cancelled, or whose queue was deleted. */
struct script_mark {
    uint64_t token;
    bool is_deleted;
};
size_t script_marks(const struct redisReply *marks);
int script_marked(const struct redisReply *marks, size_t i, struct script_mark *out);

/* ---- shares ---- */

/* What a heartbeat says of a queue that shares evenly. */
enum script_share_note {
    SHARE_LACK = 1,  /* somebody holds less than the least that its share allows */
    SHARE_OVER = 2,  /* somebody holds more than the most, and nobody lacks anything */
    SHARE_LAPSED = 4 /* a reserved move has lapsed */
};
struct script_share_figures {
    uint64_t runs;  /* processes of the queue */
    uint64_t hands; /* of all workers that serve it */
    int notes;      /* of enum script_share_note */
};
size_t script_shares(const struct redisReply *shares);
/* The i-th: `place` of the queue in the heartbeat's call, from 0. */
int script_share_of(const struct redisReply *shares, size_t i, size_t *place, struct script_share_figures *out);

struct script_share {
    const char *queue;
    bool was_unheard;      /* the answer to an earlier call was lost */
    char *const *given_up; /* moves that are not made */
    size_t n_given_up;
    const char *const *tokens; /* of the processes that may move, the first ones first */
    size_t n_tokens;
};
void script_share(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const struct script_share *share);
struct script_shared {
    bool asks_again; /* with the next heartbeat, also if the figures are the same */
    int64_t move_ms; /* how long a handler may take to give back */
    size_t n_moves;
};
int script_shared(const struct redisReply *r, struct script_shared *out, const char **damaged);
/* The i-th process that must move: its reservation, for script_end_move(), and its token. NULL: malformed. */
const char *script_shared_move(const struct redisReply *r, size_t i, uint64_t *token);
/* The worker that a process is reserved for. */
const char *script_move_to(const char *move);

/* ---- readback ---- */

void script_readback(struct command *c, const struct script_root *root, const struct script_caller *caller);
struct script_read {
    uint64_t last_token;
    const struct redisReply *marks;
    const struct redisReply *own_ends; /* for script_own_end() */
    size_t n_queues;
};
int script_read(const struct redisReply *r, struct script_read *out);
/* A process that its own command has ended: "f" finish, "b" back, "r" retry, "x" fail. */
struct script_own_end {
    uint64_t token;
    char letter;
};
size_t script_own_ends(const struct redisReply *own_ends);
int script_own_end(const struct redisReply *own_ends, size_t i, struct script_own_end *out);
/* The i-th queue's name and its list of tokens: a job's begins with "j", that of a task which is a suspect with "s". */
const char *script_read_queue(const struct redisReply *r, size_t i, const struct redisReply **tokens);

/* ---- what a former life left ---- */

/* Take it up, before anything else is taken: call it until is_more is false. `queues`: those that the worker serves.
 * What belongs to others goes back to the front with the last call. */
void script_take_up(struct command *c, const struct script_root *root, const struct script_caller *caller,
                    const struct script_queue *queues, size_t n);
struct script_taken_up {
    uint64_t moved; /* processes that are the worker's now; a read-back names them */
    bool is_more;
    size_t n_given_back; /* queues, for script_taken_up_given_back() */
};
/* E_REDIS with a damaged key, too: ask again later. */
int script_taken_up(const struct redisReply *r, struct script_taken_up *out, const char **damaged);
/* The i-th queue that is not served, and how many of its processes went back. NULL: malformed. */
const char *script_taken_up_given_back(const struct redisReply *r, size_t i, uint64_t *n);

/* ---- suspects ---- */

enum script_alone {
    ALONE_BEGIN,    /* it is about to start; nothing else runs but the processes of the queues that are named */
    ALONE_ACQUIT,   /* it has run long enough alone, and is a suspect no more */
    ALONE_WITHDRAW, /* it does not start, or is not alone any more: a death counts against it no more than against all */
};
struct script_begin_alone {
    const char *queue;
    const char *token;
    enum script_alone what;
    const char *const *running; /* names of the queues whose processes still run */
    size_t n_running;
};
/* Answers OK; E_STATE: processes of a queue whose deaths count still run, so wait for an end and ask again; E_LOST: the
 * process is not the worker's; E_GONE; E_REDIS. */
void script_begin_alone(struct command *c, const struct script_root *root, const struct script_caller *caller,
                        const struct script_begin_alone *begin);

/* ---- the end ---- */

enum script_sweep { SWEEP_IF_DEAD, SWEEP_FORCED };
void script_sweep(struct command *c, const struct script_root *root, const char *worker, enum script_sweep whether);
struct script_swept {
    uint64_t given_back;
    uint64_t crashed; /* have failed, group "crashed" */
};
/* E_REDIS with the damaged key that prevented it, or NULL. With an error *out is 0. */
int script_swept(const struct redisReply *r, struct script_swept *out, const char **damaged);
void script_stop(struct command *c, const struct script_root *root, const struct script_caller *caller);
/* The answer of stop: tasks given back, or the damaged key that prevented it (E_REDIS). */
int script_given_back(const struct redisReply *r, uint64_t *n, const char **damaged);

/* Leave one queue. */
void script_leave(struct command *c, const struct script_root *root, const struct script_caller *caller,
                  const char *queue);
int script_left(const struct redisReply *r, uint64_t *last_token, const char **damaged);

/* ---- the timer ---- */

/* Answers 1 when another worker keeps the timer now. */
void script_hand_on(struct command *c, const struct script_root *root, const char *worker, const char *queue);

#endif
