/* SPDX-License-Identifier: MIT
 *
 * Keys and channels: the one list of them, and the only place where the library makes their names. The scripts make
 * theirs from the namespace's root, and the build checks that each is in this list. doc/keys.md says what they hold.
 */
#ifndef KEYS_H
#define KEYS_H

#include <muster/client.h>
#include <stddef.h>
#include <stdint.h>

/* What follows the root "<prefix>:". After a colon at the end a name follows. */
#define KEYS(X)                          \
    X(KEY_ALIVE, "alive:")               \
    X(KEY_BATCH, "batch:")               \
    X(KEY_BATCHES, "batches")            \
    X(KEY_BEAT, "beat")                  \
    X(KEY_COMPLETE, "complete:")         \
    X(KEY_CONFIG, "config")              \
    X(KEY_CRONS, "crons")                \
    X(KEY_DELAYED, "delayed:")           \
    X(KEY_DEPENDENCIES, "dependencies:") \
    X(KEY_DEPENDENTS, "dependents:")     \
    X(KEY_DEPENDS, "depends:")           \
    X(KEY_DUE, "due")                    \
    X(KEY_ENDED, "ended")                \
    X(KEY_FAILED, "failed:")             \
    X(KEY_FAILURES, "failures:")         \
    X(KEY_FIRSTS, "firsts:")             \
    X(KEY_FOLLOWERS, "followers:")       \
    X(KEY_FORMAT, "format")              \
    X(KEY_FREED, "freed:")               \
    X(KEY_GAPS, "gaps:")                 \
    X(KEY_HELD, "held:")                 \
    X(KEY_HISTORY, "history:")           \
    X(KEY_HOLDERS, "holders:")           \
    X(KEY_HOLDS, "holds:")               \
    X(KEY_HOME, "home:")                 \
    X(KEY_IDLE, "idle:")                 \
    X(KEY_JOB, "job:")                   \
    X(KEY_KEYED, "keyed:")               \
    X(KEY_LEASES, "leases:")             \
    X(KEY_MARKS, "marks:")               \
    X(KEY_MEMBERS, "members:")           \
    X(KEY_MOVES, "moves:")               \
    X(KEY_NAMES, "names")                \
    X(KEY_NOTES, "notes:")               \
    X(KEY_PAST, "past")                  \
    X(KEY_PROCESSING, "processing:")     \
    X(KEY_QUEUE, "queue:")               \
    X(KEY_QUEUES, "queues:")             \
    X(KEY_RECURRING, "recurring:")       \
    X(KEY_REGISTRY, "registry")          \
    X(KEY_REQUEST, "request:")           \
    X(KEY_RETURNED, "returned:")         \
    X(KEY_RUNNING, "running:")           \
    X(KEY_SCHEDULED, "scheduled:")       \
    X(KEY_STATS, "stats:")               \
    X(KEY_SUSPECTS, "suspects:")         \
    X(KEY_TAG, "tag:")                   \
    X(KEY_TAGS, "tags")                  \
    X(KEY_TAKE, "take:")                 \
    X(KEY_TAKERS, "takers:")             \
    X(KEY_TIMER, "timer")                \
    X(KEY_TOKEN, "token")                \
    X(KEY_TRACKED, "tracked")            \
    X(KEY_TTLS, "ttls")                  \
    X(KEY_UPGRADE, "upgrade:")           \
    X(KEY_WAITING, "waiting:")           \
    X(KEY_WORKER, "worker:")

enum key {
#define KEY_ENUM(name, text) name,
    KEYS(KEY_ENUM)
#undef KEY_ENUM
        KEY_COUNT
};

/* The room for the longest kind of key, "<prefix>:processing:<worker>:<queue>", with its NUL. */
#define KEY_MAX (MUSTER_PREFIX_MAX + 12 + 1 + MUSTER_WORKER_ID_MAX + 1 + MUSTER_QUEUE_MAX + 1)

/* Each writes a key into `out` and returns its length. `name` is the last part, or "" for none. */
size_t key_root(char out[KEY_MAX], const char *prefix);
size_t key_of(char out[KEY_MAX], const char *prefix, enum key key, const char *name);
size_t key_processing(char out[KEY_MAX], const char *prefix, const char *worker, const char *queue);

/*
 * Redis has one set of channels for all of its databases. So all channels of a namespace begin with a root that tells
 * its database too: the prefix, and in databases other than 0 "<prefix>@<db>". No prefix holds an '@'. The functions
 * that make a channel get this root, `channels`.
 */
#define CHANNELS_MAX (MUSTER_PREFIX_MAX + 1 + 10 + 1)
/* The room for the longest channel, "<channels>_<queue>_<what>", with its NUL. */
#define CHANNEL_MAX (CHANNELS_MAX + 1 + MUSTER_QUEUE_MAX + 1 + 10)

size_t key_channels(char out[CHANNELS_MAX], const char *prefix, int db);

/* A worker's own channel, and that of all events of jobs. */
size_t key_wake(char out[CHANNEL_MAX], const char *channels, const char *worker);
size_t key_events(char out[CHANNEL_MAX], const char *channels);

/* A queue's channels, "<channels>_<queue>_<what>". They announce work, which foreign producers may do too, and what was
 * cancelled, deleted and done. */
#define CHANNEL_WORK "work"
/* What muster itself publishes there begins with this word; the names of waiting callers may follow. */
#define CHANNEL_WORK_OWN "muster"
#define CHANNEL_CANCEL "cancel"
#define CHANNEL_DELETE "delete"
#define CHANNEL_DONE "done"
size_t key_channel(char out[CHANNEL_MAX], const char *channels, const char *queue, const char *what);

#endif
