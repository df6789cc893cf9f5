/* SPDX-License-Identifier: MIT
 *
 * What Redis answered: a view of hiredis' reply for callers that must not know hiredis. All pointers live as long as
 * the reply. Asking a reply for what it is not gives 0, NULL or an empty view, so a malformed answer reads as nothing.
 */
#ifndef REPLY_H
#define REPLY_H

#include <muster/client.h>
#include <stdbool.h>

struct redisReply;

enum reply_kind {
    REPLY_NONE, /* no reply: the connection broke */
    REPLY_NIL,
    REPLY_INTEGER,
    REPLY_TEXT, /* a string or a status */
    REPLY_LIST,
    REPLY_ERROR
};

enum reply_kind reply_kind(const struct redisReply *r);
long long reply_integer(const struct redisReply *r);
/* A number that counts something, also one that came as a text; 0 if it is none, or below 0. */
uint64_t reply_count(const struct redisReply *r);
struct muster_bytes reply_bytes(const struct redisReply *r);
size_t reply_len(const struct redisReply *r);
const struct redisReply *reply_at(const struct redisReply *r, size_t i);
/* Takes it out of the list: it is the caller's to free, by itself. NULL: it is not there. */
struct redisReply *reply_take(struct redisReply *r, size_t i);

/* The value of a field in a list {field, value, ...}; NULL if it is not there. */
const struct redisReply *reply_field(const struct redisReply *flat, const char *name);

/* The text with its NUL, or NULL. A text may itself hold NULs: then this is its beginning. */
const char *reply_text(const struct redisReply *r);
bool reply_is(const struct redisReply *r, const char *text);
/* A text, or the beginning of one that was cut, by the script `heads` or by reply_cut(), and how long it is. */
struct muster_bytes reply_head(const struct redisReply *text, uint64_t *whole);
/* A number that came as a text or as an integer; `otherwise` if it is neither. */
long long reply_number(const struct redisReply *r, long long otherwise);

/* The server's clock in ms, from the answer to TIME; -1 if it is none. */
int64_t reply_time_ms(const struct redisReply *r);

/* MUSTER_OK, or what an error reply means; MUSTER_E_CONN without a reply. */
int reply_err(const struct redisReply *r);
/* The same, also for a script's own status: an integer, alone or as the first of a list, which is an error if it is
 * below 0. What has no status, and a status that is no error of muster's, is E_REDIS: no script has answered it. */
int reply_status(const struct redisReply *r);

/* Is it an error with this code? */
bool reply_is_refusal(const struct redisReply *r, const char *code);
/* Is it an error that means: not executed, but sent again, maybe elsewhere, it can be? */
bool reply_is_passing(const struct redisReply *r);

/* Is it that of a replica, to writing or, with its link to the master down, to whatever it is asked? */
bool reply_is_by_replica(const struct redisReply *r);

/* A refusal for people: a replica's in plain words, others of a known meaning without the hash of the script that was
 * refused. */
#define REPLY_REPLICA "READONLY: this is a replica"
#define REPLY_TOO_LONG "the request has more bytes than this Redis takes (its proto-max-bulk-len)"
void reply_refusal_words(char *out, size_t size, const char *text);

/* What the beginning of an error text ("OOM command not allowed...") means. */
int reply_err_of_text(const char *text);

/* Of a refusal for lack of a right: what may this user not use? */
enum reply_right { REPLY_COMMAND, REPLY_KEY, REPLY_CHANNEL };
enum reply_right reply_missing_right(const char *text);

#endif
