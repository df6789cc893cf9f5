/* SPDX-License-Identifier: MIT
 *
 * The one list of rows, in the order in which they are printed; rows of one experiment stand together. A goal is one of
 * the ratio muster/raw, or of muster's figure where there is no raw side.
 */
#include "bench.h"

#define RATE_ROW(label, text, goal_kind, number)                                                                   \
    {                                                                                                              \
        .name = #label, .what = text, .unit = "tasks/s", .experiment = &experiment_##label, .muster = 0, .raw = 1, \
        .measure = RATE, .goal = goal_kind, .target = number                                                       \
    }

const struct row rows[] = {
    RATE_ROW(enqueue_batch, "enqueue_many of 10 000, against LPUSH of 50, 4 in flight", AT_LEAST, 1.0),
    RATE_ROW(enqueue_serial, "enqueue one by one, against LPUSH one by one", AT_LEAST, 0.85),
    RATE_ROW(enqueue_serial_tcp, "the same by TCP", NO_GOAL, 0),
    RATE_ROW(enqueue_pipelined, "a worker's enqueue with 50 unanswered, against LPUSH with 50 unanswered", AT_LEAST,
             0.8),
    RATE_ROW(enqueue_async, "an asynchronous client's enqueue of 100 000 at once, against LPUSH with 50 unanswered",
             AT_LEAST, 0.8),
    RATE_ROW(drain, "take and finish, inline handlers, against a merged script of 50, 4 in flight", AT_LEAST, 0.9),
    {.name = "drain_cpu",
     .what = "the same, Redis' CPU per task",
     .unit = "us",
     .experiment = &experiment_drain,
     .muster = 0,
     .raw = 1,
     .measure = CPU,
     .goal = AT_MOST,
     .target = 1.2},
    RATE_ROW(drain_tcp, "drain by TCP", NO_GOAL, 0),
    RATE_ROW(drain_threads, "drain with handlers on 4 threads", AT_LEAST, 0.5),
    RATE_ROW(drain_4, "drain by four worker processes, against one", AT_LEAST, 0.95),
    RATE_ROW(enqueue_batch_1k, "enqueue_many of tasks of 1 kB, against LPUSH of 50", NO_GOAL, 0),
    RATE_ROW(enqueue_batch_64k, "enqueue_many of tasks of 64 kB, against LPUSH of 4", NO_GOAL, 0),
    RATE_ROW(drain_1k, "drain of tasks of 1 kB", NO_GOAL, 0),
    RATE_ROW(drain_64k, "drain of tasks of 64 kB, 8 a call, against 4", NO_GOAL, 0),

#define WAKE_ROW(label, text, where, side, percentile, goal_kind, number)                                        \
    {                                                                                                            \
        .name = #label, .what = text, .unit = "us", .experiment = &experiment_##where, .muster = 0, .raw = side, \
        .measure = percentile, .goal = goal_kind, .target = number                                               \
    }

    WAKE_ROW(wake_p50, "enqueue to an idle worker's handler, against PUBLISH to a callback", wake, 1, P50, AT_MOST,
             1.25),
    WAKE_ROW(wake_p99, "the same, 99th percentile", wake, 1, P99, AT_MOST, 1.5),
    WAKE_ROW(wake_take, "wake_p50, against LPUSH, PUBLISH and a take by script", wake, 2, P50, AT_MOST, 0.75),
    WAKE_ROW(blmove_p50, "wake_p50, against LPUSH to a consumer in BLMOVE", wake, 3, P50, NO_GOAL, 0),
    WAKE_ROW(wake_p50_tcp, "wake_p50 by TCP", wake_tcp, 1, P50, NO_GOAL, 0),

    WAKE_ROW(wake_cold_p50, "wake_p50 with 3 ms between tasks, when nothing is in the caches", wake_cold, 1, P50,
             AT_MOST, 1.4),
    WAKE_ROW(wake_cold_p99, "the same, 99th percentile", wake_cold, 1, P99, AT_MOST, 1.7),
    WAKE_ROW(blmove_cold_p50, "wake_cold_p50, against LPUSH to a consumer in BLMOVE", wake_cold, 2, P50, NO_GOAL, 0),
    WAKE_ROW(mix_p50, "8 producers and 4 workers at half of the full load, against LPUSH and BLMOVE at the same", mix,
             1, P50, NO_GOAL, 0),
    WAKE_ROW(mix_p99, "the same, 99th percentile", mix, 1, P99, NO_GOAL, 0),
    WAKE_ROW(mix_p999, "the same, 99.9th percentile", mix, 1, P999, NO_GOAL, 0),
    {.name = "handover_cpu",
     .what = "hand-over of a task to an idle worker, Redis' time in the script, against one of eleven EXISTS",
     .unit = "us",
     .experiment = &experiment_handover,
     .muster = 0,
     .raw = 1,
     .measure = VALUE,
     .goal = AT_MOST,
     .target = 2.5},

#define HERD_ROW(label, text, side, other, goal_kind, number)                                             \
    {                                                                                                     \
        .name = #label, .what = text, .unit = "commands", .experiment = &experiment_herd, .muster = side, \
        .raw = other, .measure = COMMANDS, .goal = goal_kind, .target = number                            \
    }

    HERD_ROW(herd_1, "Redis commands per task, one idle worker", 0, NO_SIDE, NO_GOAL, 0),
    HERD_ROW(herd_10, "the same with 10, against one", 1, 0, NO_GOAL, 0),
    HERD_ROW(herd_100, "the same with 100, against one", 2, 0, NO_GOAL, 0),
    HERD_ROW(herd_300, "the same with 300, against one", 3, 0, AT_MOST, 1.0),
    {.name = "idle_300",
     .what = "Redis' CPU in a second of 300 idle workers, against 300 PINGs",
     .unit = "us",
     .experiment = &experiment_idle,
     .muster = 1,
     .raw = 0,
     .measure = CPU,
     .goal = AT_MOST,
     .target = 3.0},

#define BYTES_ROW(label, text, side, number)                                                            \
    {                                                                                                   \
        .name = #label, .what = text, .unit = "bytes", .experiment = &experiment_bytes, .muster = side, \
        .raw = NO_SIDE, .measure = VALUE, .goal = AT_MOST, .target = number                             \
    }

    BYTES_ROW(bytes_waiting, "Redis' memory per waiting task of 100 bytes", 0, 106),
    BYTES_ROW(bytes_process, "the same of a task in work", 1, 180),
    RATE_ROW(jobs_put, "jobs put one by one, against HSET and ZADD together, one by one", NO_GOAL, 0),
    RATE_ROW(jobs_put_many, "jobs put a hundred a call, against HSET and ZADD of as many in one write", AT_LEAST, 0.4),
    {.name = "jobs_put_many_commands",
     .what = "the same, Redis commands per job",
     .unit = "commands",
     .experiment = &experiment_jobs_put_many,
     .muster = 0,
     .raw = NO_SIDE,
     .measure = COMMANDS,
     .goal = AT_MOST,
     .target = 10},
    {.name = "jobs_drain",
     .what = "take and finish of jobs, inline handlers, Redis' CPU per job",
     .unit = "us",
     .experiment = &experiment_jobs_drain,
     .muster = 0,
     .raw = NO_SIDE,
     .measure = CPU,
     .goal = AT_MOST,
     .target = 24},
    {.name = "jobs_drain_commands",
     .what = "the same, Redis commands per job",
     .unit = "commands",
     .experiment = &experiment_jobs_drain,
     .muster = 0,
     .raw = NO_SIDE,
     .measure = COMMANDS,
     .goal = AT_MOST,
     .target = 12},
    {.name = "due_p50",
     .what = "how late a scheduled job's handler is called, one idle worker",
     .unit = "ms",
     .experiment = &experiment_jobs_due,
     .muster = 0,
     .raw = NO_SIDE,
     .measure = P50_MS},
    {.name = "due_p99",
     .what = "the same, 99th percentile",
     .unit = "ms",
     .experiment = &experiment_jobs_due,
     .muster = 0,
     .raw = NO_SIDE,
     .measure = P99_MS,
     .goal = AT_MOST,
     .target = 20},
    {.name = "kill_restart",
     .what = "from kill -9 of a worker until others have its tasks, against its ttl",
     .unit = "ms",
     .experiment = &experiment_kill,
     .muster = 0,
     .raw = 1,
     .measure = VALUE},
    {.name = "wire_time",
     .what = "commands with 50 unanswered over muster's own connection, against hiredis",
     .unit = "commands/s",
     .experiment = &experiment_wire,
     .muster = 0,
     .raw = 1,
     .measure = RATE,
     .goal = AT_LEAST,
     .target = 0.95},
    {.name = "wire_cpu",
     .what = "the same, CPU of the client per command",
     .unit = "us",
     .experiment = &experiment_wire,
     .muster = 0,
     .raw = 1,
     .measure = VALUE,
     .goal = AT_MOST,
     .target = 1.05},
    {.name = "tls_time",
     .what = "commands with 50 unanswered over muster's own connection through TLS, against without",
     .unit = "commands/s",
     .experiment = &experiment_wire_tls,
     .muster = 0,
     .raw = 1,
     .measure = RATE,
     .goal = AT_LEAST,
     .target = 0.77},
    {.name = "tls_cpu",
     .what = "the same, CPU of the client per command",
     .unit = "us",
     .experiment = &experiment_wire_tls,
     .muster = 0,
     .raw = 1,
     .measure = VALUE,
     .goal = AT_MOST,
     .target = 1.4},
    {.name = "wire_hop",
     .what = "PUBLISH to a callback over muster's own connection, against hiredis",
     .unit = "us",
     .experiment = &experiment_wire_hop,
     .muster = 0,
     .raw = 1,
     .measure = P50,
     .goal = AT_MOST,
     .target = 1.1},

#define SCALE_ROW(label, text, side)                                                                           \
    {                                                                                                          \
        .name = #label, .what = text, .unit = "us", .experiment = &experiment_scale, .muster = side, .raw = 1, \
        .measure = CPU, .goal = AT_MOST, .target = 1.1, .only_scale = true                                     \
    }

    SCALE_ROW(scale, "Redis' CPU per task, 10 000 000 waiting in one of 1 000 queues, against 1 000", 0),
    SCALE_ROW(scale_queues, "the same of a worker that serves 1 000 queues, against one", 2),
};
const size_t n_rows = sizeof rows / sizeof *rows;
