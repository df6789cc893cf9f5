/* SPDX-License-Identifier: MIT
 *
 * Where the benchmark runs: on a redis-server of its own, or under a prefix of its own on one that is given. A keeper
 * removes everything that it leaves there. The keeper is a child that is told to do so at the end, or by the kernel
 * when this process dies.
 */
#ifndef PLACE_H
#define PLACE_H

#include <sys/types.h>

#define PLACE_PREFIX_MAX 64
#define PLACE_DIR_MAX 96 /* with "/redis.sock" it is as long as the path of a Unix socket may be */
#define PLACE_URL_MAX 256

/*
 *   url         of the Unix socket, or the given one
 *   url_tcp     "" on a given server
 *   url_tls     "" before place_add_tls()
 *   prefix      what all prefixes begin with; a namespace of an experiment is this and its name
 */
struct place {
    char dir[PLACE_DIR_MAX], url[PLACE_URL_MAX], url_tcp[64], url_tls[PLACE_URL_MAX], prefix[PLACE_PREFIX_MAX];
    int port;
    pid_t keeper, owner;
};

/*
 * Start a server (`url` NULL), or reach the given one. Returns when it answers; if it does not, this program ends with
 * a line about it, by one of the command's exit codes.
 */
void place_open(struct place *p, const char *url, const char *prefix);

/* Let the server speak TLS, too, with a certificate of its own. NULL, or why it cannot be, in words. */
const char *place_add_tls(struct place *p);

/* A TCP port of 127.0.0.1 that is free now. */
int place_free_port(void);

/* Remove everything. In a child, and a second time, nothing is done. Safe in a signal handler. */
void place_close(struct place *p);

#endif
