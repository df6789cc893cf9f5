/* SPDX-License-Identifier: MIT
 *
 * Is a queue or worker known? A name that was misspelt looks like an empty queue, so a verb that names one says so.
 */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

#include <muster/client.h>
#include <stdbool.h>

#include "command.h"

/* If there is no such queue, print a line on standard error, with `words` at its end ("": none), and return
 * MUSTER_E_NOT_FOUND. Another error is that of the client. A damaged key is none: the verb will name it. */
int known_look(const struct call *call, struct muster_client *client, const char *queue, const char *words);

/* The same for a verb that then does nothing: the line is a refusal. */
int known_need(const struct call *call, struct muster_client *client, const char *queue, const char *words);

/* For a row of zeros, which would be that of any name. Says nothing. */
bool known_is_missing(struct muster_client *client, const char *queue);

/* The exit code of a verb that found nothing: EXIT_NOT_FOUND after a refusal, if there is no such queue or worker;
 * EXIT_DONE if it is merely empty. */
int known_exit(const struct call *call, struct muster_client *client, const char *queue);
int known_exit_worker(const struct call *call, struct muster_client *client, const char *worker);

#endif
