/* SPDX-License-Identifier: MIT
 *
 * Processes that their own commands have ended, and MUSTER_EVENT_ENDED: see ended.c.
 */
#ifndef ENDED_H
#define ENDED_H

#include "worker/process.h"

/* One of them, as a message says it; and those in the answer to a read-back. */
void ended_note(struct muster_worker *w, uint64_t token, char letter);
void ended_note_list(struct muster_worker *w, const struct redisReply *own_ends);
/* Its end has counted: tells the program, if that wants to know. */
void ended_tell(struct muster_process *p);
/* Its end was sent, and Redis knew one of its own command already. */
void ended_settle(struct muster_process *p);
/* Its handler has ended, which means nothing. */
void ended_exit(struct muster_process *p);

#endif
