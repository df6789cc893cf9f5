/* SPDX-License-Identifier: MIT
 *
 * Servers on a free port of 127.0.0.1 that are not what the library expects.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <stdatomic.h>
#include <sys/types.h>

struct fake_server {
    pid_t pid;
    int port;
    char url[64];
    atomic_int *names; /* of a sentinel: what it shares with the child */
};

/* Answers `answer` to whatever arrives, each time. NULL: accepts, reads, and says nothing. "": closes at once. */
void fake_server_start(struct fake_server *f, const char *answer);

/* Passes all bytes on, both ways, between a client and the server on the Unix socket. But bytes that arrive together
 * with the text `swallow`, if that is not NULL, get lost. */
void fake_server_relay(struct fake_server *f, const char *socket, const char *swallow);

/* Says that it is a sentinel, and names a master: port 0: it does not know it. `f->url` is one of a Sentinel. */
void fake_server_sentinel(struct fake_server *f, int port);
/* From now on it names this one. */
void fake_server_name(struct fake_server *f, int port);

/* Nothing moves through it any more, with all connections open: what a cable pulled out does. */
void fake_server_freeze(struct fake_server *f);
void fake_server_thaw(struct fake_server *f);

void fake_server_stop(struct fake_server *f);

/* A URL where nobody listens, for as long as the returned descriptor is open. */
int fake_server_refuse(char url[64]);

#endif
