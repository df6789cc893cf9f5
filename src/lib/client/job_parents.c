/* SPDX-License-Identifier: MIT
 *
 * The jobs that a job was put to wait for, by the names that its record keeps, with their records as far as these are
 * there.
 */
#include <muster/job.h>

#include "client/client.h"
#include "client/heads.h"
#include "client/job_page.h"
#include "protocol/job_valid.h"

/* More than the names of all parents have: of what else a record has, the beginning is enough. */
#define NAMES_MAX ((size_t)MUSTER_JOB_AFTER_MAX * (MUSTER_JOB_ID_MAX + 3))

struct parents {
    muster_job_parent_fn *fn;
    void *arg;
    bool stop;
    struct job_page_refused refused;
};

/* What another program has written may be no id: of such a name nothing is known. */
static int read_page(struct muster_client *c, struct parents *p, const char *const *ids, size_t n)
{
    struct job_page page = {.n = 0};
    for (size_t i = 0; i < n; i++)
        if (!muster_job_id_check(ids[i]))
            page.rows[page.n++].id = ids[i];
    int err = job_page_read(c, &page, RECORDS_ONLY, HEADS_WHOLE);
    for (size_t i = 0; err == MUSTER_OK && i < page.n && !p->stop; i++) {
        const struct job_page_row *row = &page.rows[i];
        if (!job_page_note_refused(&p->refused, row))
            p->stop = p->fn(&(struct muster_job_parent){row->id, row->err == MUSTER_OK ? &row->record.job : NULL},
                            p->arg) != 0;
    }
    job_page_clear(&page);
    return err;
}

static int read_parents(struct muster_client *c, struct parents *p, const struct muster_job *job)
{
    int err = MUSTER_OK;
    for (size_t at = 0; err == MUSTER_OK && at < job->n_parents && !p->stop; at += JOB_PAGE)
        err = read_page(c, p, job->parents + at, job->n_parents - at < JOB_PAGE ? job->n_parents - at : JOB_PAGE);
    return err == MUSTER_OK ? job_page_say_refused(c, &p->refused) : err;
}

int muster_job_parents(struct muster_client *c, const char *id, muster_job_parent_fn *fn, void *arg)
{
    struct parents p = {.fn = fn, .arg = arg};
    struct job_page page = {.n = 1};
    const char *why = NULL;
    int err = client_answer(c, job_valid_id(id, &why), &why);
    if (err != MUSTER_OK)
        return err;
    page.rows[0].id = id;
    err = job_page_read(c, &page, RECORDS_ONLY, NAMES_MAX);
    if (err == MUSTER_OK)
        err = page.rows[0].err;
    if (err == MUSTER_OK)
        err = read_parents(c, &p, &page.rows[0].record.job);
    else if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis, "there is no job '%s' (any more)", id);
    else if (job_page_note_refused(&p.refused, &page.rows[0]))
        err = job_page_say_refused(c, &p.refused);
    job_page_clear(&page);
    return err;
}
