/* SPDX-License-Identifier: MIT
 *
 * An order of jobs in which they can be cancelled: each comes before those for which it waits. So none of them refuses
 * because another one waits for it, and none becomes ready because another one has gone.
 */
#ifndef JOB_ORDER_H
#define JOB_ORDER_H

#include <stddef.h>

struct job_order_row {
    const char *id;
    const char *parents; /* the field of its record; NULL: it waits for none */
};

/* Writes to order[] the numbers of the rows, 0 to n - 1, in such an order; rows that may come in any order are in that
 * of their numbers. The rows are sorted by their ids, and no id comes twice. E_NOMEM: order[] is as it was. */
int job_order_waiters_first(const struct job_order_row *rows, size_t n, size_t *order);

#endif
