/* SPDX-License-Identifier: MIT
 *
 * Members of the indexes of jobs: "<place><id>", or "!<round><place><id>" of a job that waits in a round of a fair queue.
 */
#ifndef JOB_MEMBER_H
#define JOB_MEMBER_H

#include <muster/client.h>

/* Where the place begins, and where the id does. NULL: it is no member that muster has written. */
const char *job_member_place(struct muster_bytes member);
const char *job_member_id(struct muster_bytes member);

#endif
