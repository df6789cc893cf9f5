/* SPDX-License-Identifier: MIT
 *
 * The library's client for a call of the command.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <muster/client.h>

#include "command.h"

/* Make the client that the common options ask for; nothing is sent. Returns EXIT_DONE, or an exit code after a line
 * about it, and `*out` is NULL. */
int client_open(const struct call *call, struct muster_client **out);

/* Report the error of the client's last call with complain_error(), and free the client. Returns the exit code. */
int client_close(const struct call *call, struct muster_client *client, int err);

#endif
