/* SPDX-License-Identifier: MIT
 *
 * The dashboard: one process that looks at Redis for all who view it, serves pages, an API in JSON, metrics and its
 * health over HTTP, and carries out what they ask for.
 *
 * Threads. The loop serves HTTP and never speaks with Redis. Others do: one looks once a second (look.h), some carry out
 * requests (work.h), one tries a write for a probe (health.h), and the library's own listens to the events of jobs (ear.h).
 * What they have found goes to the loop, which alone knows the viewers.
 */
#ifndef WEB_H
#define WEB_H

#include <stdbool.h>

#include "command.h"
#include "guard.h"

#define WEB_CONNECTIONS 256

/*
 *   call       how to reach Redis: its common options
 *   place      where to serve, and whom
 *   read_only  nothing is changed, in Redis too
 */
struct web_options {
    const struct call *call;
    struct guard_place place;
    bool is_read_only;
};

/* Serve until SIGTERM or SIGINT. Returns an exit code; what is wrong at the start is printed. */
int web_run(const struct web_options *o);

#endif
