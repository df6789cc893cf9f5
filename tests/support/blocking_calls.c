/* SPDX-License-Identifier: MIT */
#include "blocking_calls.h"

#include <muster/muster.h>

#include "testing.h"

/* Takes whatever it is given. */
#define DEFINE_ROW(type)                                      \
    static int take_##type(const struct type *row, void *arg) \
    {                                                         \
        (void)row, (void)arg;                                 \
        return 0;                                             \
    }
DEFINE_ROW(muster_advice)
DEFINE_ROW(muster_batch)
DEFINE_ROW(muster_damage)
DEFINE_ROW(muster_delayed_task)
DEFINE_ROW(muster_failed_group)
DEFINE_ROW(muster_failure)
DEFINE_ROW(muster_job)
DEFINE_ROW(muster_job_ended)
DEFINE_ROW(muster_job_event)
DEFINE_ROW(muster_job_parent)
DEFINE_ROW(muster_process_info)
DEFINE_ROW(muster_queue_event)
DEFINE_ROW(muster_queue_info)
DEFINE_ROW(muster_setting)
DEFINE_ROW(muster_tag)
DEFINE_ROW(muster_task)
DEFINE_ROW(muster_worker_info)
#undef DEFINE_ROW

static int take_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg)
{
    (void)queue, (void)counts, (void)arg;
    return 0;
}

static const char *const ids[] = {"waiting", "scheduled"}, *const shown[] = {"waiting", "leased", "depends",
                                                                             "queued-1"};
static const struct muster_bytes tasks[] = {{"a", 1}, {"b", 1}};
static const struct muster_job_spec spec = {.size = sizeof spec, .id = "new"};
static const struct muster_job_spec *const specs[] = {&spec};
static const struct muster_batch_spec batch = {.size = sizeof batch, .id = "b"};
static const struct muster_extend_options extension = {.size = sizeof extension, .lease_ms = 1000};
static const struct muster_failed_filter failed = {.size = sizeof failed, .queue = "q"};
static const struct muster_job_filter waiting = {.size = sizeof waiting, .queue = "q", .state = MUSTER_JOB_WAITING};
static const struct muster_job_bulk cancel = {.size = sizeof cancel, .action = MUSTER_JOBS_CANCEL};
static const struct muster_job_change change = {.size = sizeof change, .priority = 3};
static const struct muster_take_options take = {.size = sizeof take, .wait_ms = 1};
static uint64_t n, n_running, counts[MUSTER_JOB_STATE_COUNT];
static int64_t ms;
static size_t n_put;
static int errs[2];
static char id[MUSTER_JOB_ID_MAX + 1];
static struct muster_queue_info queue_info;
static struct muster_server_info server_info = {.size = sizeof server_info};
static struct muster_stats stats = {.size = sizeof stats};

/* The roles are named by their first letters. */
#define CALLS(X)                                                                                                       \
    X(muster_task_enqueue, "pw-o", (c, "q", "task", 4, &n))                                                            \
    X(muster_task_enqueue_many, "pw-o", (c, "q", tasks, 2, NULL, &n))                                                  \
    X(muster_task_enqueue_unique, "pw-o", (c, "q", "task", 4, id))                                                     \
    X(muster_task_peek, "pwvo", (c, "q", 0, 9, take_muster_task, NULL))                                                \
    X(muster_task_peek_delayed, "pwvo", (c, "q", 0, 9, take_muster_delayed_task, NULL))                                \
    X(muster_task_cancel, "pw-o", (c, "q", "t1", 2, &n, &n_running))                                                   \
    X(muster_queue_length, "pwvo", (c, "q", &n))                                                                       \
    X(muster_queue_list, "pwvo", (c, take_muster_queue_info, NULL))                                                    \
    X(muster_queue_list_cached, "pwvo", (c, 0, take_muster_queue_info, NULL))                                          \
    X(muster_queue_get, "pwvo", (c, "q", &queue_info))                                                                 \
    X(muster_queue_pause, "pw-o", (c, "q"))                                                                            \
    X(muster_queue_resume, "pw-o", (c, "q"))                                                                           \
    X(muster_queue_delete, "---o", (c, "q", &n, &n_running))                                                           \
    X(muster_queue_listen, "-w-o", (c, "q", 1, NULL, take_muster_queue_event, NULL))                                   \
    X(muster_worker_list, "pwvo", (c, take_muster_worker_info, NULL))                                                  \
    X(muster_worker_fail, "-w-o", (c, "w", &n))                                                                        \
    X(muster_process_list, "pwvo", (c, NULL, take_muster_process_info, NULL))                                          \
    X(muster_process_cancel, "pw-o", (c, p))                                                                           \
    X(muster_client_sweep, "-w-o", (c, &n))                                                                            \
    X(muster_client_time, "pwvo", (c, &ms))                                                                            \
    X(muster_client_server, "-w-o", (c, &server_info))                                                                 \
    X(muster_client_probe, "pw-o", (c, MUSTER_PROBE_WRITE))                                                            \
    X(muster_client_advise, "pwvo", (c, MUSTER_ROLE_ALL, take_muster_advice, NULL))                                    \
    X(muster_client_check, "---o", (c, 1, take_muster_damage, NULL))                                                   \
    X(muster_client_upgrade, "-w-o", (c, &n))                                                                          \
    X(muster_lease_take, "-w-o", (c, "none", 1, 1000, 1, take_muster_process_info, NULL))                              \
    X(muster_lease_take_as, "pw-o", (c, "q", &take, take_muster_process_info, NULL))                                   \
    X(muster_lease_finish, "pw-o", (c, p, NULL))                                                                       \
    X(muster_lease_give_back, "pw-o", (c, p))                                                                          \
    X(muster_lease_retry, "pw-o", (c, p, 0))                                                                           \
    X(muster_lease_retry_as, "pw-o", (c, p, 0, "g", "m"))                                                              \
    X(muster_lease_fail, "pw-o", (c, p, "g", "m"))                                                                     \
    X(muster_lease_end_many, "pw-o",                                                                                   \
      (c, &(struct muster_lease_end){.size = sizeof(struct muster_lease_end), .process = p, .outcome = MUSTER_FINISH}, \
       1, errs))                                                                                                       \
    X(muster_lease_extend, "pw-o", (c, p, &extension))                                                                 \
    X(muster_lease_extend_many, "pw-o", (c, &p, 1, &extension, errs))                                                  \
    X(muster_failed_list, "pwvo", (c, &failed, take_muster_failure, NULL))                                             \
    X(muster_failed_groups, "pwvo", (c, NULL, take_muster_failed_group, NULL))                                         \
    X(muster_failed_replay, "pw-o", (c, &failed, &n))                                                                  \
    X(muster_failed_drop, "pw-o", (c, &failed, &n))                                                                    \
    X(muster_job_put, "pw-o", (c, "q", &spec, id))                                                                     \
    X(muster_job_put_many, "pw-o", (c, "q", specs, 1, NULL, &n_put))                                                   \
    X(muster_job_get, "pwvo", (c, shown, 4, take_muster_job, NULL))                                                    \
    X(muster_job_peek, "pwvo", (c, shown, 4, take_muster_job, NULL))                                                   \
    X(muster_job_parents, "pwvo", (c, "depends", take_muster_job_parent, NULL))                                        \
    X(muster_job_wait, "-w-o", (c, ids, 2, 1, take_muster_job_ended, NULL))                                            \
    X(muster_job_list, "pwvo", (c, &waiting, take_muster_job, NULL))                                                   \
    X(muster_job_counts, "pwvo", (c, "q", counts))                                                                     \
    X(muster_job_counts_list, "pwvo", (c, take_counts, NULL))                                                          \
    X(muster_job_change, "pw-o", (c, "waiting", &change))                                                              \
    X(muster_job_cancel, "pw-o", (c, ids, 2, 1, &n, &n_running))                                                       \
    X(muster_job_bulk, "pw-o", (c, &waiting, &cancel, NULL))                                                           \
    X(muster_job_listen, "-w-o", (c, NULL, 1, NULL, take_muster_job_event, NULL))                                      \
    X(muster_tag_list, "pwvo", (c, 0, 9, take_muster_tag, NULL))                                                       \
    X(muster_stats_get, "pwvo", (c, "q", -1, &stats))                                                                  \
    X(muster_config_get, "pwvo", (c, "q", NULL, take_muster_setting, NULL))                                            \
    X(muster_config_set, "pw-o", (c, "q", "max_running", &(int64_t){3}))                                               \
    X(muster_batch_open, "pw-o", (c, &batch, id))                                                                      \
    X(muster_batch_close, "pw-o", (c, "batch"))                                                                        \
    X(muster_batch_cancel, "pw-o", (c, "batch", &n, &n_running))                                                       \
    X(muster_batch_get, "pwvo", (c, "batch", take_muster_batch, NULL))                                                 \
    X(muster_batch_list, "pwvo", (c, take_muster_batch, NULL))

#define DEFINE_CALL(name, roles, args)                            \
    static int run_##name(struct muster_client *c, const char *p) \
    {                                                             \
        (void)p;                                                  \
        return name args;                                         \
    }
CALLS(DEFINE_CALL)
#undef DEFINE_CALL

const struct blocking_call blocking_calls[] = {
#define CALL_ROW(name, roles, args) {#name, roles, run_##name},
    CALLS(CALL_ROW)
#undef CALL_ROW
};
const size_t n_blocking_calls = N_OF(blocking_calls);
