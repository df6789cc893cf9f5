/* SPDX-License-Identifier: MIT
 *
 * The one list of verbs. It makes their declarations and the table of verbs.c, and so the overview of `muster help`,
 * which the tests go through, the manual pages, and what the shells complete. Each verb is a struct command cmd_NAME in a file cmd_*.c; a file may have several.
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "command.h"

/* In the order of the overview. */
#define VERBS(X)   \
    X(serve)       \
    X(enqueue)     \
    X(put)         \
    X(batch)       \
    X(batches)     \
    X(work)        \
    X(queues)      \
    X(workers)     \
    X(ps)          \
    X(peek)        \
    X(take)        \
    X(finish)      \
    X(give_back)   \
    X(retry)       \
    X(fail)        \
    X(extend)      \
    X(cancel)      \
    X(pause)       \
    X(resume)      \
    X(delete)      \
    X(job)         \
    X(wait)        \
    X(jobs)        \
    X(change)      \
    X(failed)      \
    X(replay)      \
    X(drop)        \
    X(stats)       \
    X(listen)      \
    X(events)      \
    X(config)      \
    X(sweep)       \
    X(fail_worker) \
    X(check)       \
    X(doctor)      \
    X(upgrade)     \
    X(top)         \
    X(web)         \
    X(bench)       \
    X(completion)  \
    X(help)

#define DECLARE_VERB(name) extern const struct command cmd_##name;
VERBS(DECLARE_VERB)
#undef DECLARE_VERB

/* All of them, ended by NULL. */
extern const struct command *const verbs_all[];

/* The verb of this name, or NULL. */
const struct command *verbs_find(const char *name);

/* Complain that there is no such verb, and name the one that was perhaps meant. Returns EXIT_USAGE. */
int verbs_refuse(const char *name, bool is_json);

#endif
