/* SPDX-License-Identifier: MIT
 *
 * Jobs that are waited for: their lines, and the exit code. Each line is written at once, because the next one may take
 * hours.
 */
#include "await.h"

#include <inttypes.h>
#include <muster/job.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "complain.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "text.h"

struct await {
    const struct call *call;
    bool results_only;
    size_t n_failed, n_gone, n_cut;
};

/* Has it a result that Redis did not send whole? */
static bool is_cut(const struct muster_job_ended *e)
{
    return e->job && e->job->whole_result_len > e->job->result.len;
}

static void complain_of_cut(struct await *a, const struct muster_job_ended *e)
{
    a->n_cut++;
    complain_refusal(a->call, muster_err_name(MUSTER_E_TOO_BIG),
                     "the job '%s' is %s, but its result of %" PRIu64
                     " bytes is more than this Redis sends to a client "
                     "(client-output-buffer-limit): raise that, or see its beginning: muster job %s --result --head",
                     e->id, muster_job_end_name(e->how), e->job->whole_result_len, e->id);
}

static void print_json(const struct muster_job_ended *e)
{
    static const struct out_column columns[] = {
        {NULL, "id", OUT_TEXT},       {NULL, "ended", OUT_TEXT},   {NULL, "queue", OUT_TEXT}, {NULL, "group", OUT_TEXT},
        {NULL, "message", OUT_BYTES}, {NULL, "result", OUT_BYTES}, {NULL, NULL, OUT_TEXT},
    };
    const struct muster_job *job = e->job;
    const bool has_failed = job && e->how == MUSTER_JOB_END_FAILED;
    const struct out_cell cells[] = {
        {.text = e->id},
        {.text = muster_job_end_name(e->how)},
        {.text = job ? job->queue : NULL},
        {.text = has_failed ? job->group : NULL},
        {.text = has_failed ? job->message.data : NULL, .len = has_failed ? job->message.len : 0},
        {.text = job && !has_failed && !is_cut(e) ? job->result.data : NULL, .len = job ? job->result.len : 0},
    };
    out_json(columns, cells);
}

static void print_safe(const char *before, const void *data, size_t len)
{
    char *text = text_safe(data && len > 0 ? data : "", len);
    out_text("%s%s", before, text);
    free(text);
}

static void print_line(const struct muster_job_ended *e)
{
    const struct muster_job *job = e->job;
    out_text("%s\t%s", e->id, muster_job_end_name(e->how));
    if (job && e->how == MUSTER_JOB_END_FAILED) {
        out_text("\t%s", job->group);
        print_safe(": ", job->message.data, job->message.len);
    } else if (job && job->result.data && !is_cut(e)) {
        print_safe("\t", job->result.data, job->result.len);
    }
    out_text("\n");
}

/* A failure is told on standard error. */
static void print_result(const struct await *a, const struct muster_job_ended *e)
{
    const struct muster_job *job = e->job;
    if (e->how == MUSTER_JOB_END_COMPLETE && is_cut(e))
        return;
    if (e->how == MUSTER_JOB_END_COMPLETE && job)
        out_bytes(job->result.data, job->result.len);
    else if (e->how == MUSTER_JOB_END_FAILED && job)
        complain(a->call, "the job '%s' has failed: %s: %.*s", e->id, job->group, (int)job->message.len,
                 job->message.len > 0 ? (const char *)job->message.data : "");
    else
        complain(a->call, "the job '%s' is %s, and has no result", e->id, muster_job_end_name(e->how));
}

static int on_end(const struct muster_job_ended *e, void *arg)
{
    struct await *a = arg;
    a->n_failed += e->how == MUSTER_JOB_END_FAILED || e->how == MUSTER_JOB_END_CANCELLED;
    a->n_gone += e->how == MUSTER_JOB_END_GONE;
    if (e->how == MUSTER_JOB_END_GONE && !a->results_only)
        complain(a->call, "there is no job '%s' (any more): %s its record is gone", e->id,
                 a->call->command->n_queues == 0 ? "none was put under this id, or" : "it was put, and");
    if (e->how == MUSTER_JOB_END_COMPLETE && is_cut(e))
        complain_of_cut(a, e);
    if (a->results_only)
        print_result(a, e);
    else if (a->call->common[OPT_JSON].set)
        print_json(e);
    else
        print_line(e);
    return out_flush();
}

/* A verb of a queue has added them, and has not printed their ids. That is done; the wait changes nothing. */
static int report(const struct call *call, struct muster_client *client, int err, const char *const *ids, size_t n)
{
    const char *words = muster_client_error(client);
    struct command command = *call->command;
    struct call wait = *call;
    char *detail = NULL;
    if (call->command->n_queues == 0)
        return complain_error(call, err, words);
    command.changes = false;
    wait.command = &command;
    if (asprintf(&detail, "%s; what was added is there: muster wait %s%s%s", words, ids[0], n > 1 ? " ... " : "",
                 n > 1 ? ids[n - 1] : "") < 0)
        need(NULL);
    int code = complain_error(&wait, err, detail);
    free(detail);
    return code;
}

int await_jobs(const struct call *call, struct muster_client *client, const char *const *ids, size_t n,
               bool results_only)
{
    struct await a = {.call = call, .results_only = results_only};
    (void)progress_end(EXIT_DONE); /* the steps before this are done */
    progress_begin_wait(call, client);
    int err = muster_job_wait(client, ids, n, opt_wait_ms(&call->common[OPT_TIMEOUT], -1), on_end, &a);
    progress_end_wait();
    if (err != MUSTER_OK)
        return report(call, client, err, ids, n);
    return complain_higher(a.n_failed > 0 || a.n_cut > 0 ? EXIT_FAILED : EXIT_DONE,
                           a.n_gone > 0 ? EXIT_NOT_FOUND : EXIT_DONE);
}
