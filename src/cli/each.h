/* SPDX-License-Identifier: MIT
 *
 * Verbs that do one thing to each of several operands: one that fails is named, and the others are done all the same. And
 * going through all queues.
 */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include <muster/client.h>

#include "command.h"

/* Does it to one operand, and prints what came of it if it was done. Returns the library's error. */
typedef int each_fn(const struct call *call, struct muster_client *client, const char *operand, void *arg);

/*
 * Open a client and call `fn` for the operands from `first` on. An error that is not the operand's own (there is no
 * Redis, say) ends it. Returns the worst exit code, which is the highest.
 */
int each_operand(const struct call *call, size_t first, each_fn *fn, void *arg);

/* each_operand() where all operands are the ids of processes, which are checked first. */
int each_process(const struct call *call, each_fn *fn, void *arg);

/* Ask for the names of all queues, then call `fn` for each, until it returns an error or nobody reads any more. Returns
 * the library's error. */
typedef int each_queue_fn(struct muster_client *client, const char *queue, void *arg);
int each_queue(struct muster_client *client, each_queue_fn *fn, void *arg);

/* If `err` is MUSTER_OK, print what was done to an operand, in a word as "finished"; `what` it is, as JSON calls it, or a
 * process. Returns `err`. */
int each_print(const struct call *call, const char *what, const char *operand, const char *outcome, int err);
int each_print_process(const struct call *call, const char *process, const char *outcome, int err);

#endif
