/* SPDX-License-Identifier: MIT
 *
 * For tests of jobs' scripts, called by leases and by acting workers: what a job's record says, and that all indexes
 * agree with it. Time passes only where a test says so: it makes scheduled jobs due, and leases lapse.
 */
#ifndef JOB_SCRIPTS_H
#define JOB_SCRIPTS_H

#include "script_call.h"

/* All is where it says that it is (invariant.h). */
void jobs_sound(struct scene *s);

/* Fields in pairs after the id; of queue "q" unless another is given. */
#define put_in(s, queue, id, ...) script_does(s, SCRIPT_PUT, queue, "", id, __VA_ARGS__)
#define put(s, id) assert_ok(put_in(s, "q", id, "retries", "5"))
#define put_with(s, id, ...) assert_ok(put_in(s, "q", id, __VA_ARGS__))
#define replace_in(s, queue, id, ...) assert_ok(script_does(s, SCRIPT_PUT, queue, "", id, "replace", "1", __VA_ARGS__))
/* The ids of n jobs follow, to wait for; they may be missing. */
#define put_after(s, id, n, ...) job_put_after(s, id, n, (const char *const[]){__VA_ARGS__, NULL})
void job_put_after(struct scene *s, const char *id, const char *n, const char *const *on);

/* A field of a job's record, "" if it is not there; good until the next calls. */
const char *job_field(struct scene *s, const char *id, const char *name);
#define assert_field(s, id, name, value) assert_string_equal(job_field(s, id, name), value)
#define assert_state(s, id, state) assert_field(s, id, "state", state)
int64_t job_number(struct scene *s, const char *id, const char *name);

/* All of them are in this state; the list ends with NULL. */
void assert_jobs_in(struct scene *s, const char *state, const char *const *ids);
#define assert_jobs(s, state, ...) assert_jobs_in(s, state, (const char *const[]){__VA_ARGS__, NULL})

/* Takes up to `n` under leases: ids of jobs and tasks, each ended by a blank; the token of the last. To be freed. */
char *take_jobs(struct scene *s, const char *queue, const char *n, char token[12]);
void assert_comes(struct scene *s, const char *n, const char *expected);
/* Of a queue from which this one comes next. */
void take_job(struct scene *s, const char *queue, const char *id, char token[12]);

/* One end of the job next out, under a lease. */
#define take_and_end(s, id, kind, ...)                                                   \
    do {                                                                                 \
        char token_[12];                                                                 \
        take_job(s, "q", id, token_);                                                    \
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "q", token_, __VA_ARGS__)); \
        jobs_sound(s);                                                                   \
    } while (0)
void job_complete(struct scene *s, const char *id);
void job_fail(struct scene *s, const char *id);

/* The job, which is scheduled or recurs, has been due for `ago_ms`. */
void job_make_due(struct scene *s, const char *state, const char *id, int64_t ago_ms);
/* All leases of the queue lapse, and are moved. */
void leases_lapse(struct scene *s);
void jobs_promote(struct scene *s);

/* What a command like ZCARD says of a key of the namespace. */
int64_t key_size(struct scene *s, const char *command, const char *key);

#endif
