/* SPDX-License-Identifier: MIT
 *
 * Ending a process by its id, and extending its lease: what is allowed, what is said to Redis, and refusals in words.
 * The process may be under a lease or a worker's.
 */
#ifndef END_BY_ID_H
#define END_BY_ID_H

#include <muster/client.h>

#include "protocol/process_name.h"
#include "protocol/script.h"

enum end_by_id_kind {
    END_BY_ID_FINISH,
    END_BY_ID_NEXT,
    END_BY_ID_BACK,
    END_BY_ID_RETRY,
    END_BY_ID_FAIL,
    END_BY_ID_EXTEND
};
enum end_by_id_kind end_by_id_kind(const struct muster_lease_end *e);

/* What a finish with these options is. */
struct muster_lease_end end_by_id_finish(const char *process, const struct muster_finish_options *o);

/* The process, and what its command needs until it was sent. */
struct end_by_id {
    struct process_name name;
    char holder[MUSTER_WORKER_ID_MAX + 2]; /* as the script is told it: after a "+" if this program is its command */
    char *after;                           /* the ids to wait for; NULL without a next queue */
};
void end_by_id_clear(struct end_by_id *named);

/* Is this end allowed? Its process is read, too. MUSTER_OK, or the error with its words; then nothing is to be freed. */
int end_by_id_check(struct end_by_id *named, const struct muster_lease_end *e, size_t max_task_len, const char **why);
/* Its words, behind those that name the holder. What they are given is borrowed until the command is sent. */
void end_by_id_say(struct command *c, const struct end_by_id *named, const struct muster_lease_end *e);

/* MUSTER_OK, or the error with its words. */
int end_by_id_check_extend(const struct muster_extend_options *o, size_t max_task_len, const char **why);

/* What the script's refusal means; `word` is the one that came with it, or NULL. NULL: there is nothing to add to the
 * error's own words. */
const char *end_by_id_words(enum end_by_id_kind kind, int err, const char *process, const char *word);

#endif
