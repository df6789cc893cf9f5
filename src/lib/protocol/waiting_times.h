/* SPDX-License-Identifier: MIT
 *
 * The times of callers that wait for work (client/vigil.c, async/async_watch.c). They take turns with each other, so all
 * of them keep to the same.
 */
#ifndef WAITING_TIMES_H
#define WAITING_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* The scripts forget a listener after ten seconds. */
#define WAITING_RENEW_MS 5000
/* Looks are at least this far apart, but for those that a message asks for by name: a foreign program's messages must
 * not make a tight loop. */
#define WAITING_LOOK_APART_MS 10

/* How long after a message a caller looks that it does not name: those whom it names have time to take first. If it names
 * nobody, a random moment below the stagger. */
int64_t waiting_times_look_in(bool others_are_named, int64_t stagger_ms);

/* The stagger after a look; 0: before the first one. It doubles, up to a bound. */
int64_t waiting_times_stagger(int64_t before_ms);

#endif
