/* SPDX-License-Identifier: MIT
 *
 * What a script has refused of a job, in words: those of words_say().
 */
#ifndef JOB_SAY_H
#define JOB_SAY_H

#include <stdbool.h>

struct redisReply;

/* Does a script's answer, of which `what` is the word, say that a job cannot wait for `on`, which is not there, or
 * complete? Then say so of the job `id`. */
bool job_say_is_about_missing(int err, const char *what);
const char *job_say_missing(const char *what, const char *id, const char *on);

/* A job that cannot wait for others. `err` is E_INVALID, and `other` the job that the script has
 * named, or NULL; or E_TOO_BIG. */
const char *job_say_obstacle(int err, const char *id, const char *other);

/* What a put has refused: the job `id`. NULL: the script has said nothing that is known. */
const char *job_say_refusal(int err, const char *id, const struct redisReply *reply);

#endif
