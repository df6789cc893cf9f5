/* SPDX-License-Identifier: MIT
 *
 * The scripts, called directly: for calls that no worker can be made to send, and to see what one call does by itself.
 * A worker here is only its calls: it has no loop, and does what the test says.
 *
 * Arguments are texts, which may have blanks in them. doc/keys.md has the fields, and each script's head its arguments
 * and its answer.
 */
#ifndef SCRIPT_CALL_H
#define SCRIPT_CALL_H

#include "protocol/lua_scripts.h"
#include "scene.h"

/* The answer, an error too; to be freed. `args` ends with NULL. */
redisReply *script_call_list(struct scene *s, enum script_id id, const char *const *args);
#define script_call(s, id, ...) script_call_list(s, id, (const char *const[]){__VA_ARGS__, NULL})

/* Sends it with the next calls; its answer is to be read. Redis must know the script by then. */
void script_call_append(struct scene *s, enum script_id id, const char *const *args);

/* A status: the answer, or the first element of it; an error fails the test. Frees the answer. */
int script_status(redisReply *reply);
#define script_does(s, id, ...) script_status(script_call(s, id, __VA_ARGS__))

/* The answer is a list that begins with these integers; the first of them is the status. Frees the answer. */
void script_assert_answer(redisReply *reply, const long long *expected, size_t n);
#define assert_answer(reply, ...)                                 \
    script_assert_answer(reply, (const long long[]){__VA_ARGS__}, \
                         sizeof((const long long[]){__VA_ARGS__}) / sizeof(long long))

/*
 *   queues  up to three, NULL after the last
 *   limit   of hands on each of them, 0: none
 *   hears   its channel is subscribed, so hand-overs reach it
 *   ttl_ms  0: a minute
 */
struct acting_worker {
    const char *id;
    const char *queues[4];
    int hands, limit, ttl_ms;
    bool hears, permanent, resumes;
    struct scene *scene;
    struct redisContext *ear;
    char epoch[12];
    int conn;
};

/* It starts, serves its queues, has taken up what it resumes, and has taken nothing else yet. */
void acting_start(struct acting_worker *w, struct scene *s);
/* It takes up some of what its former lives held. Is there more? */
bool acting_take_up(struct acting_worker *w);
/* What a worker that died leaves: its life has ended by the registry, and its liveness key is gone. */
void acting_die(struct acting_worker *w);
/* The test needs it no more. */
void acting_forget(struct acting_worker *w);

/* One turn with these ends, that takes as much as its hands hold. The answer is to be freed. */
const char *const *acting_turn_args(const struct acting_worker *w, bool takes, const char *const *ends);
redisReply *acting_turn_list(struct acting_worker *w, bool takes, const char *const *ends);
#define acting_turn(w, ...) acting_turn_list(w, true, (const char *const[]){__VA_ARGS__, NULL})
/* Ends that all count; nothing is taken. */
void acting_say_list(struct acting_worker *w, const char *const *ends);
#define acting_say(w, ...) acting_say_list(w, (const char *const[]){__VA_ARGS__, NULL})
/* It takes what its hands hold. */
void acting_take(struct acting_worker *w);
int acting_heartbeat(struct acting_worker *w);
int acting_readback(struct acting_worker *w);
int acting_stop(struct acting_worker *w);
int acting_leave(struct acting_worker *w, const char *queue);

/* The messages that have come since the last call, each ended by a newline; to be freed. */
char *acting_heard(struct acting_worker *w);

/* The token under which a holder has this task of the queue; fails the test if it has not. */
void token_of_task(struct scene *s, const char *holder, const char *queue, const char *task, char token[12]);

/* What waits in the queue, the next out first, each ended by a blank; to be freed. */
char *waiting_tasks(struct scene *s, const char *queue);
/* The same as the list has it: the next out last, each ended by a newline; to be freed. */
char *queued_tasks(struct scene *s, const char *queue);
void assert_waiting(struct scene *s, const char *queue, const char *tasks);

/* A field of the queue's settings and counters, 0 if it is not there. */
int64_t queue_field(struct scene *s, const char *queue, const char *field);

/* All keys of the server with their values, in one text; equal texts, equal data. To be freed. */
char *dump_of_all(struct scene *s);

#endif
