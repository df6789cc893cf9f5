/* SPDX-License-Identifier: MIT
 *
 * Ending a process by its id, and extending its lease: what is allowed, what is said to Redis, and refusals in words.
 * The process may be under a lease or a worker's.
 */
#ifndef END_BY_ID_H
#define END_BY_ID_H

#include "protocol/process_name.h"
#include "protocol/script.h"

/* The process, and how the script is told whose it is: with a "+" before it, if this program is its command. */
struct end_by_id {
    struct process_name name;
    char holder[MUSTER_WORKER_ID_MAX + 2];
};

/* NULL, or what is wrong with the id. */
const char *end_by_id_parse(struct end_by_id *out, const char *process);

/* Each MUSTER_OK, or the error with its words. */
int end_by_id_check_finish(const struct muster_finish_options *o, size_t max_task_len, const char **why);
int end_by_id_check_retry(int64_t delay_ms, const char *group, const char *message, const char **why);
int end_by_id_check_extend(const struct muster_extend_options *o, size_t max_task_len, const char **why);

/* Each says it. What it is given was checked, and is borrowed until the command is sent. `after`: names_join() of the
 * ids to wait for. */
void end_by_id_plainly(struct command *c, const struct script_root *root, const struct end_by_id *e, const char *kind);
void end_by_id_finish(struct command *c, const struct script_root *root, const struct end_by_id *e,
                      const struct muster_finish_options *o, const char *after);
void end_by_id_retry(struct command *c, const struct script_root *root, const struct end_by_id *e, int64_t delay_ms,
                     const char *group, const char *message);
void end_by_id_fail(struct command *c, const struct script_root *root, const struct end_by_id *e, const char *group,
                    const char *message);
void end_by_id_extend(struct command *c, const struct script_root *root, const struct end_by_id *e,
                      const struct muster_extend_options *o);

/* What the script's refusal means. NULL: there is nothing to add to the error's own words. */
enum end_by_id_kind {
    END_BY_ID_FINISH,
    END_BY_ID_NEXT,
    END_BY_ID_BACK,
    END_BY_ID_RETRY,
    END_BY_ID_FAIL,
    END_BY_ID_EXTEND
};
const char *end_by_id_words(enum end_by_id_kind kind, int err, const char *process, const struct redisReply *reply);

#endif
