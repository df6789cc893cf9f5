/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking client share: its handle, and how its calls are sent and fail.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>

#include "base/sized.h"
#include "client/ages.h"
#include "client/unheard.h"
#include "protocol/script.h"
#include "redis/redis.h"

struct muster_client {
    struct redis *redis;
    char prefix[MUSTER_PREFIX_MAX + 1];
    struct script_root root;
    size_t max_task_len;
    struct {
        int64_t looked_at_ms; /* 0: never */
        char words[512];
    } full;                           /* what failed lists held when Redis was found full (full.c) */
    struct redis_confirmed confirmed; /* has what the last call added been confirmed? */
    struct unheard unheard;
    size_t take_room; /* a take asks for so many at most, because answers to more were not sent; 0: for any number */
    size_t take_most; /* and comes to no more than this; 0: to any */
    struct {
        size_t room;    /* an answer has about so many bytes, because more were not sent; 0: as many as it may */
        size_t sent;    /* the same for a text, of who may run no script */
        bool is_known;  /* Redis has said its limit */
        bool has_ended; /* a connection has ended at a look, and none was answered since */
    } heads;
    struct ages ages; /* since when tasks wait, as this client has seen */
    struct {
        muster_progress_fn *fn; /* NULL: nobody is told */
        void *arg;
    } progress;
    char busy_queue[MUSTER_QUEUE_MAX + 1]; /* no worker was idle there when this client last enqueued one task */
};

/* Answers E_INVALID; the reason becomes the client's error text. */
int client_refuse(struct muster_client *c, const char *why);
/* The words, if there are any, become the client's error text. */
void client_say(struct muster_client *c, const char *words);
/* Answers `err`; if it is an error, the reason becomes the client's error text. A pointer to it, because the check that
 * sets it may be an argument of the same call. */
int client_answer(struct muster_client *c, int err, const char *const *why);
/* MUSTER_OK, or the error; then the reason is the client's error text. client_read() is sized_read(). */
int client_read(struct muster_client *c, enum sized what, void *out, const void *given);
int client_check_queue(struct muster_client *c, const char *queue);
int client_check_task(struct muster_client *c, const struct muster_bytes *task);

/* Send one command of words: its name, a key, and more words up to NULL. */
int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words);

/* The same for one that only reads, and whose answer may be large: if Redis may have closed the connection for its size,
 * the words of E_CONN name the limit. */
int client_look(struct muster_client *c, struct redisReply **reply, const char *const *words);

/* The same, but it is sent with the next call. redis_read() reads its answer. */
int client_append(struct muster_client *c, const char *const *words);

/* Passes on what a reader of a script's answer returned. If that could not be understood, it gets its words. */
int client_understand(struct muster_client *c, int err);

/* Send a script's command, and clear the command. `*reply` is to be freed, whatever is returned. */
int client_run(struct muster_client *c, struct command *command, struct redisReply **reply);

/* Between two steps of a call: tell how far it is. MUSTER_OK, or E_STOPPED: there shall be no other step. */
int client_step(struct muster_client *c, uint64_t done, uint64_t total);

/* Call this before a script that adds something. */
int client_begin_adding(struct muster_client *c);

/* The same for a script that adds something: what its confirmation says goes to `confirmed` of the client. */
int client_run_confirmed(struct muster_client *c, struct command *command, enum redis_wake wake,
                         struct redisReply **reply);

/* After a call that has added something, or found it there: MUSTER_OK, or E_UNCONFIRMED with its words. */
int client_confirmed(struct muster_client *c);

#endif
