/* SPDX-License-Identifier: MIT
 *
 * The place of a Redis that `muster serve` runs: where it listens, and the directory with its data and its log.
 */
#ifndef CLI_SERVE_PLACE_H
#define CLI_SERVE_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include "command.h"

/* What a struct sockaddr_un holds. */
#define PLACE_SOCKET_SIZE 108

/*
 *   dir     absolute; "" as long as there is none
 *   socket  absolute; "": no Unix socket
 *   port    0: no TCP
 *   url     where to reach it: by TCP if it has that
 *   log     DIR/redis.log, open and locked; -1: not open
 */
struct place {
    char dir[PATH_MAX], socket[PLACE_SOCKET_SIZE], url[512];
    int port, log;
    bool is_temporary;
};

#define PLACE_EMPTY \
    {               \
        .log = -1   \
    }

/*
 * Make the directory (`dir`, or NULL for the user's own place for data), or a temporary one; open and lock the log;
 * and look whether port and socket are free. `socket` may be NULL. Returns EXIT_DONE, or an exit code after a line about
 * it. Either way serve_place_close() comes last.
 */
int serve_place_open(const struct call *call, struct place *place, const char *dir, const char *socket);

/* Remove a temporary directory with all that is in it, and close the log, which unlocks the directory. */
void serve_place_close(struct place *place);

/* The log's last line with something in it, "" if there is none. */
void serve_place_last_line(const struct place *place, char *out, size_t size);

#endif
