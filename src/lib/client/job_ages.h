/* SPDX-License-Identifier: MIT
 *
 * The jobs that a filter means, in the order of when they were put, page by page. For each page all of them are looked
 * at, and the first ones of the order are kept.
 */
#ifndef JOB_AGES_H
#define JOB_AGES_H

#include "client/job_select.h"

struct job_age {
    char *id;
    int64_t put_ms;
};

struct job_ages {
    const struct muster_job_filter *filter; /* borrowed */
    struct job_age *rows;                   /* the page: n of them, in their order */
    size_t n;
    bool is_last; /* nothing comes behind this page */
    /* own */
    size_t most, size;
    bool is_cut;
    struct job_age past; /* the page begins behind this one; id NULL: at the beginning */
};

void job_ages_begin(struct job_ages *a, const struct muster_job_filter *f);
int job_ages_next(struct muster_client *c, struct job_ages *a);
void job_ages_end(struct job_ages *a);

#endif
