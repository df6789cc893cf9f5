/* SPDX-License-Identifier: MIT
 *
 * Statistics of a queue's jobs on one day: what the scripts have counted in P:stats:<day>:<queue>. For times they keep
 * the sum, the sum of squares and the histogram. Number, mean and deviation are computed here.
 */
#include <math.h>
#include <muster/job.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "client/client.h"

#define DAY_MS (24 * 3600 * 1000)

static uint64_t count_of(const struct redisReply *counted, const char *name)
{
    long long n = reply_number(reply_field(counted, name), 0);
    return n > 0 ? (uint64_t)n : 0;
}

/* A sum of squares may be too large for an integer. */
static double sum_of(const struct redisReply *counted, const char *name)
{
    const char *text = reply_text(reply_field(counted, name));
    return text ? c_locale_real(text) : 0;
}

static void read_times(const struct redisReply *counted, const char *what, struct muster_times *out)
{
    char name[32];
    for (int i = 0; i < MUSTER_STATS_BUCKETS; i++) {
        snprintf(name, sizeof name, "%s:%d", what, i);
        out->histogram[i] = count_of(counted, name);
        out->n += out->histogram[i];
    }
    snprintf(name, sizeof name, "%s_ms", what);
    double sum = sum_of(counted, name);
    snprintf(name, sizeof name, "%s_squares", what);
    double squares = sum_of(counted, name);
    if (out->n > 0) {
        out->mean_ms = sum / (double)out->n;
        double variance = squares / (double)out->n - out->mean_ms * out->mean_ms;
        out->deviation_ms = variance > 0 ? sqrt(variance) : 0;
    }
}

static int today(struct muster_client *c, int64_t *day)
{
    struct redisReply *reply;
    int err = client_ask(c, &reply, (const char *const[]){"TIME", NULL});
    *day = reply_time_ms(reply) / DAY_MS; /* of a wrong answer a day without statistics */
    redis_reply_free(reply);
    return err;
}

int muster_stats_get(struct muster_client *c, const char *queue, int64_t day, struct muster_stats *out)
{
    char key[KEY_MAX], name[MUSTER_QUEUE_MAX + 24];
    struct redisReply *counted;
    struct muster_stats stats = {0};
    const char *why = sized_clear(SIZED_STATS, out);
    int err = why ? client_refuse(c, why) : client_check_queue(c, queue);
    if (err == MUSTER_OK && day < -1)
        err = client_refuse(c, "a day is a number of days since 1970-01-01, or -1 for today");
    if (err == MUSTER_OK && day == -1)
        err = today(c, &day);
    if (err != MUSTER_OK)
        return err;
    snprintf(name, sizeof name, "%lld:%s", (long long)day, queue);
    key_of(key, c->prefix, KEY_STATS, name);
    err = client_ask(c, &counted, (const char *const[]){"HGETALL", key, NULL});
    stats.day = day;
    stats.put = count_of(counted, "put");
    stats.taken = count_of(counted, "taken");
    stats.completed = count_of(counted, "completed");
    stats.failed = count_of(counted, "failed");
    stats.retried = count_of(counted, "retried");
    stats.crashed = count_of(counted, "crashed");
    stats.cancelled = count_of(counted, "cancelled");
    stats.stalled = count_of(counted, "stalled");
    stats.died = count_of(counted, "died");
    read_times(counted, "wait", &stats.wait);
    read_times(counted, "run", &stats.run);
    sized_write(SIZED_STATS, out, &stats);
    redis_reply_free(counted);
    return err;
}
