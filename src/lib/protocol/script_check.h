/* SPDX-License-Identifier: MIT
 *
 * Scripts that look for damage, and repair it.
 */
#ifndef SCRIPT_CHECK_H
#define SCRIPT_CHECK_H

#include <stdbool.h>

#include "protocol/script.h"

enum script_repair { CHECK_ONLY, CHECK_AND_REPAIR };
/* Are the counters to be checked too? */
enum script_counters { SKIP_COUNTERS, CHECK_COUNTERS };

/* Keys follow, by script_check_key(). */
void script_check_keys(struct command *c, const struct script_root *root, enum script_repair repair);
/* `unseen`: what cannot be looked at while the key has another type; "": nothing. */
void script_check_key(struct command *c, struct muster_bytes key, const char *type, int64_t ttl_ms, const char *unseen);

void script_check_set(struct command *c, const struct script_root *root, enum script_repair repair, const char *worker,
                      const char *queue);
void script_check_worker(struct command *c, const struct script_root *root, enum script_repair repair,
                         const char *worker, enum script_counters counters);
/* The queues' names follow, and then the tokens. */
void script_check_marks(struct command *c, const struct script_root *root, enum script_repair repair,
                        const char *worker, size_t n_queues);
/* `which`: "holders", of a queue, or "holds", of a holder; its entries follow. */
void script_check_holders(struct command *c, const struct script_root *root, enum script_repair repair,
                          const char *which, const char *name);
void script_check_token(struct command *c, const struct script_root *root, enum script_repair repair, uint64_t highest);
void script_check_queue(struct command *c, const struct script_root *root, enum script_repair repair, const char *queue,
                        enum script_counters counters, bool are_records_sound);
/* Each call checks one page, and script_checked.next says where the next one begins. `had_finds`: on earlier pages. */
void script_check_idle(struct command *c, const struct script_root *root, enum script_repair repair, const char *queue,
                       int64_t from);
void script_check_leases(struct command *c, const struct script_root *root, enum script_repair repair,
                         const char *queue, int64_t from, bool had_finds);
void script_check_returned(struct command *c, const struct script_root *root, enum script_repair repair,
                           const char *queue, int64_t from);
void script_check_home(struct command *c, const struct script_root *root, enum script_repair repair, const char *home,
                       const char *queue);
/* Tokens follow. */
void script_check_suspects(struct command *c, const struct script_root *root, enum script_repair repair,
                           const char *queue);
/* Ids of jobs follow. */
void script_check_job(struct command *c, const struct script_root *root, enum script_repair repair);
void script_check_dependents(struct command *c, const struct script_root *root, enum script_repair repair,
                             const char *id, const char *which);
/* A batch, with its members from this place on; -1: only whether the batch around it lists it. */
void script_check_batch(struct command *c, const struct script_root *root, enum script_repair repair, const char *id,
                        int64_t from, enum script_counters counters);
/* `which` is a state, or "failed": that list of the queue `name`. Or "tag": the tag `name`. Or "tracked". */
void script_check_index(struct command *c, const struct script_root *root, enum script_repair repair, const char *which,
                        const char *name, int64_t from);

struct script_checked {
    int64_t next;   /* of a page: from where to go on, -1: nowhere */
    uint64_t token; /* of a set or a worker: the highest that is in use; 0: none */
    size_t n_finds;
};
int script_checked(const struct redisReply *r, struct script_checked *out);
struct script_find {
    struct muster_bytes key;
    struct muster_bytes what;
    bool repaired;
};
int script_checked_find(const struct redisReply *r, size_t i, struct script_find *out);

#endif
