/* SPDX-License-Identifier: MIT
 *
 * The figures of <muster/stats.h> under the names that Prometheus wants. None of them is a name of metrics.c but the
 * version: a sum over workers must not meet a sum that the dashboard has made already. The worker's id is no label; the
 * target of the scrape tells who it is.
 */
#include "metrics_worker.h"

#include <assert.h>
#include <inttypes.h>
#include <muster/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "need.h"

/*
 * X(figure, metric, label, help). Each counter of a worker is here. Those of one metric stand together, and the first
 * has its help; NULL: the words of <muster/stats.h>.
 */
#define COUNTERS(X)                                                                                               \
    X(taken, muster_tasks_taken_total, "", NULL)                                                                  \
    X(started, muster_tasks_started_total, "", NULL)                                                              \
    X(finished, muster_tasks_finished_total, "{outcome=\"finished\"}", "ends that counted, by their outcome")     \
    X(retried, muster_tasks_finished_total, "{outcome=\"retried\"}", NULL)                                        \
    X(failed, muster_tasks_finished_total, "{outcome=\"failed\"}", NULL)                                          \
    X(given_back, muster_tasks_finished_total, "{outcome=\"given_back\"}", NULL)                                  \
    X(uncounted, muster_stale_results_total, "", NULL)                                                            \
    X(unknown, muster_unknown_results_total, "", "stale results of which nobody knows whether they counted")      \
    X(released, muster_tasks_released_total, "", NULL)                                                            \
    X(limits, muster_tasks_over_limit_total, "", NULL)                                                            \
    X(swept, muster_workers_swept_total, "", NULL)                                                                \
    X(recovered, muster_tasks_recovered_total, "", NULL)                                                          \
    X(crashed, muster_tasks_crashed_total, "", NULL)                                                              \
    X(doubts, muster_doubts_total, "", NULL)                                                                      \
    X(lost, muster_registrations_lost_total, "", NULL)                                                            \
    X(refusals, muster_redis_refusals_total, "", NULL)                                                            \
    X(data_reconnects, muster_redis_reconnects_total, "{connection=\"data\"}",                                    \
      "times a connection came back after a break")                                                               \
    X(subscription_reconnects, muster_redis_reconnects_total, "{connection=\"subscription\"}", NULL)              \
    X(readbacks, muster_readbacks_total, "", NULL)                                                                \
    X(readbacks_found, muster_readbacks_found_total, "", "read-backs that found a process of which nothing told") \
    X(wakes_message, muster_wakeups_by_message_total, "", NULL)                                                   \
    X(wakes_heartbeat, muster_wakeups_by_poll_total, "", NULL)                                                    \
    X(wakes_hint, muster_wakeups_by_hint_total, "", NULL)                                                         \
    X(turns, muster_turns_total, "", NULL)                                                                        \
    X(heartbeats, muster_heartbeats_total, "{by=\"script\"}", "heartbeats sent, by script or by plain commands")  \
    X(probes, muster_heartbeats_total, "{by=\"commands\"}", NULL)                                                 \
    X(enqueued, muster_tasks_enqueued_total, "", NULL)                                                            \
    X(moves_asked, muster_moves_asked_total, "", NULL)                                                            \
    X(moves_made, muster_moves_made_total, "", "processes given back so that another worker has them")

#define COUNT_1(...) +1
static_assert(0 COUNTERS(COUNT_1) == 0 MUSTER_WORKER_COUNTERS(COUNT_1), "a counter of a worker has no metric");

/* X(value, metric, help): a value that is below 0 is unknown, and left out. */
#define GAUGES(X)                                                                                             \
    X(m->is_well, muster_healthy, "whether /healthz says that all is well")                                   \
    X(s->registered, muster_registered, "whether the worker is registered, as far as it knows")               \
    X(s->subscribed, muster_subscribed, "whether it hears messages")                                          \
    X(s->in_doubt, muster_in_doubt, "whether it is in doubt and starts nothing")                              \
    X(s->stopping, muster_stopping, "whether it takes nothing more and leaves")                               \
    X(s->hands, muster_hands, "how many handlers it runs at once")                                            \
    X(s->running, muster_tasks_running, "handlers that run")                                                  \
    X(s->held, muster_tasks_held, "processes in its hands: running, waiting for one, or not yet confirmed")   \
    X((double)s->heard_ms / 1000, muster_heartbeat_age_seconds, "since it sent the last confirmed heartbeat") \
    X(m->silent_s, muster_event_loop_silent_seconds, "since its loop was last seen to go round")

/* X(figure, metric, help) */
#define TIMES(X)                                                                    \
    X(wait, muster_task_wait_seconds, "how long jobs waited until they were taken") \
    X(run, muster_task_run_seconds, "how long handlers ran")                        \
    X(lag, muster_event_loop_lag_seconds, "how late the loop came to the timer of a heartbeat")

static void write_head(FILE *out, const char *metric, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %c%s.\n# TYPE %s %s\n", metric, help[0] >= 'a' && help[0] <= 'z' ? help[0] - 32 : help[0],
            help + 1, metric, type);
}

static void write_gauge(FILE *out, const char *metric, const char *help, double value)
{
    write_head(out, metric, "gauge", help);
    if (value >= 0)
        fprintf(out, "%s %.15g\n", metric, value);
}

static void write_gauges(FILE *out, const struct metrics_worker *m)
{
    const struct muster_worker_stats *s = m->stats;
#define WRITE(value, metric, help) write_gauge(out, #metric, help, (double)(value));
    GAUGES(WRITE)
#undef WRITE
}

/* The words of <muster/stats.h>, by the counter's name. */
static const char *words_of(const char *figure)
{
    static const struct {
        const char *figure, *words;
    } all[] = {
#define ROW(name, words) {#name, words},
        MUSTER_WORKER_COUNTERS(ROW)
#undef ROW
    };
    size_t i = 0;
    while (strcmp(all[i].figure, figure) != 0)
        i++;
    return all[i].words;
}

static void write_counters(FILE *out, const struct muster_worker_stats *s)
{
    static const struct {
        const char *figure, *metric, *label, *help;
    } all[] = {
#define ROW(figure, metric, label, help) {#figure, #metric, label, help},
        COUNTERS(ROW)
#undef ROW
    };
    const uint64_t values[] = {
#define VALUE(figure, metric, label, help) s->figure,
        COUNTERS(VALUE)
#undef VALUE
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (i == 0 || strcmp(all[i].metric, all[i - 1].metric) != 0)
            write_head(out, all[i].metric, "counter", all[i].help ? all[i].help : words_of(all[i].figure));
        fprintf(out, "%s%s %" PRIu64 "\n", all[i].metric, all[i].label, values[i]);
    }
}

static void write_times(FILE *out, const char *metric, const char *help, const struct muster_histogram *h)
{
    static const char *const bounds[] = {
#define BOUND(us, seconds) seconds,
        MUSTER_HISTOGRAM_BOUNDS(BOUND)
#undef BOUND
            "+Inf"};
    uint64_t n = 0;
    write_head(out, metric, "histogram", help);
    for (size_t i = 0; i < MUSTER_HISTOGRAM_BUCKETS; i++)
        fprintf(out, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", metric, bounds[i], n += h->buckets[i]);
    fprintf(out, "%s_sum %.15g\n%s_count %" PRIu64 "\n", metric, (double)h->sum_us / 1e6, metric, n);
}

char *metrics_worker_text(const struct metrics_worker *m)
{
    char *text = NULL;
    size_t len;
    FILE *out = need(open_memstream(&text, &len));
    metrics_write_build(out);
    write_gauges(out, m);
    write_counters(out, m->stats);
#define WRITE(figure, metric, help) write_times(out, #metric, help, &m->stats->figure);
    TIMES(WRITE)
#undef WRITE
    if (fclose(out) != 0)
        need(NULL);
    return need(text);
}
