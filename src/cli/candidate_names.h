/* SPDX-License-Identifier: MIT
 *
 * Names that are in Redis now, for completion.
 */
#ifndef CLI_CANDIDATE_NAMES_H
#define CLI_CANDIDATE_NAMES_H

#include "command.h"

/* Jobs are those that run, and those that are tracked: of the others there may be millions. */
enum candidate_names {
    CANDIDATE_QUEUES,
    CANDIDATE_WORKERS,
    CANDIDATE_TAGS,
    CANDIDATE_PROCESSES,
    CANDIDATE_GROUPS,
    CANDIDATE_JOBS,
    CANDIDATE_BATCHES
};

/* Print each name that begins with `word` as candidates_print() does, after `beginning`. Nothing, and nothing on
 * standard error, if Redis does not answer at once. `call` has the options of the connection. */
void candidate_names_print(const struct call *call, enum candidate_names names, const char *beginning,
                           const char *word);

#endif
