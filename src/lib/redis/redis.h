/* SPDX-License-Identifier: MIT
 *
 * One blocking connection to Redis. It connects when it is first used and again after it broke, logs in, selects the
 * database, checks the namespace's format, and sends commands and scripts. It knows nothing of what they mean.
 */
#ifndef REDIS_H
#define REDIS_H

#include "base/figures.h"
#include "redis/command.h"
#include "redis/confirm.h"
#include "redis/reply.h"
#include "redis/url.h"

struct redis;
struct redisContext;

/* Where to connect to, and what the data there must look like. */
struct redis_options {
    const struct url *url;         /* copied; NULL: there is only the borrowed connection */
    struct redisContext *borrowed; /* a connection to use; it stays its owner's */
    bool stays_at_sentinel;        /* it talks to a sentinel, and knows nothing of the namespace */
    int timeout_ms;
    struct confirm confirm;
    const char *prefix;                  /* of the namespace, for people */
    const char *root_key;                /* its root: the connection leads to where that is */
    const char *format_key;              /* holds the format in which the namespace is written */
    void (*selected)(void *arg, int db); /* called when it is known which database a borrowed connection has selected */
    void *arg;
};

/* Everything but `borrowed` and `arg` is copied. Nothing is sent. */
int redis_new(struct redis **out, const struct redis_options *o);
void redis_free(struct redis *r);
/* False in a child of fork(): what the parent has made is the parent's. */
bool redis_is_own(const struct redis *r);

/* The wait of a call ends with E_INTERRUPTED: of the one that runs, otherwise of the next one, unless the interrupt is
 * taken back before. What a call has asked for may have been done then, and the connection is dropped. Only this may be
 * called on any thread and in signal handlers. */
void redis_interrupt(struct redis *r);
/* Was there an interrupt that has ended no call yet? */
bool redis_take_interrupt_back(struct redis *r);
/* Call this with an error that is passed over, because the call has what it wanted: an interrupt is for the next one,
 * then. */
void redis_pass_over(struct redis *r, int err);
/* Of the errors of a call, in their order, the first one counts; an interrupt behind it is for the next call. */
int redis_first_error(struct redis *r, int err, int later);
/* Wait so long, or until an interrupt. */
void redis_sleep(struct redis *r, int ms);
/* Connect now, if it is not connected. */
int redis_open(struct redis *r);
/* Is what was refused for a reason that passes told at once, and not sent again? */
void redis_set_once(struct redis *r, bool is_once);
/* For how long an answer may be waited for, from now on. Returns what it was. */
int redis_set_timeout(struct redis *r, int timeout_ms);
/* The same, but only if that is shorter. */
int redis_hurry(struct redis *r, int timeout_ms);

/* Has a call that returned this had no answer? Then no other answer of its kind will come. */
static inline bool redis_is_unanswered(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT || err == MUSTER_E_INTERRUPTED;
}

/* What muster_client_stats() tells. */
struct redis_figures {
#define FIGURES_COUNTER(name, words) figure_counter name;
    MUSTER_CLIENT_COUNTERS(FIGURES_COUNTER)
#undef FIGURES_COUNTER
    figure_counter errors[MUSTER_CLIENT_STATS_ERRORS];
    struct figure_times time;
};
const struct redis_figures *redis_figures(const struct redis *r);

/* What the last failure was, for people. */
const char *redis_error(const struct redis *r);
/* In words where it is connected, or would go next. Is it there because sentinels say so? */
bool redis_where(const struct redis *r, char *out, size_t size);
void redis_error_set(struct redis *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Only the format of this library is accepted, as is usual; or any, for an upgrade: then nothing is claimed. */
enum redis_format { REDIS_OWN_FORMAT, REDIS_ANY_FORMAT };
void redis_expect_format(struct redis *r, enum redis_format format);

/*
 * Call this before the first write to a namespace. If the namespace has no format yet, its format is written down, so
 * that a later version knows what it meets. Costs nothing once the format is known on this connection.
 */
int redis_claim_format(struct redis *r);

/*
 * A command that Redis has not executed, for a reason that passes (it is loading, its slot moves, it has no master),
 * is sent again, where the cluster or Sentinel says, until the timeout is over; so is the making of a connection. After
 * that it is E_BUSY.
 *
 * Send one command and wait. On MUSTER_OK `*reply` is the caller's to free, and is no error. The connection is dropped
 * after E_CONN, E_TIMEOUT, E_INTERRUPTED and a broken protocol.
 */
int redis_call(struct redis *r, struct command *c, struct redisReply **reply);
/* The same for a script's command: EVALSHA, and EVAL once if Redis does not know the script. The script's own status
 * may be an error too; the caller frees the answer in that case as well. */
int redis_script(struct redis *r, struct command *c, struct redisReply **reply);

/* Say what a status means that a script has answered, and count it; `key`: what it answered besides, or NULL. That of
 * the call itself is said already; this is for one of several in an answer. */
void redis_script_say(struct redis *r, const struct lua_script *script, int err, const char *key);
/* The words for a key of a wrong type. */
void redis_script_say_key(struct redis *r, const char *key);

/* The same for a script that mostly wakes a worker: its messages leave Redis before its answer. Costs one small command
 * more. */
int redis_script_waking(struct redis *r, struct command *c, struct redisReply **reply);

/* Are changes to be confirmed on this connection? */
bool redis_confirms(const struct redis *r);

/* How many replicas must confirm; and how many there were when it connected, if any must: -1: the server does not say. */
int redis_replicas_asked(const struct redis *r);
int redis_replicas(const struct redis *r);

/* Call this before the first change that is to be confirmed. E_REDIS, in words: the server cannot do it. Costs nothing
 * once that is known. */
int redis_confirm_prepare(struct redis *r);

/* Whether a change was confirmed. */
struct redis_confirmed {
    int err; /* MUSTER_OK or E_UNCONFIRMED, if the change itself succeeded */
    char why[512];
};

/* As redis_script(), or redis_script_waking(), and asks in the same write for its confirmation, if the options say so.
 * What the confirmation says is apart. */
enum redis_wake { REDIS_WAKES_NOBODY, REDIS_WAKES };
int redis_script_confirmed(struct redis *r, struct command *c, enum redis_wake wake, struct redisReply **reply,
                           struct redis_confirmed *confirmed);

/* The number of the connection that there is: another one may lead to another server. */
unsigned redis_connection(const struct redis *r);

/* Ask for the confirmation of all that was sent by redis_append() over this connection, of which the last is not read
 * yet. The answer comes after theirs. It says nothing if the connection has changed since. */
int redis_confirm_append(struct redis *r);
void redis_confirm_read(struct redis *r, unsigned connection, struct redis_confirmed *confirmed);
/* After a change that was refused: the answer is read, and the words of the refusal stay. */
void redis_confirm_skip(struct redis *r);

/* Pipelining: send without waiting, then read the answers in order. After an error it is unknown what Redis has done,
 * and the connection is unusable until the next redis_call() or redis_append() connects again. Answers behind the first one
 * need not be read: the next call that is sent drops those of the one before. So one that asks in REDIS_ANY_ORDER asks for
 * all before it reads the first answer. Of looks over a borrowed connection all are read with the first one: its owner may use
 * it behind the call. */
int redis_append(struct redis *r, struct command *c);
/* The last call ended with E_CONN, and may have asked for more than this Redis sends in one answer: its limits. NULL: it
 * was no look, or Redis has no such limit. Looks (`is_look`) of one pipeline are sent again before that, fewer at once. */
struct byte_limits;
const struct byte_limits *redis_answer_limits(const struct redis *r);
/* The last that was appended is about those before it: if one of them is sent again, it is sent again after that, too. */
void redis_asked_follow(struct redis *r);
/* May the server that it talks to change, because a slot may? */
bool redis_is_at_cluster(const struct redis *r);
/* Does the order among them matter? Then one that is refused is not sent again once a later one was executed. */
enum redis_order { REDIS_ANY_ORDER, REDIS_IN_ORDER };
void redis_set_order(struct redis *r, enum redis_order order);
int redis_read(struct redis *r, struct redisReply **reply);
void redis_reply_free(struct redisReply *reply);

/*
 * Listening: a second connection to the same Redis, subscribed to these channels when redis_listen() returns. Free it
 * with redis_free(), before `r`, which gets the error text of whatever fails on it. A borrowed connection cannot be
 * made twice: E_STATE. redis_check_listen() tells that beforehand.
 */
int redis_check_listen(struct redis *r);
int redis_listen(struct redis **listener, struct redis *r, const char *const *channels, size_t n);
/* Wait at most wait_ms for the next message: `*message`, the caller's to free, is {"message", channel, bytes}.
 * E_TIMEOUT: none came, and the connection is sound. After any other error the connection is broken, messages were
 * lost or nobody wants them any more: free it. */
int redis_hear(struct redis *listener, int64_t wait_ms, struct redisReply **message);

#endif
