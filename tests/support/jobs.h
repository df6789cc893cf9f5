/* SPDX-License-Identifier: MIT
 *
 * Jobs for live tests: put by the script as it is, and looked at in their records. doc/keys.md has the fields.
 */
#ifndef JOBS_H
#define JOBS_H

#include "scene.h"

/* Put a job whose data is its id and that may be retried five times, unless `fields` says otherwise: pairs of field and
 * value up to NULL; besides those of a record `delay`, ms, and `replace`, "1". */
void job_put_list(struct scene *s, const char *queue, const char *id, const char *const *fields);
#define job_put(s, queue, id, ...) job_put_list(s, queue, id, (const char *const[]){__VA_ARGS__, NULL})

/* The field of its record is, or becomes, this text; "" stands for none. */
void job_assert(struct scene *s, const char *id, const char *field, const char *value);
void job_await(struct scene *s, const char *id, const char *field, const char *value);

/* A setting of the queue. */
void job_config(struct scene *s, const char *queue, const char *name, const char *value);

#endif
