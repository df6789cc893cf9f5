/* SPDX-License-Identifier: MIT
 *
 * The campaign: programs on the public headers alone that put and run tasks and jobs, while faults that a seed chooses
 * hit them and their Redis. What each of them does stands in one record, line by line; the account is made from it.
 */
#ifndef CAMPAIGN_H
#define CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "random.h"
#include "wait.h"

/*
 * The one list of faults: X(FAULT, name).
 *
 *   kill    SIGKILL of a process
 *   stop    SIGSTOP, and SIGCONT after up to two ttls
 *   term    SIGTERM: the process has to end with 0
 *   redis   SIGKILL of Redis, and a new start on its data
 *   cut     all connections to Redis are closed, of commands or of messages
 *   full    Redis is at its maxmemory for a moment
 *   acl     scripts are denied for a moment
 *   lapse   who took a task under a lease forgets it
 *   cancel  who put a task or job cancels it
 *   poison  a task kills whoever runs it
 *
 * Of a cluster; the owner is who has the slot of the namespace. Redis means the owner above, too, and "redis" that it
 * is back before it is missed:
 *   move      the slot moves to another master, and sometimes back at once
 *   failover  the owner's replica takes over from it, as by hand
 *   owner     SIGKILL of the owner; it is started again on its data once its replica has taken over by itself
 *   join      a further node joins, has the slot for a while, and leaves
 *   slow      the slot moves, and that takes far longer than a ttl. Only if asked for
 *
 * Of a single Redis, what the account has to find; only if asked for:
 *   theft   a waiting task is removed behind muster's back: a loss
 *   behind  the last token is put back to an earlier one, as where a copy of Redis takes over that is behind
 */
#define FAULTS(X)                 \
    X(FAULT_KILL, "kill")         \
    X(FAULT_STOP, "stop")         \
    X(FAULT_TERM, "term")         \
    X(FAULT_REDIS, "redis")       \
    X(FAULT_CUT, "cut")           \
    X(FAULT_FULL, "full")         \
    X(FAULT_ACL, "acl")           \
    X(FAULT_LAPSE, "lapse")       \
    X(FAULT_CANCEL, "cancel")     \
    X(FAULT_POISON, "poison")     \
    X(FAULT_MOVE, "move")         \
    X(FAULT_FAILOVER, "failover") \
    X(FAULT_OWNER, "owner")       \
    X(FAULT_JOIN, "join")         \
    X(FAULT_SLOW, "slow")         \
    X(FAULT_THEFT, "theft")       \
    X(FAULT_BEHIND, "behind")
enum fault {
#define FAULT_ENUM(fault, name) fault,
    FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
};
extern const char *const fault_names[FAULT_COUNT];

#define BIT(fault) (1u << (fault))
#define OF_A_CLUSTER (BIT(FAULT_MOVE) | BIT(FAULT_FAILOVER) | BIT(FAULT_OWNER) | BIT(FAULT_JOIN) | BIT(FAULT_SLOW))
/* What the account has to find: they are no faults of muster's. */
#define OF_AN_ACCOUNT (BIT(FAULT_THEFT) | BIT(FAULT_BEHIND))

#define N_OF(array) (sizeof(array) / sizeof *(array))
#define TTL_MS 3000
#define LEASE_MS 900
/* Deaths that a task survives, running alone, less one: the setting max_crashes, by default. */
#define MAX_CRASHES 3
#define NAME_MAX_LEN 47
#define WORD_MAX_LEN 23

/* What all processes of a campaign know. */
struct campaign {
    const char *program; /* its own path: it is the command of some workers */
    uint64_t seed;
    unsigned faults; /* bits of enum fault */
    int seconds;
    bool has_cluster;
    const char *prefix;
    char dir[80], socket[96], url[320], record[104];
};

/* The queues of a campaign; tasks and jobs lie in all of them but the last, where the tasks are that never end. */
#define QUEUES 3
#define ALL_QUEUES (QUEUES + 1)
extern const char *const queue_names[ALL_QUEUES];

void sleep_ms(int64_t ms);
struct random random_of(const struct campaign *c, const char *life);

/* ---- the record: each line is one write at its end, so that those of all processes stand in it whole ---- */

/*
 *   I A N  a producer: it is going to put; it was acknowledged; it was refused
 *   V      a producer: it was told that it is there, but maybe on one node only
 *   C      a producer: it is going to cancel
 *   B E    a handler: it began; it ends (word: how). Under a lease the word of B is when that ends
 *   S U    a worker: the handler was told to stop; its end did not count
 *   L D    a worker: it was lost; it is in doubt
 *   G      a process: it stood still
 *   F H    a fault (word) that is about to hit a life, or Redis ("-"); it is about to end
 */
struct line {
    char kind;
    char name[NAME_MAX_LEN + 1];
    uint64_t token;
    char life[WORD_MAX_LEN + 1];
    int64_t at_ms;
    char word[WORD_MAX_LEN + 1];
};
void record_open(const char *path);
void record_write(char kind, const char *name, uint64_t token, const char *life, const char *word);

/* ---- tasks: "<name> <mode> <ms> <length>", and as many bytes more as make that length ---- */

#define TASK_MAX 24000
struct work {
    char name[NAME_MAX_LEN + 1];
    char mode; /* 'd': done; 'r', 'b': on an odd token retried, given back; 'f': fails; 'p': poison; 'e': endless */
    int ms, len;
};
/* Writes a task of `w->len` bytes, which is made enough for the words. */
void work_write(struct work *w, char task[TASK_MAX]);
/* False: these are not the bytes of a task. */
bool work_read(struct work *w, const void *task, size_t len);
/* Of one that ends: the process `pid`, which runs `life`, dies of it; 0 is the caller. */
_Noreturn void work_poison(const char *life, pid_t pid);
#define POISON_SIGNAL SIGUSR2
/* How it ends under this token: "finish", "retry", "back" or "fail". */
const char *work_outcome(const struct work *w, uint64_t token);

/* ---- what a process of the campaign is; none of these returns ---- */

_Noreturn void worker_inline(const struct campaign *c, const char *life);
_Noreturn void worker_threads(const struct campaign *c, const char *life);
#define LIFE_OF_COMMANDS 'c'
_Noreturn void worker_command(const struct campaign *c, const char *life);
_Noreturn void worker_resumes(const struct campaign *c, const char *life);
_Noreturn void leaser_run(const struct campaign *c, const char *life);
_Noreturn void producer_run(const struct campaign *c, const char *life);
/* The command of worker_command(). */
_Noreturn void command_run(void);

/* The exit status of one that could not go on for what Redis answered, and is to be started again; and of one that
 * found no Redis, or none that would serve it, which only one may find that was told to end. */
#define EXIT_AGAIN 3
#define EXIT_WITHOUT_REDIS 4

/* ---- tasks that never end: a few workers always have them, one of them each ---- */

struct muster_client;
/* Puts them, of this round. */
bool endless_put(struct muster_client *client, int round);
/* Cancels them: each must be there, once. */
bool endless_cancel(struct muster_client *client, int round);

/* ---- the Redis of a campaign, or its cluster ---- */

struct server {
    const struct campaign *campaign;
    pid_t pid; /* of Redis, or of the cluster's keeper */
    int keeper;
    enum fault fault; /* what it suffers */
    bool is_hurt;
    int64_t heals_at_ms; /* by itself it does not; a cluster is healed by its keeper */
    int64_t healed_at_ms, may_vote_at_ms;
    int turn; /* which fault of a cluster was the last */
};
/* Starts it, and says its URL to the campaign. */
void server_start(struct server *s, struct campaign *c);
void server_stop(struct server *s);
/* Nothing happens while it suffers already. */
void server_hurt(struct server *s, enum fault fault, struct random *r);
/* Ends what it suffers when it is time. */
void server_heal(struct server *s, int64_t now);

/* The cluster's part of these. */
void cluster_start(struct server *s, struct campaign *c);
void cluster_hurt(struct server *s, struct random *r);
bool cluster_is_healed(struct server *s);

/* ---- the processes of a campaign ---- */

struct crew;
struct crew *crew_start(const struct campaign *c, int round);
void crew_hurt(struct crew *crew, enum fault fault, struct random *r);
/* Starts again what has ended, and continues what is stopped when it is time. False, with words on standard error: one
 * has ended as none should. */
bool crew_tend(struct crew *crew);
/* From now on nothing is put; nothing stays stopped. */
bool crew_calm(struct crew *crew);
/* SIGTERM to all. */
bool crew_end(struct crew *crew);
/* Those that are left die with this program. */
void crew_free(struct crew *crew);

/* ---- the account ---- */

/* The longest times without a sign of service around each fault of Redis, by the kind of sign: X(GAP, name). */
#define GAPS(X)                         \
    X(GAP_ACKNOWLEDGED, "acknowledged") \
    X(GAP_THERE, "there")               \
    X(GAP_BEGUN, "begun")
enum gap {
#define GAP_ENUM(gap, name) gap,
    GAPS(GAP_ENUM)
#undef GAP_ENUM
        GAP_COUNT
};
struct gaps {
    int64_t *ms;
    size_t n, room;
};
/* The place of those outside all faults. */
#define FAULT_NONE FAULT_COUNT

struct figures {
    uint64_t acknowledged, refused, unconfirmed, unknown, finished, failed, cancelled, poisoned, runs, reruns, alone,
        resumed, forgotten;
    uint64_t faults[FAULT_COUNT];
    struct gaps gaps[FAULT_COUNT + 1][GAP_COUNT];
    struct gaps lasted[FAULT_COUNT]; /* the faults themselves */
};
void gaps_print(const struct figures *f);
void gaps_free(struct figures *f);
/* All of the round's work has an end. False, with words on standard error: that does not come. */
bool account_await_end(const struct campaign *c, struct muster_client *client, struct crew *crew);
/* Whether the round balances; words on standard error name each task that does not. Forgets the failed lists. */
bool account_balance(const struct campaign *c, struct muster_client *client, struct figures *f);

#endif
