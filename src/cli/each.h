/* SPDX-License-Identifier: MIT
 *
 * For verbs that do one thing to each of several operands: an operand that fails is named, and the others are done all
 * the same. Also for verbs that go through all queues.
 */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include <muster/client.h>

#include "command.h"

/* Does the thing to one operand, and prints the outcome if it was done. Returns the library's error. */
typedef int each_fn(const struct call *call, struct muster_client *client, const char *operand, void *arg);

/*
 * Open a client and call `fn` for the operands from `first` on. An error that concerns all operands, such as a missing
 * Redis, ends the loop. So does a signal, behind the operand under way, if there are several; it is told how many were
 * not tried. Returns the highest exit code; never that of wrong usage, if an operand was tried before.
 */
int each_operand(const struct call *call, size_t first, each_fn *fn, void *arg);

/* each_operand() for operands that are all ids of processes. The ids are checked first. */
int each_process(const struct call *call, each_fn *fn, void *arg);

/* Get the names of all queues, then call `fn` for each, until `fn` returns an error or standard output fails. Returns
 * the library's error. */
typedef int each_queue_fn(struct muster_client *client, const char *queue, void *arg);
int each_queue(struct muster_client *client, each_queue_fn *fn, void *arg);

/* If `err` is MUSTER_OK, print the outcome for an operand in a word, such as "finished". `what` is the operand's key in
 * JSON; for each_print_process() it is "process". Returns `err`. */
int each_print(const struct call *call, const char *what, const char *operand, const char *outcome, int err);
int each_print_process(const struct call *call, const char *process, const char *outcome, int err);

#endif
