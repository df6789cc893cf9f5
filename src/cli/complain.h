/* SPDX-License-Identifier: MIT
 *
 * Messages on standard error when something is wrong: one line each, "muster VERB: ...".
 */
#ifndef CLI_COMPLAIN_H
#define CLI_COMPLAIN_H

#include "command.h"

/* Print one line. */
void complain(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print one line about wrong usage, which points to the verb's help. Returns EXIT_USAGE. */
int complain_usage(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print what an error of the library means and what to do next. `detail` is the library's own words for it, "" if it
 * has none. Returns the exit code. For MUSTER_OK it prints nothing. */
int complain_error(const struct call *call, int err, const char *detail);

/* Do the library's words for MUSTER_E_CONN say that nobody answered there? */
bool complain_is_nobody(const char *detail);

/* Give all lines of this thread to `fn` from now on; NULL: to standard error again. `error` is NULL for a note. */
typedef void complain_fn(const char *error, const char *message, void *arg);
void complain_to(complain_fn *fn, void *arg);

#endif
