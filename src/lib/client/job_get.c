/* SPDX-License-Identifier: MIT
 *
 * Jobs by their ids, whole or of what is long only the beginning. One that cannot be had costs itself alone, and is
 * named behind the others.
 */
#include <muster/job.h>
#include <stdio.h>

#include "client/client.h"
#include "client/heads.h"
#include "client/job_page.h"
#include "protocol/job_valid.h"

struct getting {
    size_t most;
    muster_job_fn *fn;
    void *arg;
    bool stop;
    size_t n_missing;
    const char *first_missing;
    struct job_page_refused refused;
};

static void note_row(struct getting *g, const struct job_page_row *row)
{
    if (row->err == MUSTER_OK)
        g->stop = g->fn(&row->record.job, g->arg) != 0;
    else if (!job_page_note_refused(&g->refused, row) && g->n_missing++ == 0)
        g->first_missing = row->id;
}

static int get_page(struct muster_client *c, struct getting *g, const char *const *ids, size_t n)
{
    struct job_page page = {.n = n};
    for (size_t i = 0; i < n; i++)
        page.rows[i].id = ids[i];
    int err = job_page_read(c, &page, WITH_LISTS, g->most);
    for (size_t i = 0; err == MUSTER_OK && i < n && !g->stop; i++)
        note_row(g, &page.rows[i]);
    job_page_clear(&page);
    return err;
}

static int say_missing(struct muster_client *c, const struct getting *g)
{
    char words[512] = "", others[64] = "";
    int err = job_page_say_refused(c, &g->refused);
    if (g->n_missing == 0)
        return err;
    if (err != MUSTER_OK)
        snprintf(words, sizeof words, "%s; ", redis_error(c->redis));
    if (g->n_missing > 1)
        snprintf(others, sizeof others, ", and %zu others of these are missing too", g->n_missing - 1);
    redis_error_set(c->redis, "%sthere is no job '%s' (any more)%s", words, g->first_missing, others);
    return err == MUSTER_OK ? MUSTER_E_NOT_FOUND : err;
}

static int get(struct muster_client *c, const char *const *ids, size_t n, struct getting *g)
{
    const char *why = NULL;
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = client_answer(c, job_valid_id(ids ? ids[i] : NULL, &why), &why);
    for (size_t at = 0; err == MUSTER_OK && at < n && !g->stop; at += JOB_PAGE)
        err = get_page(c, g, ids + at, n - at < JOB_PAGE ? n - at : JOB_PAGE);
    return err == MUSTER_OK ? say_missing(c, g) : err;
}

int muster_job_get(struct muster_client *c, const char *const *ids, size_t n, muster_job_fn *fn, void *arg)
{
    return get(c, ids, n, &(struct getting){.most = HEADS_WHOLE, .fn = fn, .arg = arg});
}

int muster_job_peek(struct muster_client *c, const char *const *ids, size_t n, muster_job_fn *fn, void *arg)
{
    return get(c, ids, n, &(struct getting){.most = MUSTER_HEAD_MAX, .fn = fn, .arg = arg});
}
