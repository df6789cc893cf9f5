/* SPDX-License-Identifier: MIT
 *
 * The words of the benchmark.
 *
 * An experiment has two or more sides: muster's, and raw ones, which use hiredis and nothing else. Each does one small
 * block of the same work when it is asked to. The runner asks them in turn, forwards and backwards, round after round,
 * so whatever drifts on the machine drifts for all of them. A row compares two sides of an experiment in one measure,
 * round by round, so neighbours in time are compared. Its ratio is the median of the rounds' ratios.
 *
 * Each block checks that what went in came out, by number and by a digest of the bytes. The checks are not timed.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisContext;

#define SIDES_MAX 4
#define ROUNDS_MAX 200

/* The result of a block. Figures are per task; `tasks` is the number of tasks, or of seconds. */
struct block {
    uint64_t tasks;
    double seconds;
    double cpu_us;                  /* of Redis */
    double commands;                /* that Redis carried out, including those within scripts */
    double p50_us, p99_us, p999_us; /* of latencies */
    double value;                   /* of anything else that the experiment measures */
};

/*
 * An experiment under way.
 *
 *   url, prefix  the server and the namespace, which is the experiment's alone and is removed after it
 *   url_tls      the same server through TLS; "" if the experiment has not asked for it
 *   redis        a blocking connection, for the raw sides and for checks
 *   state        the experiment's own
 */
struct run {
    const struct experiment *experiment;
    const char *url, *url_tls, *prefix;
    struct redisContext *redis;
    void *state;
};

/* Does one block. `n` tells apart the sides that share a function. */
struct side {
    void (*work)(struct run *run, int n, struct block *out);
    int n;
};

/*
 *   name        also that of the namespace
 *   seconds     how long it takes, with opening and closing; at least `min_rounds` are done
 *   over_tcp    by TCP, where there is a choice; otherwise by the Unix socket
 *   with_tls    through TLS, too
 *   tasks, len  a block has this many tasks of this many bytes
 *   rest_us     between two tasks that are sent one by one; 0: a moment
 *   threads     of the worker
 *   open,close  called before the first and after the last block; may be NULL
 */
struct experiment {
    const char *name;
    double seconds;
    size_t min_rounds;
    bool over_tcp, with_tls;
    size_t tasks, len;
    int64_t rest_us;
    int threads;
    void (*open)(struct run *run);
    void (*close)(struct run *run);
    struct side sides[SIDES_MAX];
};

struct samples {
    size_t rounds;
    struct block blocks[SIDES_MAX][ROUNDS_MAX];
};

enum measure { RATE, CPU, COMMANDS, P50, P99, P999, P50_MS, P99_MS, VALUE };
enum goal { NO_GOAL, AT_LEAST, AT_MOST };

#define NO_SIDE (-1)

/*
 *   muster, raw   the sides that are compared; NO_SIDE: the goal is one of the figure itself
 *   goal, target  of the ratio muster/raw
 *   only_scale    run only with --scale
 */
struct row {
    const char *name, *what, *unit;
    const struct experiment *experiment;
    int muster, raw;
    enum measure measure;
    enum goal goal;
    double target;
    bool only_scale;
};

extern const struct row rows[];
extern const size_t n_rows;

extern const struct experiment experiment_enqueue_batch, experiment_enqueue_batch_1k, experiment_enqueue_batch_64k,
    experiment_enqueue_serial, experiment_enqueue_serial_tcp, experiment_enqueue_pipelined, experiment_enqueue_async,
    experiment_drain, experiment_drain_1k, experiment_drain_64k, experiment_drain_tcp, experiment_drain_threads,
    experiment_drain_4, experiment_wake, experiment_wake_tcp, experiment_herd, experiment_idle, experiment_bytes,
    experiment_kill, experiment_jobs_put, experiment_jobs_put_many, experiment_jobs_drain, experiment_jobs_due,
    experiment_scale, experiment_wire, experiment_wire_hop, experiment_wire_tls, experiment_handover,
    experiment_wake_cold, experiment_mix;

/* Prints one line about what went wrong, and ends this process with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fail() unless a call of muster's was OK. `what` says what was being done. */
void must(int err, const char *what);

/* CLOCK_MONOTONIC, the same for all processes. */
int64_t now_ns(void);

/* Sleep until the condition holds, checking it often. After half a minute, or when a child has died, fail(). */
void await(bool (*holds)(void *arg), void *arg, const char *what);

/* Sleep. */
void pause_us(int64_t us);

#endif
