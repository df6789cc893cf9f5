/* SPDX-License-Identifier: MIT
 *
 * Errors and the log: what every call of muster can answer, and where its warnings go.
 *
 * Every function that can fail returns 0 (MUSTER_OK) or one of the negative numbers below. The same numbers are the
 * statuses of the Lua scripts. What a call says of itself (its own list of errors) wins over the general words here.
 */
#ifndef MUSTER_ERROR_H
#define MUSTER_ERROR_H

#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The one list: name, number, text.
 *
 *   E_NOMEM        memory ran out; nothing was sent
 *   E_INVALID      a name, number, option or URL is not allowed; found before anything was sent
 *   E_TOO_BIG      a task is over the limit; found before anything was sent
 *   E_CONN         the connection could not be made, or broke before the answer: if a change was asked for, it is
 *                  unknown whether it was made
 *   E_TIMEOUT      no answer came in time: like E_CONN, unknown whether it was done
 *   E_FULL         Redis has reached its maxmemory (OOM); nothing was changed
 *   E_BUSY         Redis loads its data, runs a long script, is a replica or cannot write to disk; nothing was changed
 *   E_DENIED       wrong password, or the user may not do this (NOAUTH, WRONGPASS, NOPERM); nothing was changed
 *   E_REDIS        Redis refused for another reason (a key of the wrong type, say), or the server is not a Redis
 *   E_FORMAT       the namespace is laid out in another version of muster's format; nothing was changed
 *   E_NOT_FOUND    there is no such thing
 *   E_EXISTS       a live twin exists; nothing was changed
 *   E_STATE        the call does not fit the state of the thing it was made on; nothing was changed
 *   E_LOST         this process is no longer the caller's; nothing was changed
 *   E_GONE         the worker is not registered under this epoch; nothing was changed
 *   E_NOT_STARTED  the worker was not started; nothing was changed
 */
#define MUSTER_ERRORS(X)                                 \
    X(OK, 0, "ok")                                       \
    X(E_NOMEM, -1, "out of memory")                      \
    X(E_INVALID, -2, "invalid argument")                 \
    X(E_TOO_BIG, -3, "over the limit, nothing sent")     \
    X(E_CONN, -4, "no answer: done or not, unknown")     \
    X(E_TIMEOUT, -5, "nothing in time")                  \
    X(E_FULL, -6, "Redis is full")                       \
    X(E_BUSY, -7, "Redis is loading, busy or read-only") \
    X(E_DENIED, -8, "denied")                            \
    X(E_REDIS, -9, "refused, or not a Redis")            \
    X(E_FORMAT, -10, "the namespace has another format") \
    X(E_NOT_FOUND, -11, "no such thing")                 \
    X(E_EXISTS, -12, "a live twin exists")               \
    X(E_STATE, -13, "wrong state")                       \
    X(E_LOST, -14, "not the owner")                      \
    X(E_GONE, -15, "not registered under this epoch")    \
    X(E_NOT_STARTED, -16, "worker not started")

enum muster_err {
#define MUSTER_ERROR_ENUM(name, number, text) MUSTER_##name = (number),
    MUSTER_ERRORS(MUSTER_ERROR_ENUM)
#undef MUSTER_ERROR_ENUM
};

/* The name of an error ("E_LOST") and its text ("not the owner"). Static strings; for a number that is no error,
 * "E_UNKNOWN" and "unknown error". Any thread. */
MUSTER_API const char *muster_err_name(int err);
MUSTER_API const char *muster_err_text(int err);

enum muster_log_level { MUSTER_LOG_ERROR, MUSTER_LOG_WARN, MUSTER_LOG_INFO, MUSTER_LOG_DEBUG };

/*
 * Receives one line, without its newline, borrowed until it returns. Called on whatever thread has something to say,
 * so it must be thread-safe if clients or workers run on several. A line never holds a task's bytes or a password.
 */
typedef void muster_log_fn(enum muster_log_level level, const char *line, void *arg);

/*
 * Replace the log sink of the whole program; NULL brings back the default: errors and warnings to standard error.
 * The sink is the library's only global. Call it before the first client or worker is made: it is not synchronised.
 *
 * The environment variable MUSTER_TRACE names classes to trace, separated by commas: `state` (the worker's states and
 * connections), `script` (each script call with its answer and time), `wake` (each message that wakes a worker).
 * Traced lines come at MUSTER_LOG_DEBUG, and the default sink shows them.
 */
MUSTER_API void muster_log_set(muster_log_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif
#endif
