/* SPDX-License-Identifier: MIT
 *
 * The history in the answers to what was asked of a job.
 */
#ifndef JOB_HISTORY_H
#define JOB_HISTORY_H

#include "client/job_page.h"

/* Makes one list of what came of it, with all that is between; or without. More is asked for, so nothing else may be to
 * come. */
int job_history_join(struct muster_client *c, struct job_page_row *row, bool is_whole);
/* MUSTER_OK or E_NOMEM. */
int job_history_read(struct job_page_row *row);

#endif
