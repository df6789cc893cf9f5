/* SPDX-License-Identifier: MIT
 *
 * The client of a call, and what an error of the library means to who typed the command.
 */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include <muster/client.h>

#include "command.h"

/* Make the client that the common options ask for; nothing is sent. Returns EXIT_DONE, or an exit code after a line
 * about it, and `*out` is NULL. */
int client_open(const struct call *call, struct muster_client **out);

/* Say what an error was and what to do next. `detail` is the library's words for it, "" if it has none. Returns the
 * exit code; for MUSTER_OK it says nothing. */
int report_error(const struct call *call, int err, const char *detail);

/* report_error() for the client's last call, and free the client. */
int client_close(const struct call *call, struct muster_client *client, int err);

#endif
