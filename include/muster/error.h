/* SPDX-License-Identifier: MIT
 *
 * Errors and the log: what a call of muster can answer, and where its warnings go.
 *
 * Every function that can fail returns 0 (MUSTER_OK) or one of the negative numbers below. The Lua scripts answer with
 * the same numbers. Where a call has its own list of errors, that list counts before the general meaning given here.
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
 *   E_NOMEM        out of memory; a call of several steps may have done some of them, any other has changed nothing
 *   E_INVALID      a name, number, option or URL is not allowed; nothing was changed
 *   E_TOO_BIG      a task, or something else with a limit, is over its limit; nothing was changed. Of tasks that go in
 *                  several requests, of which Redis does not take one for its size, a part may be there
 *   E_CONN         the connection could not be made, or broke before the answer came: a change that was asked for may
 *                  or may not have been made
 *   E_TIMEOUT      no answer came in time: like E_CONN, a change may or may not have been made
 *   E_FULL         Redis has reached its maxmemory (OOM); nothing was changed
 *   E_BUSY         Redis is loading its data, runs a long script, is a replica, has too few replicas or cannot write to
 *                  disk, or takes no more connections on its Unix socket; or the namespace's slot in a cluster moves, or
 *                  is nobody's; this step changed nothing. A call of several steps (an enqueue of more tasks than fit in
 *                  one, a repair, an upgrade) leaves what its earlier steps did
 *   E_DENIED       the password is wrong, or the user may not do this (NOAUTH, WRONGPASS, NOPERM); nothing was changed
 *   E_REDIS        Redis refused for another reason (for example, a key has the wrong type), or the server is not
 *                  Redis, or older than 7.0
 *   E_FORMAT       the namespace is stored in another version of muster's format; nothing was changed
 *   E_NOT_FOUND    the thing that was named does not exist
 *   E_EXISTS       something alive has this name already; nothing was changed
 *   E_STATE        the call does not fit the present state of its object; nothing was changed
 *   E_LOST         this process no longer belongs to the caller; nothing was changed
 *   E_GONE         the worker is not registered under this epoch; nothing was changed
 *   E_NOT_STARTED  the worker was not started; nothing was changed
 *   E_CANCELLED    the process was cancelled, or its queue was deleted: it has ended, and its task is gone, instead of
 *                  what the call asked for
 *   E_UNCONFIRMED  it was done, but fewer replicas have confirmed it than `replicas` asks for, or no disk has: it may
 *                  be lost if this Redis fails now
 *   E_STOPPED      the caller's own function has stopped a call of several steps: what the earlier steps did stays
 *                  done, and nothing else was changed
 *   E_INTERRUPTED  muster_client_interrupt() has ended the call: like E_CONN, a change that was asked for may or may not
 *                  have been made; but nothing stays taken that the caller does not know of
 *   E_EXHAUSTED    the process of a job was to be retried, and the job has had all its retries: it has ended, and the job
 *                  has failed for good instead
 */
#define MUSTER_ERRORS(X)                                                \
    X(OK, 0, "ok")                                                      \
    X(E_NOMEM, -1, "out of memory")                                     \
    X(E_INVALID, -2, "invalid argument")                                \
    X(E_TOO_BIG, -3, "over a limit; nothing was changed")               \
    X(E_CONN, -4, "no answer; may or may not have been done")           \
    X(E_TIMEOUT, -5, "timed out; may or may not have been done")        \
    X(E_FULL, -6, "Redis is full")                                      \
    X(E_BUSY, -7, "Redis is loading, busy or read-only")                \
    X(E_DENIED, -8, "denied")                                           \
    X(E_REDIS, -9, "Redis refused it, or the server is not Redis")      \
    X(E_FORMAT, -10, "the namespace is stored in another format")       \
    X(E_NOT_FOUND, -11, "not found")                                    \
    X(E_EXISTS, -12, "already exists")                                  \
    X(E_STATE, -13, "not possible in the present state")                \
    X(E_LOST, -14, "not the owner")                                     \
    X(E_GONE, -15, "not registered under this epoch")                   \
    X(E_NOT_STARTED, -16, "the worker was not started")                 \
    X(E_CANCELLED, -17, "cancelled: gone instead")                      \
    X(E_UNCONFIRMED, -18, "done, but not confirmed")                    \
    X(E_STOPPED, -19, "stopped by its caller between two steps")        \
    X(E_INTERRUPTED, -20, "interrupted; may or may not have been done") \
    X(E_EXHAUSTED, -21, "no retry is left: failed instead")

enum muster_err {
#define MUSTER_ERROR_ENUM(name, number, text) MUSTER_##name = (number),
    MUSTER_ERRORS(MUSTER_ERROR_ENUM)
#undef MUSTER_ERROR_ENUM
};

/* The name of an error ("E_LOST") and its text ("not the owner"), as static strings. For a number that is no error they
 * are "E_UNKNOWN" and "unknown error". Any thread. */
MUSTER_API const char *muster_err_name(int err);
MUSTER_API const char *muster_err_text(int err);

enum muster_log_level { MUSTER_LOG_ERROR, MUSTER_LOG_WARN, MUSTER_LOG_INFO, MUSTER_LOG_DEBUG };

/*
 * Receives one line without its newline. The line is borrowed until the function returns, and never holds a task's
 * bytes or a password. It is called on the thread that logs, so it must be thread-safe if clients or workers run on
 * several threads.
 */
typedef void muster_log_fn(enum muster_log_level level, const char *line, void *arg);

/* A sink that drops every line: muster_log_set(muster_log_silent, NULL) makes the library quiet. */
MUSTER_API void muster_log_silent(enum muster_log_level level, const char *line, void *arg);

/* X(name): the classes of MUSTER_TRACE, see muster_log_set(). */
#define MUSTER_TRACES(X) X(state) X(script) X(wake)

/*
 * Replace the log sink of the whole program. NULL restores the default, which writes errors and warnings to standard
 * error. The sink is the library's only global and is not synchronised: set it before you make the first client or
 * worker.
 *
 * What a worker without `on_event` (worker.h) would tell its program goes to the sink, as far as it is a warning: that
 * there is no Redis, or that an end did not count. So a program that does nothing about it is not silent. At most one
 * line of a kind comes in ten seconds; the next one says how many were left out.
 *
 * The environment variable MUSTER_TRACE names classes to trace, separated by commas: `state` (the worker's states and
 * connections), `script` (each script call with its answer and time), `wake` (each message that wakes a worker).
 * An unknown class is warned of once (the command refuses it). Traced lines have the level MUSTER_LOG_DEBUG, and the
 * default sink shows them.
 */
MUSTER_API void muster_log_set(muster_log_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif
#endif
