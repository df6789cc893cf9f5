/* SPDX-License-Identifier: MIT
 *
 * What the scripts publish for those who listen: to a queue (what was done, cancelled, deleted) and to jobs. Anybody may
 * publish there, and a queue of another namespace may have a channel of the same name. So a message that does not parse,
 * or that names another queue, is to be skipped.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <muster/job.h>
#include <stdbool.h>

#include "protocol/keys.h"
#include "protocol/process_name.h"

/* How many kinds of events a queue has, each with a channel of its own: enum muster_queue_event_type. */
#define EVENTS_OF_QUEUE 3
/* What comes last in its name. */
const char *events_what(enum muster_queue_event_type type);

/* An event of a queue. Its pointers go to the message, the queue's name, and here. */
struct events_heard {
    struct muster_queue_event event;
    char process[PROCESS_ID_MAX];
    struct process_name name;
    char holder[MUSTER_WORKER_ID_MAX + 1];
    struct muster_bytes result;
};

/* 0, or -1: it is malformed, or of another queue. */
int events_read(struct events_heard *out, enum muster_queue_event_type type, const char *queue,
                struct muster_bytes message);

/* An event of a job, or of a batch: puts NULs into `text`, which the event borrows. 0, or -1: it is malformed. */
int events_read_job(struct muster_job_event *event, char *text);

#endif
