/* SPDX-License-Identifier: MIT
 *
 * Options: one table per verb and one for what every verb takes. Parsing, checking, help and the messages about wrong
 * use are all made from these tables.
 */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No table is longer than this, its end included. */
#define OPT_LIMIT 16

#define DAY_MS ((int64_t)24 * 3600 * 1000)

enum opt_kind {
    OPT_FLAG,
    OPT_COUNT,
    OPT_INTEGER,  /* a number that may be negative */
    OPT_DURATION, /* ms */
    OPT_STRING,
    OPT_LIST /* a string; given more than once, each counts */
};

/*
 *   name, letter  `--name` and `-letter`; one of them may be missing
 *   argument      what help calls the argument; NULL for a flag
 *   help          one line; NULL marks the table's end
 *   fallback      what holds when the option is not given; NULL: nothing
 *   env           an environment variable that stands in for the option; NULL: none
 *   min, max      of numbers and durations
 *   check         of strings, each of a list: what is wrong with one, NULL if nothing is
 */
struct opt {
    const char *name;
    char letter;
    enum opt_kind kind;
    const char *argument, *help, *fallback, *env;
    int64_t min, max;
    const char *(*check)(const char *text);
};

/* `set`: it was given, as an option or in the environment. Without that the fallback's value is here, or 0 and NULL.
 * `texts`, n_texts of them: of a list. */
struct opt_value {
    bool set;
    int64_t number;
    const char *text;
    const char **texts;
    size_t n_texts;
};

enum opt_common { OPT_URL, OPT_PREFIX, OPT_JSON, OPT_TIMEOUT, OPT_HELP, OPT_VERSION };
extern const struct opt opt_common[];

/* A `check` for the name of a group of failures. */
const char *opt_check_group(const char *text);

#endif
