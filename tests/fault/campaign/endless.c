/* SPDX-License-Identifier: MIT
 *
 * The tasks of a campaign that never end. No death counts against them, and nothing has to run beside none of them; so
 * they go from worker to worker until they are cancelled.
 */
#include <muster/client.h>
#include <muster/job.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "campaign.h"

#define TASKS 2

static size_t write_task(struct work *w, int round, int i, char task[TASK_MAX])
{
    *w = (struct work){.mode = 'e'};
    snprintf(w->name, sizeof w->name, "endless%d-%d", round, i);
    work_write(w, task);
    return (size_t)w->len;
}

static bool complain(struct muster_client *client, const char *call)
{
    fprintf(stderr, "campaign: %s the tasks that never end: %s\n", call, muster_client_error(client));
    return false;
}

bool endless_put(struct muster_client *client, int round)
{
    struct work w;
    char task[TASK_MAX];
    if (muster_config_set(client, queue_names[QUEUES], "max_crashes", &(int64_t){0}))
        return complain(client, "config of");
    for (int i = 0; i < TASKS; i++) {
        size_t len = write_task(&w, round, i, task);
        record_write('I', w.name, 0, "-", "endless");
        if (muster_task_enqueue(client, queue_names[QUEUES], task, len, NULL))
            return complain(client, "enqueueing");
        record_write('A', w.name, 0, "-", "-");
    }
    return true;
}

bool endless_cancel(struct muster_client *client, int round)
{
    struct work w;
    char task[TASK_MAX];
    bool is_good = true;
    for (int i = 0; i < TASKS; i++) {
        uint64_t removed, running;
        size_t len = write_task(&w, round, i, task);
        record_write('C', w.name, 0, "-", "-");
        if (muster_task_cancel(client, queue_names[QUEUES], task, len, &removed, &running))
            return complain(client, "cancelling");
        if (removed + running == 1)
            continue;
        fprintf(stderr, "campaign: %s never ends, and is there %" PRIu64 " times\n", w.name, removed + running);
        is_good = false;
    }
    return is_good;
}
