/* SPDX-License-Identifier: MIT
 *
 * Ends by a process's id, and extensions, as a client checks and hears them. lease_end.c sends one; lease_many.c sends
 * many together.
 */
#ifndef LEASE_END_H
#define LEASE_END_H

#include "client/client.h"
#include "protocol/end_by_id.h"

/* MUSTER_OK, or the error, with the client's error text; then nothing is to be freed. */
int lease_end_check(struct muster_client *c, const struct muster_lease_end *e, struct end_by_id *named);
int lease_extend_read(struct muster_client *c, struct muster_extend_options *o,
                      const struct muster_extend_options *given);
int lease_extend_check(struct muster_client *c, const char *process, struct process_name *p);

/* The script has answered `err`, and this word, or NULL: says what that means, if nobody else does. */
void lease_end_hear(struct muster_client *c, enum end_by_id_kind kind, int err, const char *process, const char *word);

#endif
