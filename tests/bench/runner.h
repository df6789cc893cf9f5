/* SPDX-License-Identifier: MIT
 *
 * Runs an experiment.
 */
#ifndef RUNNER_H
#define RUNNER_H

#include "bench.h"
#include "place.h"

/* `seconds` 0: as long as the experiment says. */
void runner_run(const struct experiment *e, const struct place *place, double seconds, struct samples *out);

#endif
