/* SPDX-License-Identifier: MIT
 *
 * Random calls of the scripts that move batches, for random_run().
 */
#ifndef RANDOM_BATCHES_H
#define RANDOM_BATCHES_H

#include "random_calls.h"

/* One of a few ids, of a batch that may not be there. Followers have ids that begin with it, and a '-'. */
const char *random_batch(struct random_world *w);

/* Opens one, mostly with followers and maybe in another one; closes one, or cancels one. */
random_fn random_move_batch;

/* The time is over in which somebody had to close one. */
random_fn random_forget_batch;

/* How many batches have ended, and how many of these in another one. */
int random_batches_ended(struct random_world *w);

#endif
