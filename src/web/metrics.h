/* SPDX-License-Identifier: MIT
 *
 * Metrics as Prometheus reads them.
 */
#ifndef WEB_METRICS_H
#define WEB_METRICS_H

#include <stddef.h>
#include <stdio.h>

#include "look.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Of the server itself. */
struct metrics_web {
    size_t connections, viewers, dropped;
};

/* The one metric that each server of muster has: its version. */
void metrics_write_build(FILE *out);

/* To be freed. */
char *metrics_text(const struct sight *sight, const struct metrics_web *web);

#endif
