/* SPDX-License-Identifier: MIT
 *
 * Something that happened to a job, as a row of JSON.
 */
#ifndef CLI_EVENT_ROW_H
#define CLI_EVENT_ROW_H

#include <muster/job.h>

/* Print it by out_json(). Returns as that does. */
int event_row_print(const struct muster_job_event *event);

#endif
