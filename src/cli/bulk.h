/* SPDX-License-Identifier: MIT
 *
 * Verbs that do the same with many jobs: the options that choose these, and what is printed.
 */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include <muster/job.h>

#include "command.h"

#define BULK_QUEUE(NAME)                                                                                    \
    {                                                                                                       \
        .name = (NAME), .kind = OPT_STRING, .argument = "QUEUE",                                            \
        .help = "all jobs of this queue for which the other choices hold, too", .check = muster_queue_check \
    }
#define BULK_STATE                                                                                  \
    {                                                                                               \
        .name = "state", .kind = OPT_STRING, .argument = "STATE", .help = "all jobs in this state", \
        .check = bulk_check_state                                                                   \
    }
#define BULK_GROUP                                                                                         \
    {                                                                                                      \
        .name = "group", .kind = OPT_STRING, .argument = "GROUP", .help = "all failed jobs of this group", \
        .check = opt_check_group                                                                           \
    }
#define BULK_TAG                                                                                             \
    {                                                                                                        \
        .name = "tag", .kind = OPT_LIST, .argument = "TAG",                                                  \
        .help = "all jobs with this tag; given more than once, with all of these", .check = muster_tag_check \
    }
#define BULK_ANY                                                             \
    {                                                                        \
        .name = "any", .help = "with --tag: all jobs with one of these tags" \
    }
#define BULK_DRY_RUN                                                     \
    {                                                                    \
        .name = "dry-run", .help = "only count the jobs that are chosen" \
    }

const char *bulk_check_state(const char *name);

/* The options that choose. NULL: the verb has none of this kind. */
struct bulk_choice {
    const struct opt_value *queue, *state, *group, *any, *dry_run;
    const char *const *tags;
    size_t n_tags;
};

/* Does one of them choose jobs? */
bool bulk_is_chosen(const struct bulk_choice *choice);

/* Do it. `word` is what has happened to a job: "cancelled". Returns the exit code. */
int bulk_run(const struct call *call, const struct bulk_choice *choice, const struct muster_job_bulk *what,
             const char *word);

#endif
