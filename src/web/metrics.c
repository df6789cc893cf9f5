/* SPDX-License-Identifier: MIT
 *
 * The one list of metrics. Names follow Prometheus' rules: base units, `_total` for what only rises. No id is a label:
 * they would be without end.
 */
#include "metrics.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <muster/version.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "need.h"

/* X(name, type, help, what writes its samples) */
#define METRICS(X)                                                                                                \
    X(muster_up, gauge, "Whether the last look at Redis was answered.", write_up)                                 \
    X(muster_look_duration_seconds, gauge, "How long the last look at Redis took.", write_look)                   \
    X(muster_look_timestamp_seconds, gauge, "When Redis was last looked at.", write_look_time)                    \
    X(muster_queue_tasks, gauge, "Tasks and jobs of a queue by state.", write_tasks)                              \
    X(muster_queue_oldest_seconds, gauge, "The oldest waiting task is at least this old.", write_oldest)          \
    X(muster_queue_tasks_enqueued_total, counter, "Tasks that came into a queue's list.", write_in)               \
    X(muster_queue_tasks_taken_total, counter, "Tasks and jobs that were taken.", write_out)                      \
    X(muster_queue_tasks_cancelled_total, counter, "Tasks that were cancelled.", write_cancelled)                 \
    X(muster_queue_failures_dropped_total, counter, "Failures that a bound of the failed list dropped.",          \
      write_dropped)                                                                                              \
    X(muster_queue_failed_bytes, gauge, "The bytes of a queue's failed list.", write_failed_bytes)                \
    X(muster_queue_moved_total, counter, "Processes of a queue that moved to another worker, for its share.",     \
      write_moved)                                                                                                \
    X(muster_queue_stalled_total, counter, "Tasks and jobs whose lease lapsed.", write_stalled)                   \
    X(muster_queue_died_total, counter, "Tasks and jobs that a worker held when it died.", write_died)            \
    X(muster_queue_idle_workers, gauge, "Workers that wait for a task of a queue.", write_idle)                   \
    X(muster_queue_paused, gauge, "Whether a queue is paused.", write_paused)                                     \
    X(muster_workers, gauge, "Registered workers by state.", write_workers)                                       \
    X(muster_worker_hands, gauge, "Hands of all live workers: how many tasks they can hold.", write_hands)        \
    X(muster_worker_hands_held, gauge, "Hands of all live workers that hold a task.", write_held)                 \
    X(muster_redis_told, gauge, "Whether Redis tells this user its own figures (INFO); 0: there are none below.", \
      write_told)                                                                                                 \
    X(muster_redis_memory_bytes, gauge, "The bytes that Redis uses.", write_memory)                               \
    X(muster_redis_memory_max_bytes, gauge, "The bytes that Redis may use; 0: no bound.", write_memory_max)       \
    X(muster_redis_replicas, gauge, "Replicas that are connected to Redis.", write_replicas)                      \
    X(muster_web_connections, gauge, "Open connections to this server.", write_connections)                       \
    X(muster_web_viewers, gauge, "Open streams of live events.", write_viewers)                                   \
    X(muster_web_viewers_dropped_total, counter, "Streams that were cut off because nobody read them.",           \
      write_dropped_viewers)

struct writer {
    FILE *out;
    const struct sight *sight;
    const struct metrics_web *web;
    const char *name;
};

static void write_label(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
}

static void write_value(const struct writer *w, double value)
{
    fprintf(w->out, " %.15g\n", value);
}

static void write_plain(const struct writer *w, double value)
{
    fputs(w->name, w->out);
    write_value(w, value);
}

static bool has_sight(const struct writer *w)
{
    return w->sight && w->sight->overview;
}

/* ---- of the whole ---- */

void metrics_write_build(FILE *out)
{
    static const char name[] = "muster_build_info";
    fprintf(out, "# HELP %s Always 1; the version of muster is a label.\n# TYPE %s gauge\n%s{version=\"%s\"} 1\n", name,
            name, name, muster_version());
}

static void write_up(const struct writer *w)
{
    write_plain(w, has_sight(w) && !w->sight->error);
}

static void write_look(const struct writer *w)
{
    if (has_sight(w))
        write_plain(w, w->sight->took_ms / 1000);
}

static void write_look_time(const struct writer *w)
{
    if (has_sight(w))
        write_plain(w, (double)w->sight->at_ms / 1000);
}

static void write_connections(const struct writer *w)
{
    write_plain(w, (double)w->web->connections);
}

static void write_viewers(const struct writer *w)
{
    write_plain(w, (double)w->web->viewers);
}

static void write_dropped_viewers(const struct writer *w)
{
    write_plain(w, (double)w->web->dropped);
}

/* ---- of Redis ---- */

/* NULL: nothing was asked yet. Without the right to ask it has an error and no figures. */
static const cJSON *redis_of(const struct writer *w)
{
    return has_sight(w) ? cJSON_GetObjectItemCaseSensitive(w->sight->overview, "redis") : NULL;
}

static void write_told(const struct writer *w)
{
    const cJSON *redis = redis_of(w);
    if (redis)
        write_plain(w, !cJSON_GetObjectItemCaseSensitive(redis, "error"));
}

static void write_of_redis(const struct writer *w, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(redis_of(w), key);
    if (cJSON_IsNumber(item))
        write_plain(w, item->valuedouble);
}

static void write_memory(const struct writer *w)
{
    write_of_redis(w, "used_memory");
}

static void write_memory_max(const struct writer *w)
{
    write_of_redis(w, "maxmemory");
}

static void write_replicas(const struct writer *w)
{
    write_of_redis(w, "replicas");
}

/* ---- of each queue ---- */

/* A name that is not UTF-8 is told in base64, as in JSON. */
static const char *queue_of(const cJSON *row)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "queue");
    name = name ? name : cJSON_GetObjectItemCaseSensitive(row, "queue_base64");
    return cJSON_IsString(name) ? name->valuestring : "";
}

static void write_row(const struct writer *w, const cJSON *row, const char *key, const char *state, double scale)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    if (!cJSON_IsNumber(item) && !cJSON_IsBool(item))
        return;
    fprintf(w->out, "%s{queue=\"", w->name);
    write_label(w->out, queue_of(row));
    fprintf(w->out, state ? "\",state=\"%s\"}" : "\"}%s", state ? state : "");
    write_value(w, cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble * scale);
}

static void write_rows(const struct writer *w, const char *key, double scale)
{
    const cJSON *row;
    if (has_sight(w))
        cJSON_ArrayForEach(row, w->sight->queues) write_row(w, row, key, NULL, scale);
}

static void write_tasks(const struct writer *w)
{
    static const char *const states[] = {"waiting", "running",   "delayed",  "failed",
                                         "depends", "recurring", "complete", "held"};
    const cJSON *row;
    if (!has_sight(w))
        return;
    cJSON_ArrayForEach(row, w->sight->queues) for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        write_row(w, row, states[i], states[i], 1);
}

static void write_oldest(const struct writer *w)
{
    write_rows(w, "oldest_ms", 0.001);
}

static void write_in(const struct writer *w)
{
    write_rows(w, "in", 1);
}

static void write_out(const struct writer *w)
{
    write_rows(w, "out", 1);
}

static void write_cancelled(const struct writer *w)
{
    write_rows(w, "cancelled", 1);
}

static void write_dropped(const struct writer *w)
{
    write_rows(w, "failed_dropped", 1);
}

static void write_failed_bytes(const struct writer *w)
{
    write_rows(w, "failed_bytes", 1);
}

static void write_moved(const struct writer *w)
{
    write_rows(w, "moved", 1);
}

static void write_stalled(const struct writer *w)
{
    write_rows(w, "stalled", 1);
}

static void write_died(const struct writer *w)
{
    write_rows(w, "died", 1);
}

static void write_idle(const struct writer *w)
{
    write_rows(w, "idle", 1);
}

static void write_paused(const struct writer *w)
{
    write_rows(w, "paused", 1);
}

/* ---- of the workers ---- */

static bool is_alive(const cJSON *row)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "alive"));
}

static void write_workers(const struct writer *w)
{
    const cJSON *row;
    int alive = 0, dead = 0;
    if (!has_sight(w))
        return;
    cJSON_ArrayForEach(row, w->sight->workers) * (is_alive(row) ? &alive : &dead) += 1;
    fprintf(w->out, "%s{state=\"alive\"} %d\n%s{state=\"dead\"} %d\n", w->name, alive, w->name, dead);
}

static void write_sum(const struct writer *w, const char *key)
{
    const cJSON *row;
    double sum = 0;
    if (!has_sight(w))
        return;
    cJSON_ArrayForEach(row, w->sight->workers)
    {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
        sum += is_alive(row) && cJSON_IsNumber(item) ? item->valuedouble : 0;
    }
    write_plain(w, sum);
}

static void write_hands(const struct writer *w)
{
    write_sum(w, "hands");
}

static void write_held(const struct writer *w)
{
    write_sum(w, "held");
}

char *metrics_text(const struct sight *sight, const struct metrics_web *web)
{
    char *text = NULL;
    size_t len;
    struct writer w = {.out = need(open_memstream(&text, &len)), .sight = sight, .web = web};
    metrics_write_build(w.out);
#define WRITE(metric, type, help, write)                                         \
    w.name = #metric;                                                            \
    fprintf(w.out, "# HELP %s %s\n# TYPE %s " #type "\n", w.name, help, w.name); \
    write(&w);
    METRICS(WRITE)
#undef WRITE
    if (fclose(w.out) != 0)
        need(NULL);
    return need(text);
}
