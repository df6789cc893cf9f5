/* SPDX-License-Identifier: MIT
 *
 * A redis-server as a child of `muster serve`.
 */
#ifndef CLI_SERVE_REDIS_H
#define CLI_SERVE_REDIS_H

#include <signal.h>
#include <sys/types.h>

#include "serve_place.h"

/* The exit status of a child that could not run redis-server; the log says why. */
#define REDIS_NOT_RUN 127

/*
 * Start redis-server at the place, with settings fit for a queue and the signal mask `mask`. When this process ends, in
 * whatever way, the child gets SIGTERM. Returns its pid, or -1 with errno.
 */
pid_t serve_redis_start(const struct place *place, const sigset_t *mask);

#endif
