/* SPDX-License-Identifier: MIT
 *
 * Reads a job's record by a table of its fields, which says where each goes.
 */
#include "protocol/job_record.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *muster_job_state_name(enum muster_job_state state)
{
    static const char *const names[] = {
#define STATE_NAME(state, name) [state] = (name),
        MUSTER_JOB_STATES(STATE_NAME)
#undef STATE_NAME
    };
    return (unsigned)state < MUSTER_JOB_STATE_COUNT ? names[state] : "unknown";
}

int muster_job_state_of(const char *name)
{
    for (int i = 0; name && i < MUSTER_JOB_STATE_COUNT; i++)
        if (strcmp(name, muster_job_state_name((enum muster_job_state)i)) == 0)
            return i;
    return -1;
}

const char *muster_overlap_name(enum muster_overlap overlap)
{
    static const char *const names[] = {
#define OVERLAP_NAME(overlap, name) [overlap] = (name),
        MUSTER_OVERLAPS(OVERLAP_NAME)
#undef OVERLAP_NAME
    };
    return overlap > MUSTER_OVERLAP_NONE && overlap < MUSTER_OVERLAP_COUNT ? names[overlap] : "unknown";
}

int muster_overlap_of(const char *name)
{
    for (int i = 1; name && i < MUSTER_OVERLAP_COUNT; i++)
        if (strcmp(name, muster_overlap_name((enum muster_overlap)i)) == 0)
            return i;
    return -1;
}

enum field_kind { FIELD_INT, FIELD_INT64, FIELD_UINT64, FIELD_TEXT, FIELD_BYTES };

struct field {
    const char *name;
    enum field_kind kind;
    size_t at;
};

#define IN_JOB(member) offsetof(struct muster_job, member)

/* `state`, `data`, `result`, `tags`, `backoff_kind`, `token`, `ticks`, `overlap` and `queued` are read separately. */
static const struct field fields[] = {
    {"queue", FIELD_TEXT, IN_JOB(queue)},
    {"priority", FIELD_INT, IN_JOB(priority)},
    {"retries", FIELD_INT, IN_JOB(retries)},
    {"retried", FIELD_INT, IN_JOB(retried)},
    {"crashes", FIELD_INT, IN_JOB(crashes)},
    {"tracked", FIELD_INT, IN_JOB(tracked)},
    {"unique", FIELD_INT, IN_JOB(unique)},
    {"backlog", FIELD_INT, IN_JOB(backlog)},
    {"put", FIELD_INT64, IN_JOB(put_at_ms)},
    {"since", FIELD_INT64, IN_JOB(since_ms)},
    {"due", FIELD_INT64, IN_JOB(due_at_ms)},
    {"limit", FIELD_INT64, IN_JOB(limit_ms)},
    {"every", FIELD_INT64, IN_JOB(every_ms)},
    {"backoff", FIELD_INT64, IN_JOB(backoff.delay_ms)},
    {"backoff_max", FIELD_INT64, IN_JOB(backoff.max_ms)},
    {"jitter", FIELD_INT, IN_JOB(backoff.jitter_percent)},
    {"made", FIELD_UINT64, IN_JOB(made)},
    {"worker", FIELD_TEXT, IN_JOB(worker)},
    {"key", FIELD_TEXT, IN_JOB(key)},
    {"group", FIELD_TEXT, IN_JOB(group)},
    {"message", FIELD_BYTES, IN_JOB(message)},
    {"cron", FIELD_TEXT, IN_JOB(cron)},
    {"zone", FIELD_TEXT, IN_JOB(zone)},
    {"from", FIELD_INT64, IN_JOB(from_ms)},
    {"until", FIELD_INT64, IN_JOB(until_ms)},
    {"count", FIELD_INT64, IN_JOB(count)},
    {"made_by", FIELD_TEXT, IN_JOB(made_by)},
};

/* A number that its field cannot hold is none. */
static int int_of(long long number)
{
    return number >= INT_MIN && number <= INT_MAX ? (int)number : 0;
}

static void put_field(struct muster_job *job, const struct field *field, const struct redisReply *value)
{
    void *at = (char *)job + field->at;
    uint64_t whole;
    switch (field->kind) {
    case FIELD_INT:
        *(int *)at = int_of(reply_number(value, 0));
        break;
    case FIELD_INT64:
        *(int64_t *)at = reply_number(value, 0);
        break;
    case FIELD_UINT64:
        *(uint64_t *)at = reply_number(value, 0) > 0 ? (uint64_t)reply_number(value, 0) : 0;
        break;
    case FIELD_TEXT:
        *(const char **)at = reply_text(value) ? reply_text(value) : "";
        break;
    case FIELD_BYTES:
        *(struct muster_bytes *)at = reply_head(value, &whole);
        break;
    }
}

/* Names that are kept in one text, with line feeds between them. */
static int read_lines(const char *text, char **copy, const char ***lines, size_t *n_lines)
{
    size_t n = 1;
    if (!text || !*text)
        return MUSTER_OK;
    for (const char *c = text; *c; c++)
        n += *c == '\n';
    *copy = strdup(text);
    *lines = calloc(n, sizeof **lines);
    if (!*copy || !*lines)
        return MUSTER_E_NOMEM;
    char *rest = *copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        (*lines)[(*n_lines)++] = line;
    return MUSTER_OK;
}

static int read_tags(struct job_record *out, const char *text)
{
    int err = read_lines(text, &out->tags_text, &out->tags, &out->job.n_tags);
    out->job.tags = out->tags;
    return err;
}

/* What a tab begins says what the job waited for. Where the names were cut, the last one may not be whole. */
static int read_parents(struct job_record *out, const struct redisReply *names)
{
    bool is_cut = reply_kind(names) == REPLY_LIST;
    int err = read_lines(reply_text(is_cut ? reply_at(names, 1) : names), &out->parents_text, &out->parents,
                         &out->job.n_parents);
    out->job.n_parents -= is_cut && out->job.n_parents > 0;
    out->job.parents = out->parents;
    for (size_t i = 0; err == MUSTER_OK && i < out->job.n_parents; i++) {
        char *tab = strchr(out->parents[i], '\t');
        if (tab)
            *tab = '\0';
    }
    return err;
}

/* Numbers with blanks between. */
static int read_ticks(struct job_record *out, const char *text)
{
    size_t n = 1;
    if (!text || !*text)
        return MUSTER_OK;
    for (const char *c = text; *c; c++)
        n += *c == ' ';
    out->ticks = calloc(n, sizeof *out->ticks);
    if (!out->ticks)
        return MUSTER_E_NOMEM;
    char *end;
    for (int64_t tick; (tick = strtoll(text, &end, 10)) > 0 && end != text && out->job.n_ticks < n; text = end)
        out->ticks[out->job.n_ticks++] = tick;
    out->job.ticks = out->ticks;
    return MUSTER_OK;
}

static int read_recurring(struct job_record *out, const struct redisReply *flat)
{
    int overlap = muster_overlap_of(reply_text(reply_field(flat, "overlap")));
    out->job.overlap = overlap > 0 ? (enum muster_overlap)overlap : MUSTER_OVERLAP_ALLOW;
    out->job.queued = reply_field(flat, "queued") != NULL;
    return read_ticks(out, reply_text(reply_field(flat, "ticks")));
}

static void name_process(struct job_record *out, const char *worker, const char *token, const char *queue)
{
    process_name_format(out->process, worker, token, queue);
    out->job.process = out->process;
}

/* A record without a backoff has the default one. A unique task is retried as its handlers say, like any task. */
static void read_backoff(struct muster_job *job, const struct redisReply *flat)
{
    job->backoff.exponential = reply_is(reply_field(flat, "backoff_kind"), "exponential");
    if (!job->unique && !reply_field(flat, "backoff"))
        job->backoff = (struct muster_backoff){.delay_ms = MUSTER_JOB_BACKOFF_DEFAULT_MS,
                                               .max_ms = MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS,
                                               .exponential = 1,
                                               .jitter_percent = MUSTER_JOB_BACKOFF_DEFAULT_JITTER};
}

int job_record_read(struct job_record *out, const char *id, const struct redisReply *flat)
{
    *out = (struct job_record){
        .job = {.id = id, .queue = "", .worker = "", .process = "", .group = "", .batch = "", .holder = ""}};
    out->job.cron = out->job.zone = out->job.made_by = out->job.key = "";
    int state = muster_job_state_of(reply_text(reply_field(flat, "state")));
    if (state < 0)
        return MUSTER_E_REDIS;
    out->job.state = (enum muster_job_state)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct redisReply *value = reply_field(flat, fields[i].name);
        if (value)
            put_field(&out->job, &fields[i], value);
    }
    out->job.data = reply_head(reply_field(flat, "data"), &out->job.whole_len);
    out->job.result = reply_head(reply_field(flat, "result"), &out->job.whole_result_len);
    out->is_suspect = reply_is(reply_field(flat, "suspect"), "1");
    read_backoff(&out->job, flat);
    const char *batch = reply_text(reply_field(flat, "batch"));
    out->job.batch = batch && strlen(batch) > TOKEN_LEN ? batch + TOKEN_LEN : "";
    const char *token = reply_text(reply_field(flat, "token"));
    if (state == MUSTER_JOB_RUNNING && token && strlen(token) == TOKEN_LEN &&
        strlen(out->job.worker) <= MUSTER_WORKER_ID_MAX && strlen(out->job.queue) <= MUSTER_QUEUE_MAX)
        name_process(out, out->job.worker, token, out->job.queue);
    int err = read_tags(out, reply_text(reply_field(flat, "tags")));
    if (err == MUSTER_OK)
        err = read_parents(out, reply_field(flat, "parents"));
    if (err == MUSTER_OK)
        err = read_recurring(out, flat);
    if (err != MUSTER_OK)
        job_record_clear(out);
    return err;
}

/* ---- copying ---- */

/* The length with the NUL. */
static size_t text_size(const char *text)
{
    return strlen(text) + 1;
}

static const char *copy_text(char **at, const char *text)
{
    char *copy = memcpy(*at, text, text_size(text));
    *at += text_size(text);
    return copy;
}

static struct muster_bytes copy_bytes(char **at, struct muster_bytes bytes)
{
    char *copy = *at;
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    *at += bytes.len + 1;
    return (struct muster_bytes){bytes.data ? copy : NULL, bytes.len};
}

static int own(struct job_record *record, const char *worker)
{
    struct muster_job *job = &record->job;
    record->copy = malloc(text_size(job->id) + text_size(job->queue) + text_size(worker) + text_size(job->group) +
                          text_size(job->batch) + text_size(job->made_by) + text_size(job->key) + job->data.len +
                          job->message.len + job->result.len + 3);
    if (!record->copy)
        return MUSTER_E_NOMEM;
    char *at = record->copy;
    job->id = copy_text(&at, job->id);
    job->queue = copy_text(&at, job->queue);
    job->worker = copy_text(&at, worker);
    job->group = copy_text(&at, job->group);
    job->batch = copy_text(&at, job->batch);
    job->made_by = copy_text(&at, job->made_by);
    job->cron = job->zone = ""; /* it does not recur, or it would not run */
    job->key = copy_text(&at, job->key);
    job->data = copy_bytes(&at, job->data);
    job->message = copy_bytes(&at, job->message);
    job->result = copy_bytes(&at, job->result);
    return MUSTER_OK;
}

/* What another server says may be any number. */
static int64_t span_ms(int64_t from_ms, int64_t to_ms)
{
    return from_ms >= 0 && from_ms < to_ms ? to_ms - from_ms : 0;
}

/* A record from before the take tells since when the job waits. One that was fetched after it tells that no more, but
 * its place was drawn when it came to wait. */
static int64_t waited_ms(const struct muster_job *job, const struct redisReply *flat, uint64_t token)
{
    const char *place = reply_text(reply_field(flat, "place"));
    uint64_t number = 0;
    if (job->state == MUSTER_JOB_WAITING)
        return span_ms(job->since_ms, token_at_ms(token));
    if (place && token_parse(place, strlen(place), &number) == MUSTER_OK)
        return span_ms(token_at_ms(number), job->since_ms);
    return 0;
}

int job_record_take(struct job_record *out, const char *id, const struct redisReply *flat, const char *worker,
                    const char *token, const char *queue)
{
    int err = job_record_read(out, id, flat);
    if (err != MUSTER_OK)
        return err;
    err = own(out, worker);
    if (err != MUSTER_OK) {
        job_record_clear(out);
        return err;
    }
    uint64_t number = 0;
    token_parse(token, strlen(token), &number);
    out->waited_ms = waited_ms(&out->job, flat, number);
    out->job.state = MUSTER_JOB_RUNNING;
    out->job.since_ms = token_at_ms(number);
    out->job.due_at_ms = 0;
    name_process(out, worker, token, queue);
    return MUSTER_OK;
}

void job_record_clear(struct job_record *record)
{
    free(record->copy);
    free(record->tags_text);
    free(record->tags);
    free(record->ticks);
    free(record->parents_text);
    free(record->parents);
    *record = (struct job_record){0};
}
