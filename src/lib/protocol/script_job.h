/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry jobs.
 */
#ifndef SCRIPT_JOB_H
#define SCRIPT_JOB_H

#include <stdbool.h>

#include "protocol/script.h"

/* One call puts many jobs. What is said of the call follows; then each job, and what is said of it. */
void script_put(struct command *c, const struct script_root *root, const char *queue);
void script_put_said(struct command *c, const char *what, struct muster_bytes value);
void script_put_number(struct command *c, const char *what, int64_t number);
struct script_put_job {
    const char *id; /* "": a unique task */
    bool replace;
    const char *const *tags;
    size_t n_tags;
    const char *const *after;
    size_t n_after;
    bool may_be_missing; /* those of `after` and `after_end` */
    const char *const *after_end;
    size_t n_after_end;
    const char *const *after_failure;
    size_t n_after_failure;
};
void script_put_job(struct command *c, const struct script_put_job *job);

/* The changes follow: add them with script_change_field(). */
void script_change(struct command *c, const struct script_root *root, const char *id);
void script_change_field(struct command *c, const char *what, struct muster_bytes value);

enum script_cancel_scope { CANCEL_THESE, CANCEL_AND_DEPENDENTS };
void script_cancel_jobs(struct command *c, const struct script_root *root, const char *const *ids, size_t n,
                        enum script_cancel_scope scope);

/* The same for jobs that were chosen: add each by script_cancel_chosen(). One that is in another state or queue by now,
 * or another job of the same id, is passed over. NULL: any state, any queue. */
void script_cancel_begin_chosen(struct command *c, const struct script_root *root, enum script_cancel_scope scope,
                                const char *state, const char *queue);
void script_cancel_chosen(struct command *c, const char *id, int64_t put_ms);

/* `left` records are still to go: call again by script_cancel_more(), with the other two. */
struct script_cancelled {
    uint64_t removed, running, left;
    const char *first, *queue;
};
int script_jobs_cancelled(const struct redisReply *r, struct script_cancelled *out);
void script_cancel_more(struct command *c, const struct script_root *root, const char *first, const char *queue);

/* The job that a worker was given by its token. */
void script_fetch(struct command *c, const struct script_root *root, const char *worker, const char *token,
                  const char *queue, size_t most);
int script_fetched(const struct redisReply *r, const char **id, const struct redisReply **record);

#endif
