/* SPDX-License-Identifier: MIT
 *
 * Makes a struct call from the words of a command line.
 */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "command.h"

/*
 * Parse the words after the verb, which is `argv[0]`. The operands are kept in argv's memory. With --help or --version
 * nothing else is checked. Returns 0, or EXIT_USAGE after printing what is wrong. In either case parse_clear() must be
 * called, which frees the lists.
 */
int parse_words(struct call *call, int argc, char **argv);
void parse_clear(struct call *call);

/* The same for values that are there already, instead of words: the common options are those of another call, with --json.
 * The call's operands must be set. An option that is not there, or cannot have this value, is refused. */
struct parse_value {
    const char *name; /* of the option, or its letter */
    const char *text; /* NULL for a flag */
};
int parse_values(struct call *call, const struct call *like, const struct parse_value *values, size_t n);

/* Common options may come before the verb. The index of the verb; `argc`: there is none; below 0: that of a word, with
 * its sign changed, that is no common option. */
int parse_find_verb(int argc, char **argv);

/* Is this one of the words after the first, and before `--`? */
bool parse_has_word(int argc, char **argv, const char *word);

/* Is JSON asked for, by a word or by the variable? For complaints that come before the options are read. */
bool parse_wants_json(int argc, char **argv);

/*
 * Check up to `n` operands from `first` on. `what` is their name in help; `check` is as in struct opt. Returns 0, or
 * EXIT_USAGE after a line about the first wrong one.
 */
int parse_check_operands(const struct call *call, size_t first, size_t n, const char *what,
                         const char *(*check)(const char *text));

#endif
