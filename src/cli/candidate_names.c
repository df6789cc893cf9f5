/* SPDX-License-Identifier: MIT
 *
 * A person waits at a prompt: so the answer comes soon or not at all, and a long list is cut.
 */
#include "candidate_names.h"

#include <inttypes.h>
#include <muster/batch.h>
#include <muster/client.h>
#include <muster/job.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "connection.h"
#include "out.h"

#define PATIENCE_MS 250
#define NAMES_MAX 500

struct listing {
    const char *beginning, *word;
    size_t n_printed;
};

/* Returns non-zero if that is enough. */
static int print_name(struct listing *l, const char *name, const char *about)
{
    if (strncmp(name, l->word, strlen(l->word)) != 0)
        return 0;
    l->n_printed++;
    return out_text("%s%s\t%s\n", l->beginning, name, about) || l->n_printed == NAMES_MAX;
}

static int print_queue(const struct muster_queue_info *queue, void *arg)
{
    char about[48];
    snprintf(about, sizeof about, "queue, %" PRIu64 " waiting", queue->waiting);
    return print_name(arg, queue->name, about);
}

static int print_worker(const struct muster_worker_info *worker, void *arg)
{
    return print_name(arg, worker->id, worker->alive ? "worker" : "dead worker");
}

static int print_tag(const struct muster_tag *tag, void *arg)
{
    char about[48];
    snprintf(about, sizeof about, "tag of %" PRIu64 " jobs", tag->jobs);
    return print_name(arg, tag->name, about);
}

static int print_process(const struct muster_process_info *process, void *arg)
{
    return print_name(arg, process->id, "process");
}

/* Several queues may have the same one. */
static int print_group(const struct muster_failed_group *group, void *arg)
{
    char about[48];
    snprintf(about, sizeof about, "%" PRIu64 " failed", group->n);
    return print_name(arg, group->group, about);
}

static int print_running_job(const struct muster_process_info *process, void *arg)
{
    return process->job ? print_name(arg, process->job, "job that runs") : 0;
}

static int print_tracked_job(const struct muster_job *job, void *arg)
{
    return job->state == MUSTER_JOB_RUNNING ? 0 : print_name(arg, job->id, "tracked job");
}

static int list_jobs(struct muster_client *client, struct listing *l)
{
    const struct muster_job_filter tracked = {.size = sizeof tracked, .tracked = 1, .n = NAMES_MAX};
    int err = muster_process_list(client, NULL, print_running_job, l);
    return err == MUSTER_OK && l->n_printed < NAMES_MAX ? muster_job_list(client, &tracked, print_tracked_job, l) : err;
}

static int print_batch(const struct muster_batch *batch, void *arg)
{
    char about[48];
    snprintf(about, sizeof about, "%s batch", muster_batch_state_name(batch->state));
    return print_name(arg, batch->id, about);
}

static int list(struct muster_client *client, enum candidate_names names, struct listing *l)
{
    switch (names) {
    case CANDIDATE_QUEUES:
        return muster_queue_list(client, print_queue, l);
    case CANDIDATE_WORKERS:
        return muster_worker_list(client, print_worker, l);
    case CANDIDATE_TAGS:
        return muster_tag_list(client, 0, NAMES_MAX, print_tag, l);
    case CANDIDATE_PROCESSES:
        return muster_process_list(client, NULL, print_process, l);
    case CANDIDATE_GROUPS:
        return muster_failed_groups(client, NULL, print_group, l);
    case CANDIDATE_JOBS:
        return list_jobs(client, l);
    case CANDIDATE_BATCHES:
        return muster_batch_list(client, print_batch, l);
    }
    return MUSTER_OK;
}

void candidate_names_print(const struct call *call, enum candidate_names names, const char *beginning, const char *word)
{
    struct listing l = {.beginning = beginning, .word = word};
    struct muster_client *client;
    struct call quick = *call;
    quick.common[OPT_TIMEOUT].number = PATIENCE_MS;
    if (!freopen("/dev/null", "w", stderr) || client_open(&quick, &client) != EXIT_DONE)
        return;
    (void)list(client, names, &l);
    muster_client_free(client);
}
