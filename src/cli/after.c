/* SPDX-License-Identifier: MIT
 *
 * Looks for jobs that another job was told to wait for.
 */
#include "after.h"

#include <string.h>

#include "complain.h"

struct found {
    const char *const *ids;
    size_t n;
    size_t at; /* jobs come in the order of the ids */
    const struct call *call;
};

static void warn_up_to(struct found *f, const char *id)
{
    for (; f->at < f->n && (!id || strcmp(f->ids[f->at], id) != 0); f->at++)
        complain(f->call, "there is no job '%s': it is not waited for", f->ids[f->at]);
}

static int note_found(const struct muster_job *job, void *arg)
{
    struct found *f = arg;
    warn_up_to(f, job->id);
    f->at++;
    return 0;
}

void after_warn(const struct call *call, struct muster_client *client, const char *const *ids, size_t n)
{
    struct found f = {.ids = ids, .n = n, .call = call};
    int err = n > 0 ? muster_job_peek(client, ids, n, note_found, &f) : MUSTER_OK;
    if (err == MUSTER_OK || err == MUSTER_E_NOT_FOUND)
        warn_up_to(&f, NULL);
}
