/* SPDX-License-Identifier: MIT
 *
 * Redis without muster, blocking, for the raw sides and for the checks of both sides. All calls fail() when Redis
 * does not answer, or answers with an error.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

struct redisContext;
struct redisReply;

struct redisContext *raw_connect(const char *url);

/* From now on connections wait at most this long for an answer; before, for a minute. */
void raw_set_timeout(int ms);

/* Whether somebody answers there. */
bool raw_answers(const char *url);

/* One command. The reply is the caller's. */
struct redisReply *raw_command(struct redisContext *c, const char *format, ...);

/* The same where the reply is a number, and where it does not matter. */
int64_t raw_integer(struct redisContext *c, const char *format, ...);
void raw_do(struct redisContext *c, const char *format, ...);

/* The reply, or its element i, which must be of hiredis' type: any other ends the benchmark with words. A status is a
 * string, too. */
const struct redisReply *raw_typed(const struct redisReply *reply, int type);
const struct redisReply *raw_element(const struct redisReply *reply, size_t i, int type);

/* The next reply of what was appended; the caller's. */
struct redisReply *raw_reply(struct redisContext *c);

struct raw_info {
    double cpu_us;
    int64_t commands, memory, clients, to_free; /* to_free: objects that were removed and still take memory */
};
struct raw_info raw_info(struct redisContext *c);

/* How many scripts were called by their digest, and how long they took in all. */
struct raw_calls {
    int64_t n;
    double us;
};
struct raw_calls raw_script_calls(struct redisContext *c);

/* Remove all keys that begin with `prefix`, including those that appear meanwhile. */
void raw_remove(struct redisContext *c, const char *prefix);

/* Take all tasks out of a list. */
void raw_collect(struct redisContext *c, const char *key, struct tally *out);
/* The same of the values of all hashes whose names are as `pattern` says. */
void raw_collect_hashes(struct redisContext *c, const char *pattern, struct tally *out);

void raw_load_script(struct redisContext *c, const char *body, char sha[41]);

/* The name of a key in the namespace: "<prefix>:<name>". */
#define RAW_KEY_MAX 128
void raw_key(char out[RAW_KEY_MAX], const char *prefix, const char *name);

#endif
