/* SPDX-License-Identifier: MIT
 *
 * How the command ends: the one list of exit codes, from which help prints them, too.
 */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

#define EXITS(X)                                             \
    X(DONE, 0, "done; an empty list is fine too")            \
    X(FAILED, 1, "failed or refused")                        \
    X(USAGE, 2, "wrong usage: nothing was tried")            \
    X(NOT_FOUND, 3, "no such thing")                         \
    X(NO_REDIS, 69, "no Redis, or it went away")             \
    X(BUSY, 75, "Redis is full, loading, busy or read-only") \
    X(DENIED, 77, "Redis wants another user or password")    \
    X(TIMEOUT, 124, "--timeout is over")

enum exit_code {
#define EXIT_ENUM(name, number, text) EXIT_##name = (number),
    EXITS(EXIT_ENUM)
#undef EXIT_ENUM
};

#endif
