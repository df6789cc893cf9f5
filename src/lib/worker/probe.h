/* SPDX-License-Identifier: MIT
 *
 * The probe: the heartbeat of an idle worker in plain commands. See probe.c.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>

#include "protocol/keys.h"

struct muster_worker;
struct served;

/* What a probe asks, in this order; those of a queue for each queue. */
enum probe_step {
    PROBE_RENEW,    /* the liveness key lasts a ttl from now on */
    PROBE_RECORD,   /* the life is this one, over this connection, and its hands are empty */
    PROBE_TIME,     /* what Redis' clock says */
    PROBE_BEAT,     /* nobody needs to note a heartbeat */
    PROBE_PACE,     /* the shortest ttl is still the same */
    PROBE_REGISTRY, /* the worker's time there is later now */
    PROBE_DEAD,     /* no worker is past its end */
    PROBE_SETTINGS, /* of a queue: nothing is due, no job waits */
    PROBE_WAITING,  /* of a queue: no work */
    PROBE_IDLE,     /* of a queue: the worker is known as idle there */
    PROBE_ECHO
};

/* A worker with more queues than this goes by script. */
#define PROBE_QUEUES_MAX 10
#define PROBE_STEPS_MAX (8 + 3 * PROBE_QUEUES_MAX)

/* A heartbeat by script writes P:beat again when it is older than this part of the shortest ttl (silence.lua). */
#define PROBE_BEAT_AGE_PART 32

struct probe {
    enum probe_step steps[PROBE_STEPS_MAX]; /* what was asked */
    size_t n;
    size_t n_answered;
    bool is_enough;      /* as far as it was answered: everything is as expected */
    int failed_in_a_row; /* heartbeat.c begins to count again */
    /* The last heartbeat was a probe that was enough, so Redis' time is known. After a script it is not. */
    bool knows_time;
    struct served *queues[PROBE_QUEUES_MAX]; /* what was asked about, */
    size_t n_queues;
    size_t queue;         /* and the one whose answers come now, from 1 */
    bool queue_is_paused; /* the same */
    uint64_t n_ears;      /* so many heard the echo */
    int64_t now_ms;       /* Redis' clock, */
    int64_t ahead_ms;     /* and how far it was ahead of the local one when it was answered */
    char key[KEY_MAX];    /* until the command is sent */
};

/* Is a probe worth trying, by what the worker knows? */
bool probe_may_do(const struct muster_worker *w);
/* heartbeat_apply_probe() follows. False: nothing was sent. */
bool probe_begin(struct muster_worker *w);

#endif
