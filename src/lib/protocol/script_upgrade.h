/* SPDX-License-Identifier: MIT
 *
 * Scripts that move a namespace from one layout to the next.
 */
#ifndef SCRIPT_UPGRADE_H
#define SCRIPT_UPGRADE_H

#include "protocol/script.h"

void script_upgrade_begin(struct command *c, const struct script_root *root);
/* There was nothing to do; it was the number alone, and is done; keys are to be moved. */
enum script_upgrade_work { UPGRADE_NONE, UPGRADE_DONE, UPGRADE_MOVE };
/* E_STATE: workers are alive; script_upgrade_worker() names them. */
int script_upgrade_begun(const struct redisReply *r, enum script_upgrade_work *work);
/* How many workers are alive, and the name of the one at `i`; NULL: no more are named. */
long long script_upgrade_workers(const struct redisReply *r);
const char *script_upgrade_worker(const struct redisReply *r, size_t i);

/* The keys follow, without the root. */
void script_upgrade_keys(struct command *c, const struct script_root *root);
struct script_moved {
    uint64_t done, changed; /* keys */
    uint64_t jobs;          /* in a key that may not be done yet */
};
int script_upgrade_moved(const struct redisReply *r, struct script_moved *moved);

#endif
