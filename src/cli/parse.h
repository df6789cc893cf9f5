/* SPDX-License-Identifier: MIT
 *
 * From the words of a command line to a struct call.
 */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "command.h"

/*
 * Take the words behind the verb apart. `argv[0]` is the verb; argv's memory is used for the operands. With --help or
 * --version nothing else is checked. Returns 0, or after a line about it EXIT_USAGE. Whatever it returns, parse_clear()
 * frees what the lists needed.
 */
int parse_words(struct call *call, int argc, char **argv);
void parse_clear(struct call *call);

/*
 * Check `n` operands from `first` on (or as many as there are); `what` is what help calls them, `check` as in struct opt.
 * Returns 0, or after a line about the first wrong one EXIT_USAGE.
 */
int parse_check_operands(const struct call *call, size_t first, size_t n, const char *what,
                         const char *(*check)(const char *text));

#endif
