/* SPDX-License-Identifier: MIT
 *
 * Messages on standard error when something is wrong: one line each, "muster VERB: ...", or with --json an object.
 */
#ifndef CLI_COMPLAIN_H
#define CLI_COMPLAIN_H

#include "command.h"

/* Print one line: a note. With --json it is an object with a message. */
void complain(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same about something that was refused or failed. `error` is a name of muster_err_name(), or COMPLAIN_SYSTEM: the
 * system refused, as a file that cannot be read. With --json the object has it, too. */
#define COMPLAIN_SYSTEM "E_SYSTEM"
void complain_refusal(const struct call *call, const char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Print one line about wrong usage, which points to the verb's help. Returns EXIT_USAGE. */
int complain_usage(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print one line without a verb, because it is not known yet. */
void complain_alone(bool as_json, const char *error, const char *message);

/* What to do about a change without an answer. */
#define COMPLAIN_MAY_BE_DONE "it may have been done: look before you do it again"

/* Print what an error of the library means and what to do next. `detail` is the library's own words for it, "" if it
 * has none. Returns the exit code. For MUSTER_OK it prints nothing. */
int complain_error(const struct call *call, int err, const char *detail);

/* The same of a call that adds something under this id, which may be made: without an answer it can be looked for. */
int complain_adding(const struct call *call, int err, const char *detail, const char *id);

/* The same for a verb that was interrupted: the words say what was done, and how to go on. */
int complain_stopped(const struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code of several operands, or of several things that went wrong: the higher one. */
int complain_higher(int code, int other);

/* The exit code of a verb that ends with `code`. Wrong usage means that nothing was tried. */
int complain_tried(bool has_tried, int code);

/* Do the library's words for MUSTER_E_CONN say that nobody answered there? */
bool complain_is_nobody(const char *detail);

/* With --json a message is an object, on a line of its own, as rows are on standard output; to be freed. */
bool complain_is_json(const struct call *call);
char *complain_json(const char *error, const char *message);

/* From now on what the library warns of is told so, too, as a note. Before the first client or worker is made. */
void complain_library(const struct call *call);

/* From now on no thread waits until somebody reads standard error, neither for these lines nor for the library's. Those that
 * nobody reads in time are left out, and the next one that goes through is preceded by how many. For a program that
 * serves others, or has threads that do. */
void complain_unwaiting(const struct call *call);

/* Give all lines of this thread to `fn` from now on; NULL: to standard error again. `error` is NULL for a note. */
typedef void complain_fn(const char *error, const char *message, void *arg);
void complain_to(complain_fn *fn, void *arg);

#endif
