/* SPDX-License-Identifier: MIT
 *
 * What listening to jobs is made of, for those that wait for something: see listen.c.
 */
#ifndef LISTEN_H
#define LISTEN_H

#include <muster/job.h>

#include "client/client.h"
#include "protocol/script_queue.h"

/* Tells the scripts that somebody listens: to a queue, or for "" to the events of jobs. E_TIMEOUT becomes E_CONN. */
int listen_announce(struct muster_client *c, const char *told);

/* A connection that hears the events of all jobs. */
int listen_subscribe_to_jobs(struct muster_client *c, struct redis **listener);

/* Reads such a message into `event`, which borrows from `*text`: the caller frees it. MUSTER_OK; E_NOMEM; or E_REDIS: it is
 * malformed. */
int listen_read_job_event(const struct redisReply *message, char **text, struct muster_job_event *event);

#endif
