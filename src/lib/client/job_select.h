/* SPDX-License-Identifier: MIT
 *
 * Which jobs a filter means: all of them that are there the whole time, whatever else comes and goes. In no order, and
 * one may be given twice.
 */
#ifndef JOB_SELECT_H
#define JOB_SELECT_H

#include <muster/job.h>

#include "client/client.h"

/* What is read of each job: not its data. All is borrowed. */
struct job_chosen {
    const char *id;
    const char *queue;
    const char *parents; /* the field of its record, if it waits for others; otherwise "" */
    int64_t put_ms;
    uint64_t entry; /* failed: the number of its entry on the failed list; otherwise 0 */
    enum muster_job_state state;
};
/* Any error ends the selection. */
typedef int job_chosen_fn(const struct job_chosen *job, void *arg);

/* MUSTER_OK, or E_INVALID: the client's error text says what is wrong with the filter. */
int job_select_check(struct muster_client *c, const struct muster_job_filter *f);

/* Does it choose at all? */
bool job_select_is_any(const struct muster_job_filter *f);

/* Does the filter restrict jobs to one state? A group's jobs have failed. */
bool job_select_by_state(const struct muster_job_filter *f);
enum muster_job_state job_select_state(const struct muster_job_filter *f);

int job_select(struct muster_client *c, const struct muster_job_filter *f, job_chosen_fn *fn, void *arg);

/* The index of a state and queue; for failed jobs the failed list, which has tasks, too. And the id that a member of it
 * names, within the member; NULL: it names none. `group`: only failed jobs of this group; NULL: of any. */
void job_select_key(char key[KEY_MAX], const struct muster_client *c, enum muster_job_state state, const char *queue);
const char *job_select_id(enum muster_job_state state, const struct redisReply *member, const char *group);

#endif
