/* SPDX-License-Identifier: MIT
 *
 * What a verb of the command is, and what it is called with.
 *
 * Each verb is one const struct; verbs.h lists them all. Names, numbers, durations and the URL are checked before `run`
 * is called, so `run` only has to check what its options mean together.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "exits.h"
#include "opt.h"

#define OPERANDS_ALL 1000

struct call;

struct command {
    const char *name, *operands, *summary;
    const char *about;    /* what --help says after the summary; NULL: nothing */
    const char *examples; /* lines, each ends in a newline */
    const struct opt *options;
    size_t min_operands, max_operands;
    size_t n_queues; /* how many of the first operands are names of queues */
    bool takes_command;
    bool has_no_connection; /* it refuses the options of the group "Connection" */
    bool changes;           /* what it prints is about something that it has done */
    int (*run)(const struct call *call);
};

/*
 * A verb as it was called.
 *
 *   own, common  the values of command->options and of opt_common, by index
 *   rest         the command after `--`, ended by NULL; NULL if there was no `--`
 */
struct call {
    const struct command *command;
    struct opt_value own[OPT_LIMIT], common[OPT_LIMIT];
    char **operands, **rest;
    size_t n_operands;
    bool wants_json; /* one of its words is --json: known before the words are parsed, for complaints about them */
};

#endif
