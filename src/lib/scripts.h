/* SPDX-License-Identifier: MIT
 *
 * The scripts' C side: one function per script builds its command (KEYS and ARGV as the .lua file's header says), and
 * where the answer has parts, one reads them. Blocking and asynchronous callers send the same commands.
 *
 * Built commands borrow what they are given until they are sent.
 */
#ifndef SCRIPTS_H
#define SCRIPTS_H

#include "command.h"
#include "keys.h"
#include "lua_scripts.h"
#include "reply.h"

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

/* The ends are added behind the queues, by script_turn_end*(), before it is sent. */
void script_turn(struct command *c, const struct script_root *root, const struct script_caller *who, int want,
                 int sent_before, const struct script_queue *queues, size_t n);
void script_turn_group(struct command *c, const char *kind, const char *queue, size_t n);
void script_turn_retry(struct command *c, const char *queue, const char *token, int64_t delay_ms);
void script_turn_fail(struct command *c, const char *queue, const char *token, const char *group, const char *message);
struct script_turned {
    const struct redisReply *ends; /* NULL: all counted */
    int64_t next_due_ms;           /* -1: none */
    const char *damaged;           /* NULL: none */
    size_t n_takes;                /* queues with tasks */
};
int script_turned(const struct redisReply *r, struct script_turned *out);
/* The i-th of n_takes. -1 if it is malformed. */
struct script_take {
    size_t place; /* of the queue in the call, from 0 */
    uint64_t first_token;
    const struct redisReply *tasks;
};
int script_turned_take(const struct redisReply *r, size_t i, struct script_take *out);

void script_heartbeat(struct command *c, const struct script_root *root, const struct script_caller *who,
                      uint64_t registry_from, uint64_t name_at, const struct script_queue *queues, size_t n);
struct script_heard {
    int64_t interval_ms;
    uint64_t held, last_token;
    int work;           /* work waits for this worker */
    uint64_t looked_at; /* workers past their end */
    int name_found;
    const char *damaged;
    size_t n_dead;
};
int script_heard(const struct redisReply *r, struct script_heard *out);
const char *script_heard_dead(const struct redisReply *r, size_t i);
/* How many workers past their end one heartbeat looks at. */
#define HEARTBEAT_BATCH 10

void script_readback(struct command *c, const struct script_root *root, const struct script_caller *who);
struct script_read {
    uint64_t last_token;
    size_t n_queues;
};
int script_read(const struct redisReply *r, struct script_read *out);
/* The i-th queue's name and its list of tokens. */
const char *script_read_queue(const struct redisReply *r, size_t i, const struct redisReply **tokens);

void script_sweep(struct command *c, const struct script_root *root, const char *worker, int forced);
void script_stop(struct command *c, const struct script_root *root, const struct script_caller *who);
/* The answer of sweep and stop: tasks given back, or the damaged key that prevented it (E_REDIS). */
int script_given_back(const struct redisReply *r, uint64_t *n, const char **damaged);

#endif
