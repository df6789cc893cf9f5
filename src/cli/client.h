/* SPDX-License-Identifier: MIT
 *
 * Opens the library's client for a call of the command, and closes it.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <muster/client.h>

#include "command.h"

/* Make the client that the common options ask for. Nothing is sent yet. Returns EXIT_DONE; on an error it prints a line
 * about it, sets `*out` to NULL and returns another exit code. */
int client_open(const struct call *call, struct muster_client **out);

/* Lend this thread a client: client_open() gives it out, and client_free() leaves it as it is. NULL ends that. */
void client_lend(struct muster_client *client);
bool client_is_lent(void);

/* Free what client_open() has given. */
void client_free(struct muster_client *client);

/* Report the error of the client's last call with complain_error(), and free the client. Returns the exit code. */
int client_close(const struct call *call, struct muster_client *client, int err);

/* Tables tell times as seen from now, by Redis' clock. If it does not tell, or for JSON, they tell points in time. */
void client_look_at_clock(const struct call *call, struct muster_client *client);

#endif
