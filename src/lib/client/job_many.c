/* SPDX-License-Identifier: MIT
 *
 * Putting many jobs: all of them in one script, or in chunks, one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "client/client.h"
#include "client/full.h"
#include "client/job_cron.h"
#include "protocol/job_put.h"
#include "protocol/job_say.h"
#include "protocol/job_spec.h"
#include "protocol/script_job.h"

/* More than MUSTER_JOB_PUT_ATOMIC_... go in chunks of at most this much. */
#define CHUNK_JOBS 100
#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNK_NAMES 1000

/* A job of the call: the library's own copy of its spec, and its id. */
struct row {
    struct muster_job_spec spec;
    const char *id;
    struct cron_ticks *ticks; /* NULL, or the first ones of its schedule */
};

struct many {
    struct muster_client *c;
    const char *queue;
    const char *request_id; /* NULL: none */
    char (*ids)[MUSTER_JOB_ID_MAX + 1];
    bool owns_ids;
    struct row *rows;
    size_t n;
    size_t done;    /* so many jobs are put: the first ones */
    size_t refused; /* which one was refused, from 1; 0: none in particular */
};

/* ---- before anything is sent ---- */

static int refuse_row(struct many *m, int err, size_t i, const char *why)
{
    const struct row *r = &m->rows[i];
    m->refused = i + 1;
    redis_error_set(m->c->redis, "job %zu of %zu%s%s%s: %s; nothing was put", i + 1, m->n, r->id ? " ('" : "",
                    r->id ? r->id : "", r->id ? "')" : "", why);
    return err;
}

static int name_row(struct many *m, size_t i)
{
    struct row *r = &m->rows[i];
    char *id = m->ids[i];
    int len = 0;
    if (r->spec.id)
        len = snprintf(id, sizeof m->ids[i], "%s", r->spec.id);
    else if (m->request_id) /* the same when it is sent again */
        len = snprintf(id, sizeof m->ids[i], "%s:%zu", m->request_id, i + 1);
    else
        job_put_make_id(id);
    r->id = id;
    if (len <= MUSTER_JOB_ID_MAX)
        return MUSTER_OK;
    *id = '\0';
    return refuse_row(m, MUSTER_E_INVALID, i, "the request id is too long to name jobs that have no id");
}

static int read_row(struct many *m, size_t i, const struct muster_job_spec *spec)
{
    struct row *r = &m->rows[i];
    const char *why = sized_read(SIZED_JOB_SPEC, &r->spec, spec);
    if (why)
        return refuse_row(m, MUSTER_E_INVALID, i, why);
    int err = job_spec_check(&r->spec, m->c->max_task_len, &why);
    if (err != MUSTER_OK) {
        r->id = r->spec.id && !muster_job_id_check(r->spec.id) ? r->spec.id : NULL;
        return refuse_row(m, err, i, why);
    }
    if (r->spec.cron && m->request_id) /* its ticks would be other content when it is sent again */
        return refuse_row(m, MUSTER_E_INVALID, i,
                          "a job with a schedule is put without a request id: with an id of its own it is put once");
    return name_row(m, i);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *const *one = a, *const *other = b;
    int order = strcmp((*one)->id, (*other)->id);
    return order != 0 ? order : *one < *other ? -1 : 1;
}

/* The second job of an id would find the first one alive. Here it is seen before the first chunk is put. */
static int find_twice(struct many *m)
{
    const struct row **sorted = calloc(m->n, sizeof *sorted);
    int err = sorted ? MUSTER_OK : MUSTER_E_NOMEM;
    for (size_t i = 0; sorted && i < m->n; i++)
        sorted[i] = &m->rows[i];
    if (sorted)
        qsort(sorted, m->n, sizeof *sorted, compare_rows);
    for (size_t i = 1; err == MUSTER_OK && i < m->n; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            err = refuse_row(m, MUSTER_E_EXISTS, (size_t)(sorted[i] - m->rows), "the id is another job's of this call");
    free(sorted);
    return err;
}

static int begin(struct many *m, const struct muster_job_spec *const *specs, char (*ids)[MUSTER_JOB_ID_MAX + 1])
{
    m->owns_ids = !ids;
    m->ids = ids ? ids : calloc(m->n, sizeof *m->ids);
    m->rows = calloc(m->n, sizeof *m->rows);
    if (!m->ids || !m->rows)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < m->n; i++)
        *m->ids[i] = '\0';
    int err = client_check_queue(m->c, m->queue);
    if (err == MUSTER_OK && m->request_id && muster_queue_check(m->request_id))
        err = client_refuse(m->c, "a request id has 1 to 200 bytes and no control characters");
    for (size_t i = 0; err == MUSTER_OK && i < m->n; i++)
        err = read_row(m, i, specs ? specs[i] : NULL);
    return err == MUSTER_OK ? find_twice(m) : err;
}

static void end(struct many *m)
{
    if (m->owns_ids)
        free(m->ids);
    for (size_t i = 0; m->rows && i < m->n; i++)
        free(m->rows[i].ticks);
    free(m->rows);
}

/* Nothing is sent but the question what time it is. */
static int find_ticks(struct many *m)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < m->n; i++) {
        struct row *r = &m->rows[i];
        if (!r->spec.cron)
            continue;
        const char *why = NULL;
        r->ticks = malloc(sizeof *r->ticks);
        err = r->ticks ? job_cron_ticks(m->c, &r->spec, r->ticks, &why) : MUSTER_E_NOMEM;
        if (why)
            err = refuse_row(m, err, i, why);
    }
    return err;
}

/* ---- chunks ---- */

struct size {
    size_t jobs, bytes, names;
};

/* How many jobs from `from` on fit; at least one. */
static size_t fit(const struct many *m, size_t from, struct size most)
{
    struct size sum = {0};
    size_t i = from;
    for (; i < m->n; i++) {
        const struct muster_job_spec *s = &m->rows[i].spec;
        sum.jobs++;
        sum.bytes += s->data.len;
        sum.names += s->n_tags + s->n_after + s->n_after_end + s->n_after_failure;
        if (i > from && (sum.jobs > most.jobs || sum.bytes > most.bytes || sum.names > most.names))
            break;
    }
    return i - from;
}

static const char *say_too_large(const struct many *m)
{
    return words_say("its data of %zu bytes: %s", m->rows[m->done].spec.data.len, redis_error(m->c->redis));
}

/* Says which job of the next `n` was refused, where more than one might be meant, and how many are put. */
static int say_where(struct many *m, size_t n, int err, const struct redisReply *reply)
{
    char words[1024];
    bool is_alone = err == MUSTER_E_TOO_BIG && !reply && n == 1; /* its size: Redis has answered nothing */
    const uint64_t number = is_alone ? 1 : reply_count(reply_at(reply, 3));
    const char *id = number > 0 && number <= n ? m->rows[m->done + number - 1].id : NULL;
    m->refused = id ? m->done + number : 0;
    if (id)
        client_say(m->c, is_alone ? say_too_large(m) : job_say_refusal(err, id, reply));
    else if (err == MUSTER_E_EXISTS)
        redis_error_set(m->c->redis, "the request '%s' had other content before; nothing was put", m->request_id);
    snprintf(words, sizeof words, "%s", redis_error(m->c->redis));
    const char *lack = m->c->confirmed.err == MUSTER_OK ? "" : ", not all of them confirmed";
    if (id && m->done > 0)
        redis_error_set(m->c->redis, "job %zu of %zu: %s from job %zu on; the %zu before it are put%s", m->refused,
                        m->n, words, m->done + 1, m->done, lack);
    else if (id && m->n > 1)
        redis_error_set(m->c->redis, "job %zu of %zu: %s", m->refused, m->n, words);
    else if (m->done > 0)
        redis_error_set(m->c->redis, "%s; the first %zu of %zu jobs are put%s", words, m->done, m->n, lack);
    return err;
}

static int put_chunk(struct many *m, size_t n, uint64_t chunk)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    bool asks = redis_confirms(m->c->redis) && m->c->confirmed.err == MUSTER_OK;
    job_put_begin(&command, &m->c->root, m->queue);
    if (m->request_id) {
        script_put_said(&command, "request", (struct muster_bytes){m->request_id, strlen(m->request_id)});
        script_put_number(&command, "chunk", (int64_t)chunk);
        script_put_number(&command, "of", (int64_t)m->n);
    }
    for (size_t i = m->done; i < m->done + n; i++)
        job_put_add(&command, &m->rows[i].spec, m->rows[i].id, m->rows[i].ticks);
    int err = asks ? full_explain(m->c, client_run_confirmed(m->c, &command, REDIS_WAKES_NOBODY, &reply))
                   : client_run(m->c, &command, &reply);
    if (err != MUSTER_OK)
        err = say_where(m, n, err, reply);
    redis_reply_free(reply);
    m->done += err == MUSTER_OK ? n : 0;
    return err;
}

static int put_all(struct many *m)
{
    const struct size atomic = {MUSTER_JOB_PUT_ATOMIC_JOBS, MUSTER_JOB_PUT_ATOMIC_BYTES, MUSTER_JOB_PUT_ATOMIC_NAMES};
    const struct size chunk = {CHUNK_JOBS, CHUNK_BYTES, CHUNK_NAMES};
    bool is_atomic = fit(m, 0, atomic) == m->n;
    int err = client_begin_adding(m->c);
    for (uint64_t number = 1; err == MUSTER_OK && m->done < m->n; number++) {
        if (m->done > 0)
            err = client_step(m->c, m->done, m->n);
        if (err == MUSTER_OK)
            err = put_chunk(m, is_atomic ? m->n : fit(m, m->done, chunk), number);
    }
    return err == MUSTER_OK ? client_confirmed(m->c) : err;
}

int muster_job_put_many(struct muster_client *c, const char *queue, const struct muster_job_spec *const *specs,
                        size_t n, const struct muster_job_put_options *options, size_t *put)
{
    struct muster_job_put_options o;
    if (put)
        *put = 0;
    int err = client_read(c, SIZED_JOB_PUT_OPTIONS, &o, options);
    struct many m = {.c = c, .queue = queue, .request_id = o.request_id, .n = n};
    if (o.refused)
        *o.refused = 0;
    if (err == MUSTER_OK && n == 0)
        return client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = begin(&m, specs, o.ids);
    if (err == MUSTER_OK)
        err = find_ticks(&m);
    if (err == MUSTER_OK)
        err = put_all(&m);
    if (put)
        *put = m.done;
    if (o.refused)
        *o.refused = m.refused;
    end(&m);
    return err;
}
