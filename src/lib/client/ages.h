/* SPDX-License-Identifier: MIT
 *
 * How long the tasks of a queue have waited. A task is bytes without a time; but how many tasks had come by when, and
 * how many have left, bounds its age (lua/include/queue/ages.lua). Workers note such points in the queue's field `ages`;
 * a client that looks again and again remembers points of its own, which need no right to write.
 */
#ifndef AGES_H
#define AGES_H

#include <muster/client.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By a time `n` tasks had come. */
struct ages_point {
    int64_t at_ms;   /* when that was first known */
    int64_t upto_ms; /* when it was last known that no more had come */
    int64_t n;
};

#define AGES_POINTS 12

/* Since when the oldest task has waited at the latest, and at the earliest. 0: that is not known. */
struct ages_bounds {
    int64_t latest_ms, earliest_ms;
};

/* A queue's row as it was asked for as a whole. */
struct ages_row {
    int64_t asked_at_ms; /* by the server's clock; 0: never */
    struct muster_queue_info info;
    struct ages_bounds others; /* of what is not in the list */
};

/* What is known of one queue. */
struct ages_queue {
    struct ages_queue *next;
    int64_t born; /* when its name was noted: another life of it has another one */
    int64_t out;
    bool is_seen; /* by the listing that is under way */
    size_t n_points;
    struct ages_point points[AGES_POINTS];
    struct ages_row row;
    char name[];
};

#define AGES_BUCKETS 1024

struct ages {
    struct ages_queue *buckets[AGES_BUCKETS];
    size_t n;
};

void ages_clear(struct ages *a);

/* What a look saw, in this order: the time, `out`, the list's length, the time. */
struct ages_look {
    int64_t began_ms, ended_ms; /* by the server's clock */
    int64_t out, waiting;
    int64_t in_turn;   /* how many of `out` left in their turn, at least */
    const char *noted; /* the field `ages`, or NULL */
};

/* Of a queue in which tasks wait. `born`: 0: nothing is remembered of it. Without memory it knows less. */
struct ages_bounds ages_see(struct ages *a, const char *queue, int64_t born, const struct ages_look *look);

/* What is remembered of the row of a queue of this life, to be read or written; NULL: nothing can be. */
struct ages_row *ages_row(struct ages *a, const char *queue, int64_t born);

/* A listing of all queues begins, and has ended: queues that it did not see are forgotten. */
void ages_begin_listing(struct ages *a);
void ages_end_listing(struct ages *a);

#endif
