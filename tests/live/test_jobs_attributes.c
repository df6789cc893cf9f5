/* SPDX-License-Identifier: MIT
 *
 * What each call does to what a job has and the call does not name, as the tables of doc/attributes.md say. They are
 * read here: each column is carried out on a job that has all that such a job can have, and each cell is compared with
 * its record before and after. A field without a row, a column without a call, a call without a column are failures.
 */
#include <muster/batch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "taken.h"

#define A_DAY ((int64_t)24 * 3600 * 1000)
#define LIMIT 999000
#define COLUMNS_MAX 24
#define ROWS_MAX 64
#define CELL_MAX 64
#define REPLACED(...) JOB_SPEC(.id = "a", .replace = 1, .limit_ms = LIMIT, __VA_ARGS__)

/* ---- the page ---- */

struct table {
    char cells[ROWS_MAX][COLUMNS_MAX][CELL_MAX]; /* row 0 is the heads, column 0 the fields */
    size_t n_rows, n_columns;
};

/* The cells of a line "| a | b |", without blanks and backquotes around them. */
static size_t read_cells(const char *line, char cells[COLUMNS_MAX][CELL_MAX])
{
    size_t n = 0;
    for (const char *at = line + 1; (line = strchr(at, '|')); at = line + 1) {
        size_t len = (size_t)(line - at);
        while (len > 0 && strchr(" `", *at))
            at++, len--;
        while (len > 0 && strchr(" `", at[len - 1]))
            len--;
        assert_true(n < COLUMNS_MAX && len < CELL_MAX);
        snprintf(cells[n++], CELL_MAX, "%.*s", (int)len, at);
    }
    return n;
}

/* The first table below this heading. */
static void read_table(struct table *t, const char *heading)
{
    FILE *page = fopen(MUSTER_JOB_ATTRIBUTES, "r");
    char line[2000];
    bool is_below = false;
    assert_non_null(page);
    *t = (struct table){.n_rows = 0};
    while (fgets(line, sizeof line, page)) {
        line[strcspn(line, "\n")] = '\0';
        is_below = is_below || strcmp(line, heading) == 0;
        if (is_below && *line == '|' && strncmp(line, "|---", 4) != 0) {
            assert_true(t->n_rows < ROWS_MAX);
            size_t n = read_cells(line, t->cells[t->n_rows++]);
            assert_true(t->n_rows == 1 || n == t->n_columns);
            t->n_columns = n;
        } else if (t->n_rows > 0 && *line != '|') {
            break;
        }
    }
    fclose(page);
    assert_true(t->n_rows > 1);
}

static size_t row_of(const struct table *t, const char *field)
{
    for (size_t row = 1; row < t->n_rows; row++)
        if (strcmp(t->cells[row][0], field) == 0)
            return row;
    return 0;
}

/* ---- the job ---- */

/* All of it that Redis has, as fields and values: its record, how long its history is, what it waits for. */
static redisReply *look(struct scene *s)
{
    return raw(s->server->redis, "EVAL %s 1 %s",
               "local P = KEYS[1] .. ':'\n"
               "local all = redis.call('HGETALL', P .. 'job:a')\n"
               "local on = redis.call('SMEMBERS', P .. 'dependencies:a')\n"
               "all[#all + 1], all[#all + 2] = '(history)', tostring(redis.call('LLEN', P .. 'history:a'))\n"
               "if #on > 0 then all[#all + 1], all[#all + 2] = '(dependencies)', table.concat(on, ' ') end\n"
               "return all",
               s->prefix);
}

static const char *value_of(const redisReply *record, const char *field)
{
    for (size_t i = 0; i + 1 < record->elements; i += 2)
        if (strcmp(record->element[i]->str, field) == 0)
            return record->element[i + 1]->str;
    return NULL;
}

/* As if these fields had come to be in the job's life so far. */
#define have(s, fields) raw_do((s)->server->redis, "HSET %s:job:a " fields, (s)->prefix)

static const char *process; /* of the job, if it runs */

static void put_job(struct scene *s, const struct muster_job_spec *spec)
{
    static const struct muster_backoff backoff = {.delay_ms = 7000, .max_ms = 9000, .jitter_percent = 0};
    static const char *const done[] = {"done"}, *const tags[] = {"t"};
    const int64_t on = 1;
    struct muster_job_spec full = *spec;
    assert_ok(muster_config_set(s->client, "q", "fair", &on));
    assert_ok(muster_config_set(s->client, "r", "fair", &on));
    assert_ok(muster_batch_open(
        s->client, &(struct muster_batch_spec){.size = sizeof(struct muster_batch_spec), .id = "b"}, NULL));
    full.id = "a";
    full.data = (struct muster_bytes)BYTES("d");
    full.priority = 3;
    full.retries = 9;
    full.limit_ms = 5000;
    full.backoff = &backoff;
    full.tags = tags;
    full.n_tags = 1;
    full.track = 1;
    full.batch = "b";
    full.key = "k";
    job_put(s, "q", JOB_SPEC(.id = "done", .data = BYTES("d")));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "done"), NULL));
    job_put(s, "p", JOB_SPEC(.id = "open", .data = BYTES("d"), .delay_ms = A_DAY));
    if (full.n_after == 0) {
        full.after = done;
        full.n_after = 1;
    }
    job_put(s, "q", &full);
    for (int i = 0; i < 2; i++) { /* of its key, and so of later rounds */
        job_put(s, "q", JOB_SPEC(.data = BYTES("d"), .priority = 3, .key = "k"));
        job_put(s, "r", JOB_SPEC(.data = BYTES("d"), .priority = 3, .key = "k"));
    }
    have(s, "made_by maker result old retried 2 crashes 1 suspect 1 group g message m put 1000");
}

static void waits(struct scene *s)
{
    put_job(s, JOB_SPEC(.id = "a"));
}

static void is_later(struct scene *s)
{
    put_job(s, JOB_SPEC(.delay_ms = A_DAY));
}

static void depends(struct scene *s)
{
    put_job(s, JOB_SPEC(.after = IDS("done", "open"), .n_after = 2));
}

static void runs(struct scene *s)
{
    waits(s);
    process = job_take(s, "q", "a");
}

static void has_failed(struct scene *s)
{
    runs(s);
    assert_ok(muster_lease_fail(s->client, process, "g", "m"));
}

/* ---- the calls ---- */

static void replace(struct scene *s)
{
    job_put(s, "q", REPLACED(.priority = 0));
}

static void replace_elsewhere(struct scene *s)
{
    job_put(s, "r", REPLACED(.priority = 0));
}

static void change(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.limit_ms = LIMIT)));
}

static void change_many(struct scene *s)
{
    const struct muster_job_bulk bulk = {
        .size = sizeof bulk, .action = MUSTER_JOBS_CHANGE, .change = JOB_CHANGE(.limit_ms = LIMIT)};
    assert_ok(muster_job_bulk(s->client, JOB_FILTER(.tag = "t"), &bulk, NULL));
}

static void change_queue(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.queue = "r")));
}

static void change_delay(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.delay_ms = A_DAY)));
}

static void replay(struct scene *s)
{
    assert_ok(muster_failed_replay(
        s->client, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "q"}, NULL));
}

static void replay_many(struct scene *s)
{
    const struct muster_job_bulk bulk = {.size = sizeof bulk, .action = MUSTER_JOBS_REPLAY};
    assert_ok(muster_job_bulk(s->client, JOB_FILTER(.tag = "t"), &bulk, NULL));
}

static void finish_into(struct scene *s)
{
    const struct muster_finish_options o = {.size = sizeof o, .next = "r"};
    assert_ok(muster_lease_finish(s->client, process, &o));
}

static void retry(struct scene *s)
{
    assert_ok(muster_lease_retry(s->client, process, -1));
}

static void give_back(struct scene *s)
{
    assert_ok(muster_lease_give_back(s->client, process));
}

/* ---- jobs that recur ---- */

#define SCHEDULE(...)                                           \
    .cron = "0 0 1 1 *", .zone = "Europe/Berlin", .from_ms = 5, \
    .until_ms = server_now_ms(s) / A_DAY * A_DAY + 1000 * A_DAY, .count = 50, __VA_ARGS__
#define INTERVAL(...)                                                                                          \
    .every_ms = A_DAY, .from_ms = 5, .until_ms = server_now_ms(s) / A_DAY * A_DAY + 1000 * A_DAY, .count = 50, \
    __VA_ARGS__

/* A time has come and waits for the end of the job that was made last. */
static void is_queued(struct scene *s)
{
    int64_t due = server_now_ms(s) + A_DAY / 2;
    raw_do(s->server->redis, "EVAL %s 1 %s %lld",
           "local P = KEYS[1] .. ':'\n"
           "local place = redis.call('HGET', P .. 'job:a', 'place')\n"
           "redis.call('HSET', P .. 'job:a', 'put', 1000, 'since', 1000, 'made', 3, 'queued', 2000, 'due', ARGV[1])\n"
           "redis.call('ZADD', P .. 'recurring:q', ARGV[1], place .. 'a')\n"
           "redis.call('HSET', P .. 'queue:q', 'due', ARGV[1])\n"
           "redis.call('ZADD', P .. 'due', ARGV[1], 'q')",
           s->prefix, (long long)due);
}

static void has_schedule(struct scene *s)
{
    job_put(
        s, "q",
        JOB_SPEC(.id = "a", .data = BYTES("d"), .overlap = MUSTER_OVERLAP_QUEUE, .backlog = 4, SCHEDULE(.track = 1)));
    is_queued(s);
    raw_do(
        s->server->redis, "EVAL %s 1 %s",
        "local key = KEYS[1] .. ':job:a'\n"
        "redis.call('HSET', key, 'last', 1500, 'settled', 1600, 'ticks', '2000 ' .. redis.call('HGET', key, 'ticks'))",
        s->prefix);
}

static void has_interval(struct scene *s)
{
    job_put(
        s, "q",
        JOB_SPEC(.id = "a", .data = BYTES("d"), .overlap = MUSTER_OVERLAP_QUEUE, .backlog = 4, INTERVAL(.track = 1)));
    is_queued(s);
}

static void same_schedule(struct scene *s)
{
    job_put(s, "q", REPLACED(SCHEDULE(.priority = 0)));
}

static void same_schedule_elsewhere(struct scene *s)
{
    job_put(s, "r", REPLACED(SCHEDULE(.priority = 0)));
}

static void other_schedule(struct scene *s)
{
    job_put(s, "q", REPLACED(.cron = "0 0 2 1 *", .zone = "UTC"));
}

static void same_interval(struct scene *s)
{
    job_put(s, "q", REPLACED(INTERVAL(.priority = 0)));
}

static void same_interval_elsewhere(struct scene *s)
{
    job_put(s, "r", REPLACED(INTERVAL(.priority = 0)));
}

static void other_interval(struct scene *s)
{
    job_put(s, "q", REPLACED(.every_ms = 2 * A_DAY));
}

static void same_interval_with_offset(struct scene *s)
{
    job_put(s, "q", REPLACED(.every_ms = A_DAY, .offset_ms = A_DAY));
}

static void change_cron(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.cron = "0 0 2 1 *")));
}

static void change_to_same_cron(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.cron = "0 0 1 1 *", .zone = "Europe/Berlin")));
}

static void change_every(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.every_ms = 2 * A_DAY)));
}

static void change_overlap(struct scene *s)
{
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.overlap = MUSTER_OVERLAP_ALLOW)));
}

/* A column: the job before, and the call; and one that must do the same. */
struct column {
    const char *head;
    void (*prepare)(struct scene *s);
    void (*call)(struct scene *s);
    void (*same)(struct scene *s);
};

static const struct column of_jobs[] = {
    {"put -r, waits", waits, replace, NULL},       {"put -r, later", is_later, replace, NULL},
    {"put -r, depends", depends, replace, NULL},   {"put -r, runs", runs, replace, NULL},
    {"put -r, failed", has_failed, replace, NULL}, {"put -r, moves", waits, replace_elsewhere, NULL},
    {"change", waits, change, change_many},        {"change -q", waits, change_queue, NULL},
    {"change --delay", waits, change_delay, NULL}, {"replay", has_failed, replay, replay_many},
    {"finish --to", runs, finish_into, NULL},      {"retry", runs, retry, NULL},
    {"give-back", runs, give_back, NULL},
};

static const struct column of_schedules[] = {
    {"put -r", has_schedule, replace, NULL},
    {"put -r, the same", has_schedule, same_schedule, NULL},
    {"put -r, another", has_schedule, other_schedule, NULL},
    {"put -r, moves", has_schedule, same_schedule_elsewhere, NULL},
    {"change", has_schedule, change, NULL},
    {"change --cron, the same", has_schedule, change_to_same_cron, NULL},
    {"change --cron", has_schedule, change_cron, NULL},
    {"change --overlap", has_schedule, change_overlap, NULL},
    {"change -q", has_schedule, change_queue, NULL},
};

static const struct column of_intervals[] = {
    {"put -r", has_interval, replace, NULL},
    {"put -r, the same", has_interval, same_interval, NULL},
    {"put -r, another", has_interval, other_interval, NULL},
    {"put -r --offset", has_interval, same_interval_with_offset, NULL},
    {"put -r, moves", has_interval, same_interval_elsewhere, NULL},
    {"change", has_interval, change, NULL},
    {"change --every", has_interval, change_every, NULL},
    {"change --overlap", has_interval, change_overlap, NULL},
    {"change -q", has_interval, change_queue, NULL},
};

/* ---- comparing ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* What became of a field, as the tables say it; of some, its value. */
static void tell(char out[CELL_MAX], const char *said, const redisReply *before, const char *field, const char *after)
{
    const char *was = value_of(before, field);
    const char *what = !was && !after          ? "-"
                       : same_text(was, after) ? "stays"
                       : !after                ? "goes"
                       : !was                  ? "comes"
                                               : "anew";
    if (strcmp(said, "given") == 0 && after)
        what = "given";
    else if (*said == '+' && was && after && atoll(after) == atoll(was) + atoll(said))
        what = said;
    else if (strcmp(said, "queued") == 0 && same_text(after, value_of(before, "queued")))
        what = "queued";
    else if (same_text(said, after))
        what = said;
    snprintf(out, CELL_MAX, "%s", what);
}

static int compare(const struct table *t, size_t column, const redisReply *before, const redisReply *after)
{
    int wrong = 0;
    for (size_t i = 0; i + 1 < after->elements; i += 2)
        if (!row_of(t, after->element[i]->str)) {
            print_error("'%s' has no row for %s\n", t->cells[0][column], after->element[i]->str);
            wrong++;
        }
    for (size_t i = 0; i + 1 < before->elements; i += 2)
        if (!row_of(t, before->element[i]->str)) {
            print_error("'%s' has no row for %s\n", t->cells[0][column], before->element[i]->str);
            wrong++;
        }
    for (size_t row = 1; row < t->n_rows; row++) {
        char is[CELL_MAX];
        const char *field = t->cells[row][0], *said = t->cells[row][column];
        tell(is, said, before, field, value_of(after, field));
        if (strcmp(is, said) != 0) {
            print_error("%s, '%s': %s, but the page says '%s'\n", field, t->cells[0][column], is, said);
            wrong++;
        }
    }
    return wrong;
}

static int try_column(struct scene *s, const struct table *t, size_t column, void (*prepare)(struct scene *s),
                      void (*call)(struct scene *s))
{
    raw_do(s->server->redis, "FLUSHALL");
    prepare(s);
    have(s, "since 1000 put 1000");
    redisReply *before = look(s);
    call(s);
    redisReply *after = look(s);
    int wrong = compare(t, column, before, after);
    freeReplyObject(before);
    freeReplyObject(after);
    checked_assert_clean(s);
    return wrong;
}

static void compare_table(struct scene *s, const char *heading, const struct column *columns, size_t n)
{
    static struct table t;
    int wrong = 0;
    read_table(&t, heading);
    assert_int_equal(t.n_columns, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct column *c = &columns[i];
        assert_string_equal(t.cells[0][i + 1], c->head);
        wrong += try_column(s, &t, i + 1, c->prepare, c->call);
        if (c->same)
            wrong += try_column(s, &t, i + 1, c->prepare, c->same);
    }
    assert_int_equal(wrong, 0);
}

static void a_job_keeps_and_loses_what_the_page_says(void **state)
{
    compare_table(*state, "## A job", of_jobs, N_OF(of_jobs));
}

static void so_does_one_that_has_a_schedule(void **state)
{
    compare_table(*state, "## A job with a schedule", of_schedules, N_OF(of_schedules));
}

static void so_does_one_that_has_an_interval(void **state)
{
    compare_table(*state, "## A job at an interval", of_intervals, N_OF(of_intervals));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_job_keeps_and_loses_what_the_page_says),
        live_test(so_does_one_that_has_a_schedule),
        live_test(so_does_one_that_has_an_interval),
    };
    return scene_run(tests, argc, argv);
}
