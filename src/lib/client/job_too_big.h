/* SPDX-License-Identifier: MIT
 *
 * Jobs that Redis does not send for their size: it closes the connection instead.
 */
#ifndef JOB_TOO_BIG_H
#define JOB_TOO_BIG_H

#include "client/client.h"

struct job_too_big {
    uint64_t n_bytes; /* of data and result */
    uint64_t limit;   /* client-output-buffer-limit; 0: it is not known */
};

/* A connection has ended when the records of these n jobs were asked for. `jobs` receive what may be the cause; those
 * that cannot be it get 0 bytes. MUSTER_OK: one of them may be, or all together. E_CONN: not even these, and the words of
 * that end are kept. */
int job_too_big_ask(struct muster_client *c, const char *const *ids, struct job_too_big *jobs, size_t n);

#define JOB_TOO_BIG_WORDS 512
void job_too_big_words(char words[JOB_TOO_BIG_WORDS], const char *id, const struct job_too_big *job);

#endif
