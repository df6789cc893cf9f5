/* SPDX-License-Identifier: MIT
 *
 * The status of one worker over HTTP: metrics, health, and who it is. It is served by a thread of its own. So a loop
 * that stands still is told, and one who asks slowly, or too much, holds up no task. It asks Redis nothing: what it
 * tells are the worker's own figures.
 */
#ifndef WEB_STATUS_H
#define WEB_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "guard.h"

struct muster_worker;
struct status;

#define STATUS_CONNECTIONS 64
/* How often the worker's loop says that it goes round. */
#define STATUS_BEAT_MS 500

/*
 *   worker  must live until status_stop()
 *   ttl_ms  the worker's: without a heartbeat for so long it is not well
 *   queues  those that it serves
 */
struct status_options {
    const struct call *call;
    struct guard_place place;
    const struct muster_worker *worker;
    int64_t ttl_ms;
    char *const *queues;
    size_t n_queues;
};

/* Listen, and begin to answer. All that `o` points to must live until status_stop(). NULL: it cannot, which is said in
 * a line. */
struct status *status_start(const struct status_options *o);
void status_stop(struct status *s);

/* Where it listens; to be freed. */
char *status_url(const struct status *s);

/* The rest is called on the worker's loop, and does nothing without a status (NULL). */

/* The loop goes round. */
void status_beat(struct status *s);

/* Why the worker cannot work: the name of an error, and words. `message` NULL: there is no trouble any more. */
void status_note_trouble(struct status *s, const char *error, const char *message);

#endif
