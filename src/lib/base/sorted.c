/* SPDX-License-Identifier: MIT */
#include "base/sorted.h"

size_t sorted_place(const void *list, size_t n, sorted_fn *compare, const void *wanted)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(list, middle, wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}
