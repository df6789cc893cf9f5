/* SPDX-License-Identifier: MIT
 *
 * muster put --lines and --json-lines. Lines go in batches that are put all or none; under a request id all of them go
 * in one call, because only the library knows how it was split the last time.
 */
#include "put_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "complain.h"
#include "input.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "put_json.h"
#include "text.h"

#define WORDS_SIZE 1600
#define PUT_SIZE 160

struct lines {
    const struct call *call;
    enum put_lines_kind kind;
    struct muster_client *client;
    struct muster_job_put_options options;
    struct input in;
    uint64_t put, line; /* jobs that are put; the number of the last line that was read */
    uint64_t unconfirmed;
};

/* Lines that are put together. */
struct batch {
    struct put_json *jobs;
    const struct muster_job_spec **specs;
    uint64_t *lines; /* their numbers */
    size_t n, bytes;
    char (*ids)[MUSTER_JOB_ID_MAX + 1];
};

/* ---- what is told ---- */

/* How many jobs are put, with `after` behind that, and how many of them were not confirmed. */
static const char *say_put(const struct lines *l, char out[PUT_SIZE], const char *after)
{
    char jobs[TEXT_NUMBER_SIZE];
    int len = snprintf(out, PUT_SIZE, "%s put%s", text_number_of(jobs, l->put, "job was", "jobs were"), after);
    if (l->unconfirmed)
        snprintf(out + len, PUT_SIZE - (size_t)len, ", %" PRIu64 " of them unconfirmed", l->unconfirmed);
    return out;
}

/* The line's number, why it was refused, and how many jobs were put. */
static int report_line(const struct lines *l, uint64_t line, int err, const char *why)
{
    char words[WORDS_SIZE], put[PUT_SIZE];
    snprintf(words, sizeof words, "line %" PRIu64 ": %s; %s", line, why, say_put(l, put, ", of the lines before it"));
    return complain_tried(l->put > 0, complain_error(l->call, err, words));
}

static int report_call(const struct lines *l, int err)
{
    char words[WORDS_SIZE], put[PUT_SIZE];
    const char *again = l->options.request_id ? "; the same call with the same --request puts only what is missing"
                        : err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT ? ", and perhaps some of those after them"
                                                                          : "";
    if (err == MUSTER_E_EXISTS) { /* other jobs were put by this request: not "there already" */
        (void)complain_error(l->call, err, muster_client_error(l->client));
        return EXIT_FAILED;
    }
    say_put(l, put, "");
    if (err == MUSTER_E_STOPPED)
        return complain_stopped(l->call, "%s%s", put, again);
    snprintf(words, sizeof words, "%s; %s%s", muster_client_error(l->client), put, again);
    return complain_tried(l->put > 0, complain_error(l->call, err, words));
}

static int report_input(const struct lines *l)
{
    char put[PUT_SIZE];
    int error = errno;
    say_put(l, put, "");
    if (progress_is_stopped())
        return complain_stopped(l->call, "%s", put);
    complain_refusal(l->call, COMPLAIN_SYSTEM, "cannot read standard input: %s; %s", strerror(error), put);
    return EXIT_FAILED;
}

static int report_long(const struct lines *l)
{
    char why[96];
    snprintf(why, sizeof why, "it is longer than %zu MiB", MUSTER_TASK_MAX_DEFAULT >> 20);
    return report_line(l, l->line + 1, MUSTER_E_TOO_BIG, why);
}

/* ---- a batch ---- */

static void clear_batch(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        put_json_clear(&b->jobs[i]);
    b->n = b->bytes = 0;
}

static void free_batch(struct batch *b)
{
    clear_batch(b);
    free(b->jobs);
    free(b->specs);
    free(b->lines);
    free(b->ids);
}

static bool is_blank(struct muster_bytes line)
{
    const char *at = line.data;
    for (size_t i = 0; i < line.len; i++)
        if (!strchr(" \t\r", at[i]) || at[i] == '\0')
            return false;
    return true;
}

/* Adds the next line. A line of JSON that is blank is none. NULL, or why it is refused, to be freed. */
static char *add_line(struct lines *l, struct batch *b, struct muster_bytes line)
{
    struct put_json *j = &b->jobs[b->n];
    char *why = NULL;
    l->line++;
    if (l->kind == PUT_LINES_JSON && is_blank(line))
        return NULL;
    if (l->kind == PUT_LINES_DATA) {
        *j = (struct put_json){.object = NULL};
        put_read_spec(l->call, line, &j->spec);
    } else if (put_json_read(j, l->call, line, &why)) {
        put_json_clear(j);
        return why;
    }
    b->specs[b->n] = &j->spec.spec;
    b->lines[b->n++] = l->line;
    b->bytes += line.len;
    return NULL;
}

/* A line before has this id, too: so neither job need be there already. */
static bool is_twice(const struct batch *b, size_t at)
{
    size_t i = 0;
    while (i < at && strcmp(b->ids[i], b->ids[at]) != 0)
        i++;
    return i < at;
}

static int report_refused(const struct lines *l, const struct batch *b, size_t at, int err)
{
    int code = report_line(l, b->lines[at], err, muster_client_error(l->client));
    return err == MUSTER_E_EXISTS && is_twice(b, at) ? EXIT_FAILED : code;
}

static int put_batch(struct lines *l, struct batch *b);

/* Together they are more than Redis takes. Those before `from` are put. */
static int put_one_by_one(struct lines *l, const struct batch *b, size_t from)
{
    int code = EXIT_DONE;
    for (size_t i = from; i < b->n && !code; i++) {
        struct batch one = {.jobs = b->jobs + i, .specs = b->specs + i, .lines = b->lines + i, .n = 1, .ids = b->ids};
        code = put_batch(l, &one);
    }
    return code;
}

static int put_batch(struct lines *l, struct batch *b)
{
    size_t put = 0, refused = 0;
    l->options.ids = b->ids;
    l->options.refused = &refused;
    int err =
        b->n > 0 ? muster_job_put_many(l->client, l->call->operands[0], b->specs, b->n, &l->options, &put) : MUSTER_OK;
    for (size_t i = 0; i < put; i++)
        put_print(l->call, b->ids[i]);
    (void)out_flush(); /* who writes the lines may wait for them */
    l->put += put;
    l->unconfirmed += err == MUSTER_E_UNCONFIRMED ? put : 0;
    progress_show_part("jobs put", l->put, input_part(&l->in));
    if (err == MUSTER_E_TOO_BIG && refused == 0 && b->n > 1 && !l->options.request_id)
        return put_one_by_one(l, b, put);
    if (refused > 0)
        return report_refused(l, b, refused - 1, err);
    return err == MUSTER_OK || err == MUSTER_E_UNCONFIRMED ? EXIT_DONE : report_call(l, err);
}

/* ---- all lines ---- */

static void make_room(struct batch *b, size_t n)
{
    *b = (struct batch){
        .jobs = need(calloc(n, sizeof *b->jobs)),
        .specs = need(calloc(n, sizeof *b->specs)),
        .lines = need(calloc(n, sizeof *b->lines)),
        .ids = need(calloc(n, sizeof *b->ids)),
    };
}

/* Puts what comes before a line that is refused; of a request, nothing. Frees `why`. */
static int end_at_line(struct lines *l, struct batch *b, char *why)
{
    int code = l->options.request_id ? EXIT_DONE : put_batch(l, b);
    if (!code)
        code = report_line(l, l->line, MUSTER_E_INVALID, why);
    free(why);
    return code;
}

/* The lines that one read has brought. */
static int put_read(struct lines *l)
{
    struct batch b;
    size_t most = l->options.request_id && l->in.n > 0 ? l->in.n : MUSTER_JOB_PUT_ATOMIC_JOBS;
    size_t bytes = l->options.request_id ? SIZE_MAX : MUSTER_JOB_PUT_ATOMIC_BYTES;
    int code = EXIT_DONE;
    make_room(&b, most);
    for (size_t i = 0; i < l->in.n && !code; i++) {
        if (b.n == most || (b.n > 0 && b.bytes + l->in.tasks[i].len > bytes)) {
            code = put_batch(l, &b);
            clear_batch(&b);
        }
        if (!code && progress_is_stopped())
            code = report_call(l, MUSTER_E_STOPPED);
        char *why = code ? NULL : add_line(l, &b, l->in.tasks[i]);
        if (why)
            code = end_at_line(l, &b, why);
    }
    if (!code)
        code = put_batch(l, &b);
    free_batch(&b);
    return code;
}

/* What comes before a line that is too long; of a request, nothing. */
static int put_before_long(struct lines *l)
{
    int code = EXIT_DONE;
    if (l->options.request_id)
        l->line += l->in.n;
    else
        code = put_read(l);
    return code ? code : report_long(l);
}

static int put_input(struct lines *l)
{
    enum input_state state = INPUT_MORE;
    int code = EXIT_DONE;
    while (state == INPUT_MORE && !code) {
        state = input_next(&l->in);
        code = state == INPUT_FAILED ? report_input(l) : state == INPUT_TOO_LONG ? put_before_long(l) : put_read(l);
    }
    return code;
}

int put_lines(const struct call *call, enum put_lines_kind kind, const char *request)
{
    struct lines l = {.call = call, .kind = kind, .in = {.delimiter = '\n', .at_once = request != NULL}};
    l.options = (struct muster_job_put_options){.size = sizeof l.options, .request_id = request};
    int code = client_open(call, &l.client);
    if (code)
        return code;
    uint64_t waiting; /* if there is no Redis, this shows before any input is read */
    int err = muster_queue_length(l.client, call->operands[0], &waiting);
    if (err != MUSTER_OK)
        return client_close(call, l.client, err);
    progress_begin(call);
    muster_client_set_progress(l.client, progress_on_step, (void *)"jobs put");
    code = put_input(&l);
    if (!code && l.unconfirmed)
        code = report_call(&l, MUSTER_E_UNCONFIRMED);
    muster_client_set_progress(l.client, NULL, NULL);
    client_free(l.client);
    input_clear(&l.in);
    return code;
}
