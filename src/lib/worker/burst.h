/* SPDX-License-Identifier: MIT
 *
 * Option burst: a worker that ends when nothing is left to do; see burst.c.
 */
#ifndef BURST_H
#define BURST_H

#include <stdbool.h>
#include <stdint.h>

struct muster_worker;

struct burst {
    bool is_wanted;
    bool has_asked;   /* for a heartbeat, since something ran here, or the last look does not count */
    bool has_looked;  /* and it was answered */
    int64_t until_ms; /* so long it waits for workers past their end; 0: it does not wait yet */
};

/* Is nothing left to do? It is asked in each round. */
bool burst_is_over(struct muster_worker *w);
/* A heartbeat was answered by its script. */
void burst_apply_heartbeat(struct muster_worker *w);
/* A heartbeat, a registration, or what is to be taken up was refused for a key that is damaged, which waiting does not mend:
 * it ends with E_REDIS. */
void burst_end_at_damage(struct muster_worker *w);
/* The last look does not count: something may have come here since, from a dead worker that was swept, or handed on by
 * the program; or its answer never came. */
void burst_look_again(struct muster_worker *w);

#endif
