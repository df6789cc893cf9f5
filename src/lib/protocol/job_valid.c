/* SPDX-License-Identifier: MIT
 *
 * Checks of a job's data, before anything is sent.
 */
#include "protocol/job_valid.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"

int job_valid_number(const char *what, int64_t number, int64_t least, int64_t most, const char **why)
{
    if (number == 0 || number == MUSTER_ZERO || (number >= least && number <= most))
        return MUSTER_OK;
    *why = words_say("%s must be %lld to %lld, not %lld; nothing was sent", what, (long long)least, (long long)most,
                     (long long)number);
    return MUSTER_E_INVALID;
}

int job_valid_interval(int64_t every_ms, const char **why)
{
    if (every_ms == MUSTER_ZERO) {
        *why = "a recurring job stays recurring; cancel it to end it";
        return MUSTER_E_INVALID;
    }
    return job_valid_number("a recurring job's interval, in ms,", every_ms, JOB_EVERY_MIN_MS, MUSTER_JOB_MS_MAX, why);
}

int job_valid_backoff(const struct muster_backoff *b, const char **why)
{
    int err = job_valid_number("a backoff's delay", b->delay_ms, 0, MUSTER_JOB_MS_MAX, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a backoff's longest delay", b->max_ms, 0, MUSTER_JOB_MS_MAX, why);
    return err == MUSTER_OK ? job_valid_number("a backoff's jitter", b->jitter_percent, 0, 100, why) : err;
}

int job_valid_id(const char *id, const char **why)
{
    *why = muster_job_id_check(id);
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

int job_valid_tags(const char *const *tags, size_t n, const char **why)
{
    if (n > MUSTER_JOB_TAGS_MAX) {
        *why = words_say("%zu tags are over the limit of %d; nothing was sent", n, MUSTER_JOB_TAGS_MAX);
        return MUSTER_E_TOO_BIG;
    }
    for (size_t i = 0; i < n; i++) {
        *why = muster_tag_check(tags ? tags[i] : NULL);
        if (*why)
            return MUSTER_E_INVALID;
    }
    return MUSTER_OK;
}

int job_valid_key(const char *key, const char **why)
{
    *why = key ? muster_job_key_check(key) : NULL;
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

int job_valid_after(const char *const *ids, size_t n, const char **why)
{
    int err = MUSTER_OK;
    if (n > MUSTER_JOB_AFTER_MAX) {
        *why = words_say("%zu jobs to wait for are over the limit of %d; nothing was sent", n, MUSTER_JOB_AFTER_MAX);
        return MUSTER_E_TOO_BIG;
    }
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = job_valid_id(ids ? ids[i] : NULL, why);
    return err;
}

struct in_list {
    const char *id;
    size_t list;
};

static int compare_ids(const void *a, const void *b)
{
    const struct in_list *x = a, *y = b;
    return strcmp(x->id, y->id);
}

/* An id of two lists: which of them should count? */
static int check_lists(const struct job_valid_list *lists, size_t n_lists, size_t n, const char **why)
{
    struct in_list *all = calloc(n + 1, sizeof *all);
    size_t at = 0;
    if (!all)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n_lists; i++)
        for (size_t k = 0; k < lists[i].n; k++)
            all[at++] = (struct in_list){lists[i].ids[k], i};
    qsort(all, n, sizeof *all, compare_ids);
    *why = NULL;
    for (size_t i = 1; i < n && !*why; i++)
        if (strcmp(all[i - 1].id, all[i].id) == 0 && all[i - 1].list != all[i].list)
            *why = words_say("a job waits for the job '%s' in one way only: until it is complete, has ended, or has "
                             "failed; nothing was sent",
                             all[i].id);
    free(all);
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

int job_valid_ways(const struct job_valid_list lists[JOB_VALID_WAYS], const char **why)
{
    size_t n = 0, n_used = 0;
    int err = MUSTER_OK;
    for (size_t i = 0; i < JOB_VALID_WAYS; i++) {
        n += lists[i].n <= MUSTER_JOB_AFTER_MAX ? lists[i].n : MUSTER_JOB_AFTER_MAX + 1;
        n_used += lists[i].n > 0;
    }
    for (size_t i = 0; err == MUSTER_OK && i < JOB_VALID_WAYS; i++)
        err = job_valid_after(lists[i].ids, lists[i].n, why);
    if (err != MUSTER_OK || n_used < 2)
        return err;
    if (n > MUSTER_JOB_AFTER_MAX) {
        *why = words_say("%zu jobs to wait for are over the limit of %d; nothing was sent", n, MUSTER_JOB_AFTER_MAX);
        return MUSTER_E_TOO_BIG;
    }
    return check_lists(lists, JOB_VALID_WAYS, n, why);
}
