/* SPDX-License-Identifier: MIT
 *
 * One look at Redis for all who view: the queues and the workers, once a second while somebody wants to know, otherwise
 * once in five. What changed since the look before is told; the figures of the last hour are kept in memory.
 */
#ifndef WEB_LOOK_H
#define WEB_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "work.h"

struct cJSON;
struct look;

/* What was found. Valid until the next one. */
struct sight {
    int64_t at_ms;    /* Unix time */
    int64_t begun_ms; /* of the monotonic clock: what was changed before is in it */
    double took_ms;
    struct cJSON *queues, *workers; /* rows; of a queue also its rates */
    struct cJSON *overview;
    struct cJSON *queues_changed, *workers_changed; /* {"items", "gone"} */
    const char *error, *message;                    /* NULL; or why there is nothing new, */
    int status;                                     /* and that of HTTP */
};

/* Called on the loop, after each look. */
typedef void look_fn(void *arg, const struct sight *sight);

struct look *look_new(const struct call *call, struct work *work, look_fn *fn, void *arg);
/* End the thread; then, when the work is finished that it has left, the rest. */
void look_stop(struct look *l);
void look_free(struct look *l);

/* Somebody views: look each second from now on, for a few seconds. */
void look_want(struct look *l);
/* Look at once. */
void look_now(struct look *l);

/* The last one; NULL before the first. */
const struct sight *look_sight(const struct look *l);

/* The row of a queue in the last one; NULL: there is none. */
const struct cJSON *look_queue(const struct look *l, const char *queue);

/* The figures since a time, of all queues together or of one; to be deleted. */
struct cJSON *look_history(const struct look *l, const char *queue, int64_t since_ms);

#endif
