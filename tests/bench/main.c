/* SPDX-License-Identifier: MIT
 *
 * muster-bench: muster compared with the cheapest way of doing the same work with hiredis alone. This file has its
 * command line, and decides which rows are run. People call it by `muster bench`.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <muster/client.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include "place.h"
#include "raw.h"
#include "report.h"
#include "runner.h"

#define USAGE 2
#define PICKED_MAX 64

struct options {
    const char *url, *prefix, *picked[PICKED_MAX];
    size_t n_picked;
    enum report_format format;
    bool with_scale, list;
    double seconds;
};

static struct place place;

/* ---- how far it is ---- */

/* `told` is written in full before it is needed: a signal may come at any time. */
static struct {
    size_t done, total;
    time_t begun;
    char told[80];
} far;

static void note_done(size_t n)
{
    char told[sizeof far.told];
    far.done += n;
    int len =
        snprintf(told, sizeof told, "muster-bench: interrupted; %zu of %zu rows were measured\n", far.done, far.total);
    memcpy(far.told, told, (size_t)len + 1);
}

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static void show_row(const char *name)
{
    if (!is_terminal())
        return;
    fprintf(stderr, "\r%s: %zu of %zu rows done", name, far.done, far.total);
    if (far.done > 0)
        fprintf(stderr, ", about %.0f s left",
                difftime(time(NULL), far.begun) / (double)far.done * (double)(far.total - far.done));
    fputs("\033[K", stderr);
}

static void hide_row(void)
{
    if (is_terminal())
        fputs("\r\033[K", stderr);
}

/* ---- the end ---- */

static void clean_up(void)
{
    if (getpid() != place.owner)
        return;
    child_kill_all();
    place_close(&place);
}

static void on_signal(int signo)
{
    if (getpid() == place.owner && far.told[0])
        (void)!write(STDERR_FILENO, far.told, strlen(far.told));
    clean_up();
    _exit(128 + signo);
}

static void set_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- rows ---- */

static bool is_picked(const struct options *o, const struct row *row)
{
    for (size_t i = 0; i < o->n_picked; i++)
        if (strcmp(o->picked[i], row->name) == 0)
            return true;
    return o->n_picked == 0 && (o->with_scale || !row->only_scale);
}

/* Whether the row can be run on this server. Says so if not. */
static bool is_possible(const struct row *row)
{
    const char *why = row->experiment->with_tls ? place_add_tls(&place) : NULL;
    if (!why && row->experiment->over_tcp && !place.url_tcp[0])
        why = "it is for Redis servers of its own";
    if (why)
        fprintf(stderr, "muster-bench: %s is left out: %s\n", row->name, why);
    return !why;
}

/* Runs the experiment of the rows from `from` to `to`, if one of them is picked. Returns how many goals were missed. */
static int run_rows(const struct options *o, size_t from, size_t to)
{
    static struct samples samples;
    int missed = 0;
    bool has_run = false;
    for (size_t i = from; i < to; i++) {
        if (!is_picked(o, &rows[i]) || !is_possible(&rows[i]))
            continue;
        if (!has_run) {
            show_row(rows[i].name);
            runner_run(rows[i].experiment, &place, o->seconds, &samples);
            hide_row();
        }
        has_run = true;
        missed += report_row(&rows[i], &samples, o->format);
        note_done(1);
    }
    return missed;
}

static void run_all(const struct options *o)
{
    int missed = 0;
#ifndef __OPTIMIZE__
    fputs("muster-bench: built without optimisation: the figures say little\n", stderr);
#endif
    for (size_t i = 0; i < n_rows; i++)
        far.total += is_picked(o, &rows[i]);
    far.begun = time(NULL);
    note_done(0);
    if (o->format == REPORT_TABLE)
        report_head();
    for (size_t from = 0, to = 0; from < n_rows; from = to) {
        while (to < n_rows && rows[to].experiment == rows[from].experiment)
            to++;
        missed += run_rows(o, from, to);
    }
    if (o->format == REPORT_TABLE)
        printf("\n%d goal%s missed\n", missed, missed == 1 ? " was" : "s were");
}

/* ---- the command line ---- */

static int usage(void)
{
    fputs(
        "muster-bench: usage: muster-bench [--url URL] [--prefix NAME] [--json] [--scale] [--seconds N] [--timeout MS]"
        " [--row NAME]... | --list\n",
        stderr);
    return USAGE;
}

static bool is_row(const char *name)
{
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

static int pick(struct options *o, const char *name)
{
    if (!is_row(name)) {
        fprintf(stderr, "muster-bench: there is no row '%s'; --list names them\n", name);
        return USAGE;
    }
    if (o->n_picked == PICKED_MAX)
        return usage();
    o->picked[o->n_picked++] = name;
    return 0;
}

static int parse_seconds(struct options *o, const char *text)
{
    char *end;
    o->seconds = strtod(text, &end);
    return *text && !*end && o->seconds > 0 && o->seconds <= 3600 ? 0 : usage();
}

static int parse_timeout(const char *text)
{
    char *end;
    long ms = strtol(text, &end, 10);
    if (!*text || *end || ms < 1 || ms > INT_MAX)
        return usage();
    raw_set_timeout((int)ms);
    return 0;
}

static int parse(struct options *o, int argc, char **argv)
{
    static const struct option known[] = {
        {"url", 1, NULL, 'u'},     {"prefix", 1, NULL, 'p'}, {"json", 0, NULL, 'j'},
        {"scale", 0, NULL, 's'},   {"row", 1, NULL, 'r'},    {"seconds", 1, NULL, 't'},
        {"timeout", 1, NULL, 'w'}, {"list", 0, NULL, 'l'},   {NULL, 0, NULL, 0}};
    int err = 0;
    for (int c; err == 0 && (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (c) {
        case 'u':
            o->url = optarg;
            break;
        case 'p':
            o->prefix = optarg;
            break;
        case 'j':
            o->format = REPORT_JSON;
            break;
        case 's':
            o->with_scale = true;
            break;
        case 'r':
            err = pick(o, optarg);
            break;
        case 't':
            err = parse_seconds(o, optarg);
            break;
        case 'w':
            err = parse_timeout(optarg);
            break;
        case 'l':
            o->list = true;
            break;
        default:
            return usage();
        }
    return err ? err : optind < argc ? usage() : 0;
}

static int check(const struct options *o)
{
    const char *why = o->url ? muster_url_check(o->url) : NULL;
    if (!why)
        why = muster_prefix_check(o->prefix);
    if (why)
        fprintf(stderr, "muster-bench: %s\n", why);
    return why ? USAGE : 0;
}

int main(int argc, char **argv)
{
    struct options o = {.url = getenv("MUSTER_URL"), .prefix = getenv("MUSTER_PREFIX")};
    if (!o.prefix)
        o.prefix = "muster";
    int err = parse(&o, argc, argv);
    if (!err)
        err = check(&o);
    if (err)
        return err;
    if (o.list) {
        report_list();
        if (fflush(stdout) == 0 && !ferror(stdout))
            return 0;
        fprintf(stderr, "muster-bench: cannot write standard output: %s\n", strerror(errno));
        return 1;
    }
    atexit(clean_up);
    set_signals();
    place_open(&place, o.url, o.prefix);
    run_all(&o);
    return 0;
}
