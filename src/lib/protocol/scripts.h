/* SPDX-License-Identifier: MIT
 *
 * The scripts' C side: one function per script builds its command (KEYS and ARGV as the .lua file's header says), and
 * where the answer has parts, one reads them. Blocking and asynchronous callers send the same commands.
 *
 * Built commands borrow what they are given until they are sent.
 */
#ifndef SCRIPTS_H
#define SCRIPTS_H

#include "protocol/keys.h"
#include "protocol/lua_scripts.h"
#include "redis/command.h"
#include "redis/reply.h"

/* The namespace's root, which every script gets as its only key. */
struct script_root {
    char text[KEY_MAX];
    size_t len;
};
void script_root_init(struct script_root *root, const char *prefix);

/* Who calls: one life of a worker, on one data connection. */
struct script_caller {
    const char *worker;
    char epoch[TOKEN_LEN + 1];
    uint64_t conn;
    int hands;
};

struct script_queue {
    const char *name;
    int limit;
};

struct script_enqueue {
    const char *queue;
    int front;
    const char *request_id; /* NULL: none */
    size_t chunk, of;       /* which chunk of the request, and how many tasks the whole has */
    const struct muster_bytes *tasks;
    size_t n;
};
void script_enqueue(struct command *c, const struct script_root *root, const struct script_enqueue *e);

struct script_start {
    const char *worker, *nonce, *host;
    int ttl_ms, hands, permanent, resume;
    int64_t pid;
};
void script_start(struct command *c, const struct script_root *root, const struct script_start *start);
struct script_started {
    char epoch[TOKEN_LEN + 1];
    int64_t interval_ms;
};
int script_started(const struct redisReply *r, struct script_started *out);

void script_serve(struct command *c, const struct script_root *root, const struct script_caller *who,
                  const struct script_queue *queue);

/* The ends are added behind the queues, by script_end_*(), before it is sent. */
enum script_ends {
    ENDS_TOGETHER,  /* finishes of a queue in one command: either all of them count, or none can be confirmed */
    ENDS_ONE_BY_ONE /* each end is told by itself */
};
void script_turn(struct command *c, const struct script_root *root, const struct script_caller *who, int want,
                 enum script_ends how, const struct script_queue *queues, size_t n);
struct script_turned {
    const struct redisReply *ends; /* NULL: all counted */
    const char *damaged;           /* NULL: none */
    size_t n_takes;                /* runs of tasks, and jobs */
};
int script_turned(const struct redisReply *r, struct script_turned *out);
/* The i-th of n_takes. -1 if it is malformed. */
struct script_take {
    size_t place; /* of the queue in the call, from 0 */
    uint64_t first_token;
    const struct redisReply *tasks;  /* NULL: a job */
    const char *job;                 /* its id, */
    const struct redisReply *record; /* and its record, for job_record_read() */
};
int script_turned_take(const struct redisReply *r, size_t i, struct script_take *out);

/* Ends, behind a turn or one of them behind script_end(). After script_end_group() its n tokens follow. */
void script_end_group(struct command *c, const char *kind, const char *queue, size_t n);
void script_end_result(struct command *c, const char *queue, const char *token, struct muster_bytes result);
/* A job, done; into a next queue. `result` NULL: none. `after`: n ids. */
struct script_next {
    const struct muster_bytes *result;
    const char *queue;
    int64_t delay_ms;
    const char *after; /* ids with a line feed behind each */
};
void script_end_done(struct command *c, const char *queue, const char *token);
void script_end_next(struct command *c, const char *queue, const char *token, const struct script_next *next);
/* `delay_ms` -1: none, or the job's own backoff. */
void script_end_retry(struct command *c, const char *queue, const char *token, int64_t delay_ms, const char *group,
                      const char *message);
void script_end_fail(struct command *c, const char *queue, const char *token, const char *group, const char *message);
void script_end(struct command *c, const struct script_root *root, const char *worker);

/* `name_at` -1: no queue name is to be tidied. */
void script_heartbeat(struct command *c, const struct script_root *root, const struct script_caller *who,
                      uint64_t registry_from, int64_t name_at, const struct script_queue *queues, size_t n);
/* A process of the caller's that was cancelled, or whose queue was deleted. */
struct script_mark {
    uint64_t token;
    int is_deleted;
};
struct script_heard {
    int64_t interval_ms;
    uint64_t held, last_token;
    int work;           /* work waits for this worker */
    uint64_t looked_at; /* workers past their end */
    int64_t next_name;  /* to be tidied */
    const char *damaged;
    const struct redisReply *marks; /* for script_marked() */
    int64_t next_due_ms; /* for who keeps the timer: -1: nothing is due; HEARD_OTHER_KEEPER: this worker does not */
    size_t n_dead;
};
#define HEARD_OTHER_KEEPER (-2)
int script_heard(const struct redisReply *r, struct script_heard *out);
const char *script_heard_dead(const struct redisReply *r, size_t i);
size_t script_marks(const struct redisReply *marks);
int script_marked(const struct redisReply *marks, size_t i, struct script_mark *out);
/* How many workers past their end one heartbeat looks at. */
#define HEARTBEAT_BATCH 10

void script_readback(struct command *c, const struct script_root *root, const struct script_caller *who);
struct script_read {
    uint64_t last_token;
    const struct redisReply *marks;
    size_t n_queues;
};
int script_read(const struct redisReply *r, struct script_read *out);
/* The i-th queue's name and its list of tokens. */
const char *script_read_queue(const struct redisReply *r, size_t i, const struct redisReply **tokens);

void script_sweep(struct command *c, const struct script_root *root, const char *worker, int forced);
void script_stop(struct command *c, const struct script_root *root, const struct script_caller *who);
void script_leave(struct command *c, const struct script_root *root, const struct script_caller *who,
                  const char *queue);
int script_left(const struct redisReply *r, uint64_t *last_token, const char **damaged);
/* The answer of sweep and stop: tasks given back, or the damaged key that prevented it (E_REDIS). */
int script_given_back(const struct redisReply *r, uint64_t *n, const char **damaged);

struct script_take_lease {
    const char *queue;
    size_t n;
    int64_t lease_ms;
    int waits;
};
void script_take(struct command *c, const struct script_root *root, const struct script_take_lease *take);
struct script_leased {
    int64_t next_due_ms, ends_at_ms;
    uint64_t first_token;
    const struct redisReply *tasks;
    size_t n_more; /* processes behind these, for script_leased_one() */
};
int script_leased(const struct redisReply *r, struct script_leased *out);
struct script_leased_one {
    uint64_t token;
    const char *job; /* its id, NULL: a task */
    struct muster_bytes task;
    const struct redisReply *record;
};
int script_leased_one(const struct redisReply *r, size_t i, struct script_leased_one *out);

/* `lease_ms` 0, `note` and `data` NULL: as it is. */
void script_extend(struct command *c, const struct script_root *root, const char *worker, const char *token,
                   const char *queue, int64_t lease_ms, const char *note, const struct muster_bytes *data);

/* `holder` NULL: all copies of the task `what`; else the one process of that holder with the token `what`. */
void script_cancel(struct command *c, const struct script_root *root, const char *queue, const char *holder,
                   struct muster_bytes what);
/* Those whose only argument is a queue ("" for listen: to jobs): delete, pause, resume, listen. */
void script_queue_call(struct command *c, enum script_id id, const struct script_root *root, const char *queue);
/* The answer of cancel and delete. `is_more`: of delete, say it again; may be NULL. */
int script_cancelled(const struct redisReply *r, uint64_t *waiting, uint64_t *running, int *is_more);

/* A field of a job's record, and what to put into it. */
struct script_field {
    const char *name;
    struct muster_bytes value;
};
struct script_put {
    const char *queue, *id;
    int replace;
    const char *const *tags;
    size_t n_tags;
    const char *const *after;
    size_t n_after;
    const struct script_field *fields;
    size_t n_fields;
};
void script_put(struct command *c, const struct script_root *root, const struct script_put *put);
/* What is to be changed follows, by script_change_field(). */
void script_change(struct command *c, const struct script_root *root, const char *id);
void script_change_field(struct command *c, const char *what, struct muster_bytes value);
void script_cancel_jobs(struct command *c, const struct script_root *root, const char *const *ids, size_t n,
                        int dependents);
int script_jobs_cancelled(const struct redisReply *r, uint64_t *n);
void script_fetch(struct command *c, const struct script_root *root, const char *worker, const char *token,
                  const char *queue);
int script_fetched(const struct redisReply *r, const char **id, const struct redisReply **record);
/* Answers 1 when another worker keeps the timer now. */
void script_hand_on(struct command *c, const struct script_root *root, const char *worker, const char *queue);
void script_promote(struct command *c, const struct script_root *root);
int script_promoted(const struct redisReply *r, int64_t *next_ms);
/* `queue` NULL: of the namespace; `value` NULL: unset. */
void script_config(struct command *c, const struct script_root *root, const char *queue, const char *name,
                   const int64_t *value);

/* replay and drop: of a group ("": of all) up to n from a place on; or `n_entries` by their names. */
struct script_failed {
    const char *queue, *group;
    uint64_t n, from;
    const char *const *entries;
    size_t n_entries;
};
void script_failed(struct command *c, enum script_id id, const struct script_root *root,
                   const struct script_failed *which);
/* `rest`: by name, how many were missing; else from where to go on, -1: nowhere. */
int script_failed_done(const struct redisReply *r, uint64_t *n, int64_t *rest);

/* What check is made of; with `repair` what is found is put right. script_check_key() follows check_keys for each key,
 * the queues' names and then the tokens follow check_marks, ids of jobs check_job and check_dependents. */
void script_check_keys(struct command *c, const struct script_root *root, int repair);
void script_check_key(struct command *c, struct muster_bytes key, const char *type, int64_t ttl_ms);
void script_check_set(struct command *c, const struct script_root *root, int repair, const char *worker,
                      const char *queue);
void script_check_worker(struct command *c, const struct script_root *root, int repair, const char *worker, int counts);
void script_check_marks(struct command *c, const struct script_root *root, int repair, const char *worker,
                        size_t n_queues);
void script_check_token(struct command *c, const struct script_root *root, int repair, uint64_t highest);
void script_check_queue(struct command *c, const struct script_root *root, int repair, const char *queue, int counts);
/* check_idle, and check_leases, behind which it says whether there were finds on the pages before. */
void script_check_page(struct command *c, enum script_id id, const struct script_root *root, int repair,
                       const char *queue, int64_t from);
void script_check_job(struct command *c, const struct script_root *root, int repair);
void script_check_dependents(struct command *c, const struct script_root *root, int repair, const char *id);
/* `which`: a state's list of the queue `name`, "failed" too; "tag", then `name` is it; "tracked". */
void script_check_index(struct command *c, const struct script_root *root, int repair, const char *which,
                        const char *name, int64_t from);
struct script_checked {
    int64_t next;   /* a page: from where to go on, -1: nowhere */
    uint64_t token; /* a set, a worker: the highest that is in use; 0: none */
    size_t n_finds;
};
int script_checked(const struct redisReply *r, struct script_checked *out);
struct script_find {
    struct muster_bytes key, what;
    int repaired;
};
int script_checked_find(const struct redisReply *r, size_t i, struct script_find *out);

#endif
