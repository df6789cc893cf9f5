/* SPDX-License-Identifier: MIT
 *
 * A redis-server as a child of `muster serve`.
 */
#ifndef CLI_SERVE_REDIS_H
#define CLI_SERVE_REDIS_H

#include <signal.h>
#include <sys/types.h>

#include "serve_place.h"

/* The exit status of a child that could not become a redis-server; it tells why in the log. */
#define REDIS_NOT_RUN 127

/*
 * Start redis-server at the place, with settings fit for a queue. `mask`: its signal mask. It gets SIGTERM when this
 * process ends in whatever way. Returns its pid, or -1 with errno.
 */
pid_t serve_redis_start(const struct place *place, const sigset_t *mask);

#endif
