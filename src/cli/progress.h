/* SPDX-License-Identifier: MIT
 *
 * How far a long verb is, in one line on standard error that is written again and again; and whether it shall end
 * early. Nothing is shown where standard error is no terminal, or in the first second.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <muster/client.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"

/* From now on SIGINT, SIGTERM and SIGHUP only ask to stop, so that what was done can be told, to a reader who takes his
 * time, too (stream.h); the second one ends the program as ever. In a thread of another verb, such as one of
 * `muster web`, all this does nothing, nor does it once it has begun. */
void progress_begin(const struct call *call);

/* What was done so far ("tasks enqueued"), and of how many: 0 is not known. */
void progress_show(const char *what, uint64_t done, uint64_t total);

/* The same, where only the part of the whole is known, from 0 to 1; below 0: not even that. */
void progress_show_part(const char *what, uint64_t done, double part);

/* A function for muster_client_set_progress(): `arg` is what was done, as text. */
int progress_on_step(const struct muster_progress *progress, void *arg);

/* Before anything else is written. */
void progress_hide(void);

bool progress_is_stopped(void);

/* Wait until this descriptor can be read, for at most so long; -1: without limit. Positive: it can. Otherwise errno says
 * why not: ETIMEDOUT, or EINTR if the verb was stopped. */
int progress_wait_for_input(int fd, int limit_ms);

/* From now on the first of these signals interrupts the call of this client, which waits and changes nothing that could
 * be told; the second one ends the program as ever. One that came in a step before, which was the last one, interrupts
 * it at once. In a thread of another verb this does nothing. */
void progress_begin_wait(const struct call *call, struct muster_client *client);

/* The call is over: what follows is interrupted no more. Call this before the client is freed. */
void progress_end_wait(void);

/* The exit code of the verb: a failure after a signal that has stopped it becomes that of the signal. */
int progress_end(int code);

/* Did a signal that has ended a wait lead to this exit code? Then the program dies by it, once all is said, as it would
 * without a handler: so a shell ends the script that has called it. */
void progress_die(int code);

#endif
