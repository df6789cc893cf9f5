/* SPDX-License-Identifier: MIT
 *
 * What a verb of the command is, what it is called with, and how it ends.
 *
 * Each verb is one const struct; verbs.h lists them. Names, numbers, durations and the URL are
 * checked before `run` is called, so `run` only has to look at what its options mean together.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stddef.h>

#include "opt.h"

/* The one list of exit codes. */
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

#define OPERANDS_ALL 1000

struct call;

struct command {
    const char *name, *operands, *summary;
    const char *about;    /* what --help says beyond the summary; NULL: nothing */
    const char *examples; /* lines, each ends in a newline */
    const struct opt *options;
    size_t min_operands, max_operands;
    size_t n_queues; /* so many of the first operands are names of queues */
    int takes_command;
    int (*run)(const struct call *call);
};

/*
 *   own, common  values of command->options and opt_common, by index
 *   rest         the command behind `--`, NULL at its end; NULL: there was no `--`
 */
struct call {
    const struct command *command;
    struct opt_value own[OPT_LIMIT], common[OPT_LIMIT];
    char **operands, **rest;
    size_t n_operands;
};

/* One line on standard error, "muster VERB: ...". */
void complain(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a pointer to the verb's help. Returns EXIT_USAGE. */
int usage_error(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
