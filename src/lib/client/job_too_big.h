/* SPDX-License-Identifier: MIT
 *
 * Jobs that Redis does not send for their size: it closes the connection instead.
 */
#ifndef JOB_TOO_BIG_H
#define JOB_TOO_BIG_H

#include "client/client.h"
#include "protocol/size_limit.h"

/* A connection has ended when the records of these n jobs were asked for. `jobs` receive what may be the cause; those
 * that cannot be it get 0 bytes. MUSTER_OK: one of them may be, or all together. E_CONN: not even these, and the words of
 * that end are kept. */
int job_too_big_ask(struct muster_client *c, const char *const *ids, struct job_too_big *jobs, size_t n);

#endif
