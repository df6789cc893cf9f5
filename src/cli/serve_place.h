/* SPDX-License-Identifier: MIT
 *
 * The place of a Redis that `muster serve` runs: its addresses, and the directory of its data and its log.
 */
#ifndef CLI_SERVE_PLACE_H
#define CLI_SERVE_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include "command.h"

/* The size of a path in struct sockaddr_un. */
#define PLACE_SOCKET_SIZE 108

/*
 *   dir     an absolute path; "" before there is one
 *   socket  an absolute path; "": no Unix socket
 *   port    0: no TCP
 *   url     how to reach it: by TCP if it has a port
 *   log     DIR/redis.log, open and locked; -1: not open
 *   lock    the directory, open and locked; -1: not open
 *   held, held_port  keep others from beginning at the same socket or port; -1: nothing does
 *   is_node it is a node of a cluster
 *   is_new  the directory was made for it
 */
struct place {
    char dir[PATH_MAX], socket[PLACE_SOCKET_SIZE], url[512];
    int port, log, lock, held, held_port;
    bool is_temporary, is_node, is_new;
};

#define PLACE_EMPTY                                        \
    {                                                      \
        .log = -1, .lock = -1, .held = -1, .held_port = -1 \
    }

/*
 * Make the directory: a temporary one, or `dir`, or if that is NULL the user's own directory for data. Lock it, open and
 * lock the log, and check that port and socket are free. `socket` may be NULL. Returns EXIT_DONE, or another exit code
 * after a line about the error. In either case serve_place_close() must be called.
 */
int serve_place_open(const struct call *call, struct place *place, const char *dir, const char *socket);

/* Parts of it: the directory alone; its log, with the locks; its port of 127.0.0.1, or another one that it needs. */
int serve_place_open_directory(const struct call *call, struct place *place, const char *dir);
int serve_place_open_log(const struct call *call, struct place *place);
int serve_place_take_port(const struct call *call, struct place *place);
int serve_place_check_port(const struct call *call, int port);
bool serve_place_is_port_free(int port);

/* Remove a temporary directory with all that is in it, and one that was made for nothing. Close the log, and unlock
 * the directory. */
void serve_place_close(struct place *place);

/* Get the last line of the log that is not empty; "" if there is none. */
void serve_place_last_line(const struct place *place, char *out, size_t size);

#endif
