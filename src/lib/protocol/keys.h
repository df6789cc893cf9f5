/* SPDX-License-Identifier: MIT
 *
 * Keys and channels: the only place where the library makes their names, and the one list of them. The scripts make
 * theirs from the namespace's root; the build checks that each stands in this list. doc/keys.md says what is in them.
 */
#ifndef KEYS_H
#define KEYS_H

#include <muster/client.h>
#include <stddef.h>
#include <stdint.h>

/* Behind the root "<prefix>:". With a colon at the end, names follow. */
#define KEYS(X)                          \
    X(KEY_ALIVE, "alive:")               \
    X(KEY_BEAT, "beat")                  \
    X(KEY_COMPLETE, "complete:")         \
    X(KEY_CONFIG, "config")              \
    X(KEY_CRASHES, "crashes:")           \
    X(KEY_DELAYED, "delayed:")           \
    X(KEY_DEPENDENCIES, "dependencies:") \
    X(KEY_DEPENDENTS, "dependents:")     \
    X(KEY_DEPENDS, "depends:")           \
    X(KEY_DUE, "due")                    \
    X(KEY_EVENTS, "events")              \
    X(KEY_FAILED, "failed:")             \
    X(KEY_FAILURES, "failures:")         \
    X(KEY_FORMAT, "format")              \
    X(KEY_HISTORY, "history:")           \
    X(KEY_IDLE, "idle:")                 \
    X(KEY_JOB, "job:")                   \
    X(KEY_LEASES, "leases:")             \
    X(KEY_MARKS, "marks:")               \
    X(KEY_NAMES, "names")                \
    X(KEY_NOTES, "notes:")               \
    X(KEY_PROCESSING, "processing:")     \
    X(KEY_QUEUE, "queue:")               \
    X(KEY_QUEUES, "queues:")             \
    X(KEY_RECURRING, "recurring:")       \
    X(KEY_REGISTRY, "registry")          \
    X(KEY_REQUEST, "request:")           \
    X(KEY_RUNNING, "running:")           \
    X(KEY_SCHEDULED, "scheduled:")       \
    X(KEY_STATS, "stats:")               \
    X(KEY_TAG, "tag:")                   \
    X(KEY_TAGS, "tags")                  \
    X(KEY_TIMER, "timer")                \
    X(KEY_TOKEN, "token")                \
    X(KEY_TRACKED, "tracked")            \
    X(KEY_TTLS, "ttls")                  \
    X(KEY_WAITING, "waiting:")           \
    X(KEY_WAKE, "wake:")                 \
    X(KEY_WORKER, "worker:")

enum key {
#define KEY_ENUM(name, text) name,
    KEYS(KEY_ENUM)
#undef KEY_ENUM
        KEY_COUNT
};

/* The layout that P:format names. */
#define FORMAT_VERSION "1"

/* A key of the longest kind, "<prefix>:processing:<worker>:<queue>", with its NUL. */
#define KEY_MAX (MUSTER_PREFIX_MAX + 12 + 1 + MUSTER_WORKER_ID_MAX + 1 + MUSTER_QUEUE_MAX + 1)

/* Each writes a key into `out` and returns its length. `name` is the last part, or "" for none. */
size_t key_root(char out[KEY_MAX], const char *prefix);
size_t key_of(char out[KEY_MAX], const char *prefix, enum key key, const char *name);
size_t key_processing(char out[KEY_MAX], const char *prefix, const char *worker, const char *queue);

/* The channels of a queue for announcements, "<prefix>_<queue>_<what>": of work, also by foreign producers, and of what
 * was cancelled, deleted, done. */
#define CHANNEL_WORK "work"
#define CHANNEL_CANCEL "cancel"
#define CHANNEL_DELETE "delete"
#define CHANNEL_DONE "done"
size_t channel_of(char out[KEY_MAX], const char *prefix, const char *queue, const char *what);

/* Tokens: a number and its text of fixed width, base 32, which sorts as it counts. */
#define TOKEN_LEN 11
void token_format(char out[TOKEN_LEN + 1], uint64_t token);
int token_parse(const char *text, size_t len, uint64_t *token);
int64_t token_at_ms(uint64_t token);

/* A process id, "<worker>:<token>:<queue>". */
#define PROCESS_ID_MAX (MUSTER_WORKER_ID_MAX + 1 + TOKEN_LEN + 1 + MUSTER_QUEUE_MAX + 1)
void process_id_format(char out[PROCESS_ID_MAX], const char *worker, const char *token, const char *queue);

#endif
