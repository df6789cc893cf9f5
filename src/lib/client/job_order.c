/* SPDX-License-Identifier: MIT */
#include "client/job_order.h"

#include <muster/error.h>
#include <stdlib.h>
#include <string.h>

/* A parent is named by its id, up to `len` bytes. Returns its number, or n. */
static size_t find(const struct job_order_row *rows, size_t n, const char *id, size_t len)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int by = strncmp(rows[middle].id, id, len);
        if (by == 0 && rows[middle].id[len] == '\0')
            return middle;
        if (by < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return n;
}

/* The next parent among the rows. `*at` goes on in the text: lines, each an id, and maybe a tab and a kind. */
static size_t next_parent(const struct job_order_row *rows, size_t n, const char **at)
{
    size_t parent = n;
    while (parent == n && *at && **at) {
        parent = find(rows, n, *at, strcspn(*at, "\t\n"));
        *at = strchr(*at, '\n');
        *at += *at != NULL;
    }
    return parent;
}

/* How many of the rows wait for each. */
static void count_waiters(const struct job_order_row *rows, size_t n, size_t *waiters)
{
    for (size_t i = 0, parent; i < n; i++)
        for (const char *at = rows[i].parents; (parent = next_parent(rows, n, &at)) < n;)
            waiters[parent]++;
}

int job_order_waiters_first(const struct job_order_row *rows, size_t n, size_t *order)
{
    size_t *waiters = calloc(n, sizeof *waiters), n_ordered = 0;
    if (!waiters)
        return n == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
    count_waiters(rows, n, waiters);
    for (size_t i = 0; i < n; i++)
        if (waiters[i] == 0)
            order[n_ordered++] = i;
    for (size_t done = 0, parent; done < n_ordered; done++)
        for (const char *at = rows[order[done]].parents; (parent = next_parent(rows, n, &at)) < n;)
            if (--waiters[parent] == 0)
                order[n_ordered++] = parent;
    for (size_t i = 0; i < n; i++) /* in a circle, which no script allows */
        if (waiters[i] > 0)
            order[n_ordered++] = i;
    free(waiters);
    return MUSTER_OK;
}
