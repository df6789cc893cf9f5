/* SPDX-License-Identifier: MIT
 *
 * Medians and ratios. The ratio is the median of the rounds' ratios, not the ratio of the medians: neighbours in time
 * are compared.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>

#include "meter.h"

#define TEXT 40

struct figure {
    double median, min, max;
};

static double measure(enum measure m, const struct block *b)
{
    double tasks = (double)b->tasks;
    switch (m) {
    case RATE:
        return tasks / b->seconds;
    case CPU:
        return b->cpu_us / tasks;
    case COMMANDS:
        return b->commands / tasks;
    case P50:
        return b->p50_us;
    case P99:
        return b->p99_us;
    case P999:
        return b->p999_us;
    case P50_MS:
        return b->p50_us / 1e3;
    case P99_MS:
        return b->p99_us / 1e3;
    case VALUE:
        return b->value;
    }
    return NAN;
}

static struct figure figure_of(const struct samples *s, int side, enum measure m)
{
    double values[ROUNDS_MAX];
    if (side == NO_SIDE)
        return (struct figure){NAN, NAN, NAN};
    for (size_t i = 0; i < s->rounds; i++)
        values[i] = measure(m, &s->blocks[side][i]);
    double median = median_of(values, s->rounds); /* also sorts them */
    return (struct figure){median, values[0], values[s->rounds - 1]};
}

static double ratio_of(const struct row *row, const struct samples *s)
{
    double values[ROUNDS_MAX];
    if (row->raw == NO_SIDE)
        return NAN;
    for (size_t i = 0; i < s->rounds; i++)
        values[i] = measure(row->measure, &s->blocks[row->muster][i]) / measure(row->measure, &s->blocks[row->raw][i]);
    return median_of(values, s->rounds);
}

static bool is_missed(const struct row *row, double ratio, double figure)
{
    double value = row->raw == NO_SIDE ? figure : ratio;
    return (row->goal == AT_LEAST && value < row->target) || (row->goal == AT_MOST && value > row->target);
}

/* "" without a goal. */
static const char *goal_text(const struct row *row, char out[TEXT])
{
    out[0] = '\0';
    if (row->goal != NO_GOAL)
        snprintf(out, TEXT, "%s %g", row->goal == AT_LEAST ? ">=" : "<=", row->target);
    return out;
}

/* ---- for programs ---- */

static void json_number(const char *name, double value)
{
    if (isfinite(value))
        printf(",\"%s\":%.6g", name, value);
    else
        printf(",\"%s\":null", name);
}

static void print_json(const struct row *row, double muster, double raw, double ratio, double cpu_us)
{
    char goal[TEXT];
    printf("{\"name\":\"%s\",\"unit\":\"%s\"", row->name, row->unit);
    json_number("muster", muster);
    json_number("raw", raw);
    json_number("ratio", ratio);
    if (row->goal == NO_GOAL)
        printf(",\"goal\":null");
    else
        printf(",\"goal\":\"%s\"", goal_text(row, goal));
    json_number("redis_cpu_us", cpu_us);
    puts("}");
}

/* ---- for people ---- */

static const char *short_number(double value, char out[TEXT])
{
    if (!isfinite(value))
        snprintf(out, TEXT, "-");
    else
        snprintf(out, TEXT, "%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
    return out;
}

static const char *range_text(const struct figure *f, char out[TEXT])
{
    char median[TEXT], min[TEXT], max[TEXT];
    if (!isfinite(f->median))
        return "-";
    snprintf(out, TEXT, "%.12s (%.10s-%.10s)", short_number(f->median, median), short_number(f->min, min),
             short_number(f->max, max));
    return out;
}

#define LINE "%-18s %-8s %-25s %-25s %6s  %-7s %7s %7s%s\n"

void report_head(void)
{
    puts("Medians (and extremes) of several rounds. The ratio is muster/raw. Redis' CPU is in us per task, of both "
         "sides.\n");
    printf(LINE, "row", "unit", "muster", "raw", "ratio", "goal", "cpu", "raw cpu", "");
}

bool report_row(const struct row *row, const struct samples *samples, enum report_format format)
{
    char texts[6][TEXT];
    struct figure muster = figure_of(samples, row->muster, row->measure);
    struct figure raw = figure_of(samples, row->raw, row->measure);
    double ratio = ratio_of(row, samples);
    double cpu_us = figure_of(samples, row->muster, CPU).median;
    double raw_cpu_us = figure_of(samples, row->raw, CPU).median;
    bool missed = is_missed(row, ratio, muster.median);
    if (format == REPORT_JSON)
        print_json(row, muster.median, raw.median, ratio, cpu_us);
    else
        printf(LINE, row->name, row->unit, range_text(&muster, texts[0]), range_text(&raw, texts[1]),
               short_number(ratio, texts[2]), goal_text(row, texts[3]), short_number(cpu_us, texts[4]),
               short_number(raw_cpu_us, texts[5]), missed ? " missed" : "");
    fflush(stdout);
    return missed;
}

void report_list(void)
{
    char goal[TEXT];
    for (size_t i = 0; i < n_rows; i++)
        printf("%-18s %-8s %-8s %s%s\n", rows[i].name, rows[i].unit, goal_text(&rows[i], goal), rows[i].what,
               rows[i].only_scale ? " (--scale)" : "");
}
