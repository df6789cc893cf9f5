/* SPDX-License-Identifier: MIT
 *
 * The option --overlap of recurring jobs.
 */
#ifndef CLI_OVERLAP_H
#define CLI_OVERLAP_H

#include <muster/job.h>

/* A `check`. */
static inline const char *overlap_check(const char *name)
{
    return muster_overlap_of(name) < 0 ? "it must be allow, skip or queue" : NULL;
}

#endif
