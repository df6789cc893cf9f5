/* SPDX-License-Identifier: MIT
 *
 * The exit codes of the command. Help prints them from this list, too.
 */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

#define EXITS(X)                                                                         \
    X(DONE, 0, "done, even if a list is empty")                                          \
    X(FAILED, 1, "failed or refused, or standard output could not be written")           \
    X(USAGE, 2, "wrong usage; nothing was tried")                                        \
    X(NOT_FOUND, 3, "what was asked for does not exist")                                 \
    X(EXISTS, 4, "it is there already: an id that is alive, a task that is unique")      \
    X(NO_REDIS, 69, "no connection to Redis, or it broke")                               \
    X(UNCONFIRMED, 74, "done, but not confirmed by as many replicas as --replicas asks") \
    X(BUSY, 75, "Redis is full, loading, busy or read-only")                             \
    X(DENIED, 77, "Redis denied access: wrong user or password, or no permission")       \
    X(TIMEOUT, 124, "--timeout has passed")                                              \
    X(INTERRUPTED, 130, "interrupted; what was done is told (143: by SIGTERM)")

enum exit_code {
#define EXIT_ENUM(name, number, text) EXIT_##name = (number),
    EXITS(EXIT_ENUM)
#undef EXIT_ENUM
};

#endif
