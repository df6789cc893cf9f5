/* SPDX-License-Identifier: MIT
 *
 * A full Redis: what to say of it.
 */
#ifndef FULL_H
#define FULL_H

#include "client/client.h"

/* If `err` is E_FULL, adds to the client's error text what the failed lists of the namespace hold. Looks at most once a
 * second, at the first thousand queues. Returns `err`. */
int full_explain(struct muster_client *c, int err);

#endif
