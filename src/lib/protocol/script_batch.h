/* SPDX-License-Identifier: MIT
 *
 * Scripts that carry batches.
 */
#ifndef SCRIPT_BATCH_H
#define SCRIPT_BATCH_H

#include "protocol/script.h"

/* `batch`: the one around it, or NULL. The fields of the record follow: add them with script_open_batch_field(). */
void script_open_batch(struct command *c, const struct script_root *root, const char *id, const char *batch,
                       int64_t ttl_ms);
void script_open_batch_field(struct command *c, const char *field, struct muster_bytes value);

void script_close_batch(struct command *c, const struct script_root *root, const char *id);

enum script_cancel_step { CANCEL_FIRST, CANCEL_NEXT };
void script_cancel_batch(struct command *c, const struct script_root *root, const char *id,
                         enum script_cancel_step step);
/* `left` members are for another call for the same batch. `nested`: a list of ids of batches to go on with. */
struct script_batch_cancelled {
    uint64_t removed, running, left;
    const struct redisReply *nested;
};
int script_batch_cancelled(const struct redisReply *r, struct script_batch_cancelled *out);

#endif
