/* SPDX-License-Identifier: MIT
 *
 * Options: one table for each verb, and one for the options that every verb takes. Parsing, checks, help and the
 * messages about wrong usage all come from these tables.
 */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The greatest length of a table, its end included. */
#define OPT_LIMIT 32

#define DAY_MS ((int64_t)24 * 3600 * 1000)

enum opt_kind {
    OPT_FLAG,
    OPT_COUNT,
    OPT_INTEGER,  /* a number that may be negative */
    OPT_DURATION, /* ms */
    OPT_STRING,
    OPT_LIST /* a string that may be given more than once */
};

/*
 *   name, letter  `--name` and `-letter`; one of them may be missing
 *   argument      the argument's name in help; NULL for a flag
 *   help          one line; NULL marks the end of the table
 *   fallback      the value if the option is not given; NULL: none
 *   env           an environment variable that replaces the option; NULL: none. That of a flag is 1 or 0. An empty one
 *                 counts as none
 *   min, max      the range of numbers and durations
 *   group         help puts this title above it; NULL: it belongs to those before it
 *   check         for strings, and each string of a list: returns what is wrong with it, or NULL
 */
struct opt {
    const char *name;
    char letter;
    enum opt_kind kind;
    const char *argument, *help, *fallback, *env;
    int64_t min, max;
    const char *group;
    const char *(*check)(const char *text);
};

/* `set`: it was given, as an option or in the environment (`from_environment`). If not, the value is the fallback's, or 0
 * and NULL. A list has its `n_texts` strings in `texts`. */
struct opt_value {
    bool set, from_environment;
    int64_t number;
    const char *text;
    const char **texts;
    size_t n_texts;
};

enum opt_common {
    OPT_URL,
    OPT_PREFIX,
    OPT_JSON,
    OPT_TIMEOUT,
    OPT_HELP,
    OPT_VERSION,
    /* the group of connections, from here to OPT_FSYNC */
    OPT_PASSWORD_FILE,
    OPT_SENTINEL_PASSWORD_FILE,
    OPT_TLS_CA,
    OPT_TLS_CERT,
    OPT_TLS_KEY,
    OPT_TLS_SERVER_NAME,
    OPT_TLS_INSECURE,
    OPT_REPLICAS,
    OPT_FSYNC
};
extern const struct opt opt_common[];
/* What help says below them. */
extern const char opt_common_about[];

/* What a message calls the source of a value: "--NAME", "-L", or the variable. */
#define OPT_LABEL_SIZE 48
const char *opt_label(char out[OPT_LABEL_SIZE], const struct opt *o, const struct opt_value *value);

/* The row of this name or letter; NULL: there is none. */
const struct opt *opt_find(const struct opt *table, const char *name);

/* How long a verb that waits for what is yet to happen goes on, in ms: for as long as --timeout says; without it,
 * `for_ever`. A variable does not end it: that is for the answers of Redis, as everywhere. */
int64_t opt_wait_ms(const struct opt_value *timeout, int64_t for_ever);

/* A `check` for the name of a group of failures. */
const char *opt_check_group(const char *text);

#endif
