/* SPDX-License-Identifier: MIT
 *
 * Where a server of the command listens, as an option has it.
 */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdbool.h>

/* "ADDR:PORT", "[ADDR]:PORT", or "PORT" on 127.0.0.1. Returns the port, or -1; `host` is to be freed. */
int place_read(const char *text, char **host);

/* Can only this host reach it? */
bool place_is_loopback(const char *host);

#endif
