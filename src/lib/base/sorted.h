/* SPDX-License-Identifier: MIT
 *
 * Looking something up in a list that is kept in order.
 */
#ifndef SORTED_H
#define SORTED_H

#include <stddef.h>

/* Below 0: what is at this place of the list comes before the wanted; 0: it is that; above 0: it comes behind it. */
typedef int sorted_fn(const void *list, size_t at, const void *wanted);

/* The place of the first of n that does not come before the wanted: where it is, or would be. */
size_t sorted_place(const void *list, size_t n, sorted_fn *compare, const void *wanted);

#endif
