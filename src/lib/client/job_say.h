/* SPDX-License-Identifier: MIT
 *
 * What a script has refused of a job, in words. Each sets the client's error text.
 */
#ifndef JOB_SAY_H
#define JOB_SAY_H

#include <stdbool.h>

#include "client/client.h"

/* Does a script's answer, of which `what` is the word, say that a job cannot wait for `on`, which is not there, or
 * complete? Then say so of the job `id`. */
bool job_say_is_about_missing(int err, const char *what);
void job_say_missing(struct muster_client *c, const char *what, const char *id, const char *on);

/* Set the error text for a job that cannot wait for others. `err` is E_INVALID, and `other` the job that the script has
 * named, or NULL; or E_TOO_BIG. */
void job_say_obstacle(struct muster_client *c, int err, const char *id, const char *other);

/* What a put has refused: the job `id`. */
void job_say_refusal(struct muster_client *c, int err, const char *id, const struct redisReply *reply);

#endif
