/* SPDX-License-Identifier: MIT
 *
 * Figures of one worker and of one client: what they have done since they were made, and what they do now. They are
 * counted in this process and cost Redis nothing. Figures of queues are in client.h (muster_queue_list()), those of a
 * queue's jobs, kept in Redis by the day, in job.h (muster_stats_get()).
 *
 * A copy is no single moment: while it is made, the worker or client goes on. A figure never goes back, but for the
 * gauges. A figure whose name a program does not know yet stands behind those that it knows: `size` tells which it has.
 */
#ifndef MUSTER_STATS_H
#define MUSTER_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

struct muster_client;
struct muster_worker;

/* ---- times ---- */

/*
 * The bounds of all histograms: X(microseconds, the same in seconds, as the label `le` of Prometheus has it). Each is
 * twice the one before. From 1 ms on they are those of a queue's statistics in Redis (MUSTER_STATS_BUCKETS), so that
 * the two can be laid over each other.
 */
#define MUSTER_HISTOGRAM_BOUNDS(X) \
    X(125, "0.000125")             \
    X(250, "0.00025")              \
    X(500, "0.0005")               \
    X(1000, "0.001")               \
    X(2000, "0.002")               \
    X(4000, "0.004")               \
    X(8000, "0.008")               \
    X(16000, "0.016")              \
    X(32000, "0.032")              \
    X(64000, "0.064")              \
    X(128000, "0.128")             \
    X(256000, "0.256")             \
    X(512000, "0.512")             \
    X(1024000, "1.024")            \
    X(2048000, "2.048")            \
    X(4096000, "4.096")            \
    X(8192000, "8.192")            \
    X(16384000, "16.384")          \
    X(32768000, "32.768")          \
    X(65536000, "65.536")          \
    X(131072000, "131.072")        \
    X(262144000, "262.144")        \
    X(524288000, "524.288")        \
    X(1048576000, "1048.576")      \
    X(2097152000, "2097.152")      \
    X(4194304000, "4194.304")

#define MUSTER_HISTOGRAM_COUNT_1(us, seconds) +1
/* The last bucket has what is as long as the last bound, or longer. */
enum { MUSTER_HISTOGRAM_BUCKETS = 1 MUSTER_HISTOGRAM_BOUNDS(MUSTER_HISTOGRAM_COUNT_1) };
#undef MUSTER_HISTOGRAM_COUNT_1

/* Bucket i counts times below its bound and not below that of bucket i - 1. */
struct muster_histogram {
    uint64_t n;      /* how many times were measured: the sum of the buckets */
    uint64_t sum_us; /* of all of them */
    uint64_t buckets[MUSTER_HISTOGRAM_BUCKETS];
};

/* The bound of a bucket, in microseconds: its times are shorter. -1: it has none, or there is no such bucket. Any
 * thread. */
MUSTER_API int64_t muster_histogram_bound_us(int bucket);

/* ---- a worker ---- */

/*
 * X(name, what it is in words). Counters of a worker, from when it was made on; each rises only.
 *
 * taken = finished + retried + failed + given_back + uncounted + released + the gauge `held`, when nothing is going on.
 */
#define MUSTER_WORKER_COUNTERS(X)                                                                             \
    X(taken, "processes that came into its hands: tasks and jobs")                                            \
    X(started, "handlers started")                                                                            \
    X(finished, "ends that counted: finished")                                                                \
    X(retried, "ends that counted: to be retried, or failed after the last retry")                            \
    X(failed, "ends that counted: failed")                                                                    \
    X(given_back, "ends that counted: given back")                                                            \
    X(uncounted, "ends after a handler that did not count, or nobody knows: somebody else may have the task") \
    X(unknown, "those among them of which nobody knows")                                                      \
    X(released, "processes that left its hands without an end: with a queue, the registration or the worker") \
    X(limits, "handlers that ran longer than their time limit")                                               \
    X(swept, "dead workers that it has swept")                                                                \
    X(recovered, "processes of dead workers that it gave back")                                               \
    X(crashed, "processes of dead workers that failed then, in group crashed")                                \
    X(doubts, "times in doubt: no heartbeat was confirmed for a whole ttl")                                   \
    X(lost, "registrations that others have ended")                                                           \
    X(refusals, "refusals by Redis, and damaged keys that it met, told or not")                               \
    X(data_reconnects, "times its data connection came back after a break")                                   \
    X(subscription_reconnects, "times its subscription came back after a break")                              \
    X(readbacks, "times it asked Redis what it holds")                                                        \
    X(readbacks_found, "those that found something: a process of which no message or answer had told")        \
    X(wakes_message, "processes handed over by a message")                                                    \
    X(wakes_heartbeat, "times only a heartbeat told of waiting work")                                         \
    X(wakes_hint, "takes because a foreign producer announced work")                                          \
    X(turns, "script calls that end and take")                                                                \
    X(heartbeats, "heartbeats by script")                                                                     \
    X(probes, "heartbeats by plain commands")                                                                 \
    X(enqueued, "tasks and jobs that muster_worker_enqueue() and muster_worker_put() have added")             \
    X(moves_asked, "processes that were to move to another worker")                                           \
    X(moves_made, "those that were given back for that, which is counted in given_back, too")

/* X(name, what it is in words). What a worker is and has now. Times are -1 if there is none. */
#define MUSTER_WORKER_GAUGES(X)                                                                      \
    X(hands, "how many handlers it runs at once")                                                    \
    X(running, "handlers that run")                                                                  \
    X(held, "processes in its hands: running, waiting for a hand, or with an end not yet confirmed") \
    X(registered, "1: it is registered, as far as it knows; else 0")                                 \
    X(subscribed, "1: it hears messages; else 0")                                                    \
    X(in_doubt, "1: it is in doubt and starts nothing; else 0")                                      \
    X(stopping, "1: it takes nothing more, lets what runs end, and leaves; else 0")                  \
    X(heard_ms, "time since it sent the last heartbeat that was confirmed, in ms; -1: never")

#define MUSTER_STATS_COUNTER(name, words) uint64_t name;
#define MUSTER_STATS_GAUGE(name, words) int64_t name;

struct muster_worker_stats {
    size_t size; /* sizeof(struct muster_worker_stats); set it before the call */

    /* How long jobs waited: from when they could be taken until they came into its hands, by the clock of Redis. Of a
     * job that was given back and came by a message: from when it came to wait for the first time. Tasks have no time:
     * see `oldest_ms` of a queue. */
    struct muster_histogram wait;

    /* How long handlers ran: from their start until the worker knew their outcome. */
    struct muster_histogram run;

    /* How late the worker's loop came to the timer of a heartbeat. One of a few seconds is near the ttl, and costs the
     * worker its registration: its loop is held up by an inline handler, or by the program. */
    struct muster_histogram lag;

    MUSTER_WORKER_GAUGES(MUSTER_STATS_GAUGE)
    MUSTER_WORKER_COUNTERS(MUSTER_STATS_COUNTER)
};

/*
 * Copy a worker's figures. Any thread, as long as the worker is not freed meanwhile; also while it runs, without
 * holding it up. Nothing is sent.
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: `out->size` is wrong; nothing was written.
 */
MUSTER_API int muster_worker_stats(const struct muster_worker *w, struct muster_worker_stats *out);

/* ---- a client ---- */

/* X(name, what it is in words). Counters of a client, from when it was made on; each rises only. What a call asks of
 * Redis is one or more commands. What its listening connection does (muster_queue_listen() and waiting for a task) is
 * not counted. */
#define MUSTER_CLIENT_COUNTERS(X)                                                                 \
    X(commands, "commands and scripts sent, those again included")                                \
    X(answers, "answers read")                                                                    \
    X(again, "commands sent again, because Redis had not executed them for a reason that passes") \
    X(connections, "connections made; all but the first are reconnects")                          \
    X(sent_bytes, "bytes sent")                                                                   \
    X(received_bytes, "bytes received")

/* Places for errors; more than there are. */
#define MUSTER_CLIENT_STATS_ERRORS 32

struct muster_client_stats {
    size_t size; /* sizeof(struct muster_client_stats); set it before the call */

    /* How long Redis and the way to it took: from when a command was handed to the connection until its answer was
     * read. Of commands that are sent together each has its own time. */
    struct muster_histogram time;

    /* How often a command or a script was answered with an error, or had no answer: MUSTER_E_CONN is at
     * errors[-MUSTER_E_CONN], and so on. What was refused before anything was sent is not counted. */
    uint64_t errors[MUSTER_CLIENT_STATS_ERRORS];

    MUSTER_CLIENT_COUNTERS(MUSTER_STATS_COUNTER)
};

/*
 * Copy a client's figures. Any thread, as long as the client is not freed meanwhile; also while another thread uses it.
 * Nothing is sent.
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: `out->size` is wrong; nothing was written.
 */
MUSTER_API int muster_client_stats(const struct muster_client *c, struct muster_client_stats *out);

#undef MUSTER_STATS_COUNTER
#undef MUSTER_STATS_GAUGE

#ifdef __cplusplus
}
#endif
#endif
