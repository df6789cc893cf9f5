/* SPDX-License-Identifier: MIT
 *
 * muster stats: what happened to jobs on one day, a row for each queue. For a single queue also histograms of how long
 * jobs waited and ran.
 */
#include <muster/job.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "each.h"
#include "known.h"
#include "out.h"
#include "text.h"

enum { QUEUE, DAY };

#define TODAY (-1)

/* ---- rows ---- */

static const struct out_column columns[] = {
    {"QUEUE", "queue", OUT_TEXT},
    {NULL, "day", OUT_TEXT},
    {"PUT", "put", OUT_COUNT},
    {"TAKEN", "taken", OUT_COUNT},
    {"COMPLETED", "completed", OUT_COUNT},
    {"FAILED", "failed", OUT_COUNT},
    {"RETRIED", "retried", OUT_COUNT},
    {"CRASHED", "crashed", OUT_COUNT},
    {"CANCELLED", "cancelled", OUT_COUNT},
    {"STALLED", "stalled", OUT_COUNT},
    {"DIED", "died", OUT_COUNT},
    {NULL, "wait_n", OUT_COUNT},
    {"WAIT-MS", "wait_mean_ms", OUT_REAL},
    {NULL, "wait_deviation_ms", OUT_REAL},
    {NULL, "wait_histogram", OUT_ROWS},
    {NULL, "run_n", OUT_COUNT},
    {"RUN-MS", "run_mean_ms", OUT_REAL},
    {NULL, "run_deviation_ms", OUT_REAL},
    {NULL, "run_histogram", OUT_ROWS},
    {NULL, NULL, OUT_TEXT},
};

/* The classes of a histogram that are not empty. */
static const struct out_column class_columns[] = {
    {NULL, "below_ms", OUT_COUNT}, {NULL, "n", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};

struct classes {
    struct out_cell cells[MUSTER_STATS_BUCKETS][2];
    struct out_rows rows;
};

static int64_t end_of_class(size_t i)
{
    return (int64_t)1 << i;
}

static void make_classes(struct classes *c, const struct muster_times *times)
{
    c->rows = (struct out_rows){.columns = class_columns, .cells = c->cells[0]};
    for (size_t i = 0; i < MUSTER_STATS_BUCKETS; i++)
        if (times->histogram[i] > 0) {
            c->cells[c->rows.n][0] = (struct out_cell){.number = end_of_class(i)};
            c->cells[c->rows.n++][1] = (struct out_cell){.number = (int64_t)times->histogram[i]};
        }
}

static int add_row(struct out_table *table, const char *queue, const struct muster_stats *stats)
{
    char day[TEXT_DAY_SIZE];
    struct classes wait, run;
    make_classes(&wait, &stats->wait);
    make_classes(&run, &stats->run);
    const struct out_cell cells[] = {
        {.text = queue},
        {.text = text_day(day, stats->day)},
        {.number = (int64_t)stats->put},
        {.number = (int64_t)stats->taken},
        {.number = (int64_t)stats->completed},
        {.number = (int64_t)stats->failed},
        {.number = (int64_t)stats->retried},
        {.number = (int64_t)stats->crashed},
        {.number = (int64_t)stats->cancelled},
        {.number = (int64_t)stats->stalled},
        {.number = (int64_t)stats->died},
        {.number = (int64_t)stats->wait.n},
        {.real = stats->wait.mean_ms},
        {.real = stats->wait.deviation_ms},
        {.rows = &wait.rows},
        {.number = (int64_t)stats->run.n},
        {.real = stats->run.mean_ms},
        {.real = stats->run.deviation_ms},
        {.rows = &run.rows},
    };
    return out_row(table, cells);
}

/* ---- the histograms, for people ---- */

static void print_classes(const struct muster_stats *stats)
{
    static const struct out_column shown[] = {
        {"BELOW", NULL, OUT_SPAN}, {"WAITED", NULL, OUT_COUNT}, {"RAN", NULL, OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    struct out_table table = {.columns = shown};
    if (stats->wait.n == 0 && stats->run.n == 0)
        return;
    out_text("\n");
    for (size_t i = 0; i < MUSTER_STATS_BUCKETS; i++) {
        uint64_t waited = stats->wait.histogram[i], ran = stats->run.histogram[i];
        const struct out_cell cells[] = {
            {.number = end_of_class(i)}, {.number = (int64_t)waited}, {.number = (int64_t)ran}};
        if (waited > 0 || ran > 0)
            out_row(&table, cells);
    }
    out_headings(&table);
    out_table_end(&table);
}

/* ---- which day, which queues ---- */

/* "yesterday" is the day before today by the clock of Redis, so that is asked first. */
static int get_stats(const struct call *call, struct muster_client *client, const char *queue, struct muster_stats *out)
{
    const char *text = call->own[DAY].text;
    int64_t day;
    if (!text_read_day(text, &day))
        day = TODAY;
    int err = muster_stats_get(client, queue, day, out);
    if (err == MUSTER_OK && strcmp(text, "yesterday") == 0)
        err = muster_stats_get(client, queue, out->day - 1, out);
    return err;
}

/* What show_queue() needs. */
struct showing {
    const struct call *call;
    struct out_table table;
    struct muster_stats stats;
};

static bool is_nothing(const struct muster_stats *stats)
{
    const struct muster_stats none = {.size = stats->size, .day = stats->day};
    return memcmp(stats, &none, sizeof none) == 0;
}

static int show_queue(struct muster_client *client, const char *queue, void *arg)
{
    struct showing *s = arg;
    s->stats.size = sizeof s->stats;
    int err = get_stats(s->call, client, queue, &s->stats);
    if (err == MUSTER_OK && !(s->call->own[QUEUE].set && is_nothing(&s->stats) && known_is_missing(client, queue)))
        add_row(&s->table, queue, &s->stats);
    return err;
}

static const char *check_day(const char *text)
{
    int64_t day;
    bool is_known = strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0 || text_read_day(text, &day);
    return is_known ? NULL : "it must be YYYY-MM-DD, today or yesterday";
}

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "only this queue, with a histogram of its times (default all queues)",
               .check = muster_queue_check},
    [DAY] = {.name = "day",
             .kind = OPT_STRING,
             .argument = "DAY",
             .help = "YYYY-MM-DD, today or yesterday, in UTC by Redis' clock",
             .fallback = "today",
             .check = check_day},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct showing s = {.call = call, .table = {.columns = columns, .json = call->common[OPT_JSON].set}};
    const char *queue = call->own[QUEUE].text;
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = queue ? show_queue(client, queue, &s) : each_queue(client, show_queue, &s);
    if (err == MUSTER_OK && queue && !s.table.has_rows)
        code = known_exit(call, client, queue);
    if (err == MUSTER_OK && !code)
        out_headings(&s.table);
    out_table_end(&s.table);
    if (err == MUSTER_OK && !code && queue && !s.table.json)
        print_classes(&s.stats);
    int closed = client_close(call, client, err);
    return closed ? closed : code;
}

const struct command cmd_stats = {
    .name = "stats",
    .operands = "",
    .summary = "Show what happened to the jobs of each queue on one day, and how long they waited and ran",
    .about =
        "WAIT-MS and RUN-MS are means. The figures of a day are kept for 30 days. Plain tasks are not counted, but\n"
        "for STALLED, how many tasks and jobs had a lease that lapsed, and DIED, how many a worker held when it "
        "died.\n",
    .examples = "muster stats\n"
                "muster stats --queue mail --day yesterday\n"
                "muster stats --day 2026-06-01 --json\n",
    .options = options,
    .run = run,
};
