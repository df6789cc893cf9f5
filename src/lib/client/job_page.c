/* SPDX-License-Identifier: MIT
 *
 * Reads jobs' records from Redis.
 */
#include "client/job_page.h"

#include <stdlib.h>
#include <string.h>

#include "client/heads.h"
#include "client/job_history.h"
#include "client/page.h"
#include "protocol/process_name.h"

/* MUSTER_JOB_BEFORE_MAX: any number may wait, and together their names may be more than Redis sends. */
#define NAMES_LAST "300"
_Static_assert(MUSTER_JOB_BEFORE_MAX == 300, "NAMES_LAST");
/* And so may the lines of a history, which are at most so long as MUSTER_JOB_LOG_MAX. */
#define LINES_LAST "99"
_Static_assert(JOB_HISTORY_NEWEST == 99, "LINES_LAST");

static int append_row(struct muster_client *c, const char *id, size_t from, size_t n_parts)
{
    static const struct {
        const char *command;
        enum key key;
        const char *more[2];
    } parts[JOB_PARTS] = {
        [JOB_RECORD] = {"HGETALL", KEY_JOB, {NULL}},
        [JOB_FIRST_LINE] = {"LRANGE", KEY_HISTORY, {"0", "0"}},
        [JOB_HISTORY] = {"LRANGE", KEY_HISTORY, {"-" LINES_LAST, "-1"}},
        [JOB_N_HISTORY] = {"LLEN", KEY_HISTORY, {NULL}},
        [JOB_AFTER] = {"SMEMBERS", KEY_DEPENDENCIES, {NULL}},
        [JOB_BEFORE] = {"ZRANGE", KEY_DEPENDENTS, {"0", NAMES_LAST}},
        [JOB_FOLLOWERS] = {"ZRANGE", KEY_FOLLOWERS, {"0", NAMES_LAST}},
        [JOB_N_BEFORE] = {"ZCARD", KEY_DEPENDENTS, {NULL}},
        [JOB_N_FOLLOWERS] = {"ZCARD", KEY_FOLLOWERS, {NULL}},
    };
    int err = MUSTER_OK;
    for (size_t i = from; err == MUSTER_OK && i < n_parts; i++) {
        char key[KEY_MAX];
        key_of(key, c->prefix, parts[i].key, id);
        err = client_append(c, (const char *const[]){parts[i].command, key, parts[i].more[0], parts[i].more[1], NULL});
    }
    return err;
}

/* ---- lists of texts ---- */

/* Splits the name of what a job waits for, or of who waits, in place: its id is left. */
static int split_name(char *name)
{
    char *kind = strchr(name, '\n');
    if (!kind)
        return UNTIL_COMPLETE;
    *kind = '\0';
    return kind[1] == 'f' ? UNTIL_FAILED : UNTIL_ENDED;
}

/* A copy of a name at `*to`, which moves on. NULL: it is no name. */
static char *next_name(const struct redisReply *name, char **to)
{
    struct muster_bytes bytes = reply_bytes(name);
    char *copy = *to;
    if (!bytes.data || memchr(bytes.data, '\0', bytes.len))
        return NULL; /* none that muster writes */
    memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    *to += bytes.len + 1;
    return copy;
}

static size_t size_of_names(const struct redisReply *list)
{
    size_t size = 0;
    for (size_t i = 0; i < reply_len(list); i++)
        size += reply_bytes(reply_at(list, i)).len + 1;
    return size;
}

static int make_lists(struct job_page_row *row, size_t n_after, size_t n_before, size_t size)
{
    bool is_made = (row->names_text = malloc(size + 1)) != NULL;
    for (int way = 0; way < WAYS; way++)
        is_made &= (row->after[way] = calloc(n_after + 1, sizeof *row->after[way])) != NULL;
    is_made &= (row->before = calloc(n_before + 1, sizeof *row->before)) != NULL;
    return is_made ? MUSTER_OK : MUSTER_E_NOMEM;
}

static int read_names(struct job_page_row *row)
{
    struct muster_job *job = &row->record.job;
    const struct redisReply *after = row->parts[JOB_AFTER];
    const struct redisReply *const befores[] = {row->parts[JOB_BEFORE], row->parts[JOB_FOLLOWERS]};
    size_t n[WAYS] = {0}, n_before = reply_len(befores[0]) + reply_len(befores[1]);
    int err = make_lists(row, reply_len(after), n_before,
                         size_of_names(after) + size_of_names(befores[0]) + size_of_names(befores[1]));
    if (err != MUSTER_OK)
        return err;
    char *to = row->names_text, *name;
    for (size_t i = 0; i < reply_len(after); i++) {
        int way = (name = next_name(reply_at(after, i), &to)) ? split_name(name) : WAYS;
        if (way < WAYS)
            row->after[way][n[way]++] = name;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < reply_len(befores[k]) && job->n_before < MUSTER_JOB_BEFORE_MAX; i++)
            if ((name = next_name(reply_at(befores[k], i), &to)) && split_name(name) < WAYS)
                row->before[job->n_before++] = name;
    job->after = row->after[UNTIL_COMPLETE], job->n_after = n[UNTIL_COMPLETE];
    job->after_end = row->after[UNTIL_ENDED], job->n_after_end = n[UNTIL_ENDED];
    job->after_failure = row->after[UNTIL_FAILED], job->n_after_failure = n[UNTIL_FAILED];
    job->before = row->before;
    job->whole_before = reply_count(row->parts[JOB_N_BEFORE]) + reply_count(row->parts[JOB_N_FOLLOWERS]);
    if (job->whole_before < job->n_before) /* they have changed in between */
        job->whole_before = job->n_before;
    return MUSTER_OK;
}

/* ---- records ---- */

/* MUSTER_OK or E_NOMEM. What is wrong with the record itself is the row's error. */
static int read_row(struct job_page_row *row)
{
    const struct redisReply *record = row->parts[JOB_RECORD];
    row->err = record && reply_len(record) == 0 ? MUSTER_E_NOT_FOUND : job_record_read(&row->record, row->id, record);
    if (row->err != MUSTER_OK)
        return row->err == MUSTER_E_NOMEM ? MUSTER_E_NOMEM : MUSTER_OK;
    int err = job_history_read(row);
    return err == MUSTER_OK ? read_names(row) : err;
}

static bool is_running(const struct job_page_row *row)
{
    return row->err == MUSTER_OK && *row->record.job.process;
}

static int append_marks(struct muster_client *c, const struct job_page_row *row)
{
    struct process_name name;
    char key[KEY_MAX];
    if (process_name_parse(&name, row->record.job.process))
        *name.worker = *name.token = '\0';
    key_of(key, c->prefix, KEY_MARKS, name.worker);
    int err = client_append(c, (const char *const[]){"HEXISTS", key, name.token, NULL});
    key_of(key, c->prefix, KEY_HOLDERS, row->record.job.queue);
    return err == MUSTER_OK ? client_append(c, (const char *const[]){"HGET", key, name.token, NULL}) : err;
}

/* Which of the running jobs are marked as cancelled? The keys of their holders tell. And who has which lease? */
static int read_marks(struct muster_client *c, struct job_page *page)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        if (is_running(&page->rows[i]))
            err = append_marks(c, &page->rows[i]);
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++) {
        struct job_page_row *row = &page->rows[i];
        struct redisReply *marks[2] = {NULL};
        if (!is_running(row))
            continue;
        err = page_read_parts(c, row->id, marks, 2);
        row->record.job.cancelled = reply_integer(marks[0]) == 1;
        row->record.job.holder = reply_text(marks[1]) ? reply_text(marks[1]) : "";
        row->holder = marks[1];
        redis_reply_free(marks[0]);
    }
    return err;
}

/* ---- what a job waits for in vain ---- */

/* Has it a list of what it waits for, or is it to be asked for? */
static bool depends(const struct job_page_row *row)
{
    return row->err == MUSTER_OK && row->record.job.state == MUSTER_JOB_DEPENDS;
}

static int read_dependencies(struct muster_client *c, struct job_page *page)
{
    int err = MUSTER_OK;
    char key[KEY_MAX];
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        if (depends(&page->rows[i])) {
            key_of(key, c->prefix, KEY_DEPENDENCIES, page->rows[i].id);
            err = client_append(c, (const char *const[]){"SMEMBERS", key, NULL});
        }
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        err = depends(&page->rows[i]) ? page_read_parts(c, page->rows[i].id, &page->rows[i].parts[JOB_AFTER], 1)
                                      : MUSTER_OK;
    return err;
}

/* The i-th job that it waits for until it is complete; NULL: it waits for another end of it. */
static const char *awaited(const struct job_page_row *row, size_t i)
{
    const char *name = reply_text(reply_at(row->parts[JOB_AFTER], i));
    return name && !strchr(name, '\n') && !muster_job_id_check(name) ? name : NULL;
}

static size_t n_awaited(const struct job_page_row *row)
{
    return depends(row) ? reply_len(row->parts[JOB_AFTER]) : 0;
}

static int append_states(struct muster_client *c, const struct job_page_row *row)
{
    int err = MUSTER_OK;
    char key[KEY_MAX];
    for (size_t i = 0; i < n_awaited(row) && err == MUSTER_OK; i++)
        if (awaited(row, i)) {
            key_of(key, c->prefix, KEY_JOB, awaited(row, i));
            err = client_append(c, (const char *const[]){"HGET", key, "state", NULL});
        }
    return err;
}

/* Before anything is asked: from there on the answers must be read. */
static int make_blocked_by(struct job_page *page)
{
    for (size_t i = 0; i < page->n; i++) {
        struct job_page_row *row = &page->rows[i];
        row->blocked_by = calloc(n_awaited(row) + 1, sizeof *row->blocked_by);
        row->record.job.blocked_by = row->blocked_by;
        if (!row->blocked_by)
            return MUSTER_E_NOMEM;
    }
    return MUSTER_OK;
}

static int read_states(struct muster_client *c, struct job_page_row *row)
{
    struct muster_job *job = &row->record.job;
    const size_t n = n_awaited(row);
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct redisReply *state = NULL;
        err = awaited(row, i) ? page_read_parts(c, row->id, &state, 1) : MUSTER_OK;
        if (reply_is(state, muster_job_state_name(MUSTER_JOB_FAILED)))
            row->blocked_by[job->n_blocked_by++] = awaited(row, i);
        redis_reply_free(state);
    }
    return err;
}

static int read_blocked_by(struct muster_client *c, struct job_page *page, enum job_page_parts parts)
{
    int err = parts == WITH_LISTS ? MUSTER_OK : read_dependencies(c, page);
    if (err == MUSTER_OK)
        err = make_blocked_by(page);
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        err = append_states(c, &page->rows[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        err = read_states(c, &page->rows[i]);
    return err;
}

/* ---- the page ---- */

static int read_heads(struct muster_client *c, struct job_page_row *rows, size_t n, size_t most)
{
    const char *ids[JOB_PAGE] = {NULL};
    struct redisReply *records[JOB_PAGE] = {NULL};
    for (size_t i = 0; i < n; i++)
        ids[i] = rows[i].id;
    int err = heads_jobs(c, most, ids, n, NULL, records);
    for (size_t i = 0; i < n; i++)
        rows[i].parts[JOB_RECORD] = records[i];
    return err;
}

static int read_rows(struct muster_client *c, struct job_page_row *rows, size_t n, enum job_page_parts parts,
                     size_t most)
{
    size_t from = most == HEADS_WHOLE ? JOB_RECORD : JOB_RECORD + 1;
    size_t n_parts = parts == WITH_LISTS ? JOB_PARTS : JOB_RECORD + 1;
    int err = most == HEADS_WHOLE ? MUSTER_OK : read_heads(c, rows, n, most);
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_row(c, rows[i].id, from, n_parts);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = page_read_parts(c, rows[i].id, rows[i].parts + from, n_parts - from);
    return err;
}

static void clear_parts(struct job_page_row *row)
{
    for (size_t part = 0; part < JOB_PARTS; part++) {
        redis_reply_free(row->parts[part]);
        row->parts[part] = NULL;
    }
}

/* What may be too big is tried as often as convicts it: other things end connections, too. */
static int read_alone(struct muster_client *c, struct job_page_row *row, enum job_page_parts parts, size_t most)
{
    int n_tries = row->too_big.n_bytes > 0 ? SIZE_LIMIT_BREAKS : 1;
    int err = MUSTER_E_CONN;
    for (int i = 0; i < n_tries && err == MUSTER_E_CONN; i++) {
        clear_parts(row);
        err = redis_open(c->redis);
        if (err != MUSTER_OK) /* a server that cannot be reached says nothing of the job */
            return err;
        err = read_rows(c, row, 1, parts, most);
    }
    if (err != MUSTER_E_CONN || row->too_big.n_bytes == 0)
        return err;
    row->err = MUSTER_E_TOO_BIG;
    return MUSTER_OK;
}

/* The connection has ended. If that may be for the size of one of them, each is read by itself. */
static int read_each(struct muster_client *c, struct job_page *page, enum job_page_parts parts, size_t most)
{
    const char *ids[JOB_PAGE] = {NULL};
    struct job_too_big sizes[JOB_PAGE];
    for (size_t i = 0; i < page->n; i++)
        ids[i] = page->rows[i].id;
    int err = job_too_big_ask(c, ids, sizes, page->n);
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++) {
        page->rows[i].too_big = sizes[i];
        err = read_alone(c, &page->rows[i], parts, most);
    }
    return err;
}

int job_page_read(struct muster_client *c, struct job_page *page, enum job_page_parts parts, size_t most)
{
    int err = read_rows(c, page->rows, page->n, parts, most);
    if (err == MUSTER_E_CONN)
        err = read_each(c, page, parts, most);
    for (size_t i = 0; i < page->n && err == MUSTER_OK && parts == WITH_LISTS; i++)
        if (page->rows[i].err == MUSTER_OK)
            err = job_history_join(c, &page->rows[i], most == HEADS_WHOLE);
    for (size_t i = 0; i < page->n && err == MUSTER_OK; i++)
        if (page->rows[i].err == MUSTER_OK)
            err = read_row(&page->rows[i]);
    if (err == MUSTER_OK)
        err = read_marks(c, page);
    return err == MUSTER_OK ? read_blocked_by(c, page, parts) : err;
}

bool job_page_note_refused(struct job_page_refused *r, const struct job_page_row *row)
{
    if (row->err == MUSTER_E_REDIS)
        r->broken = row->id;
    if (row->err == MUSTER_E_TOO_BIG) {
        r->too_big = row->id;
        r->how_big = row->too_big;
    }
    return row->err == MUSTER_E_REDIS || row->err == MUSTER_E_TOO_BIG;
}

int job_page_say_refused(struct muster_client *c, const struct job_page_refused *r)
{
    char words[SIZE_LIMIT_JOB];
    if (r->broken) {
        redis_error_set(c->redis, "the record of the job '%s' cannot be read: another program wrote it", r->broken);
        return MUSTER_E_REDIS;
    }
    if (!r->too_big)
        return MUSTER_OK;
    size_limit_job(words, r->too_big, &r->how_big);
    redis_error_set(c->redis, "%s", words);
    return MUSTER_E_TOO_BIG;
}

void job_page_clear(struct job_page *page)
{
    for (size_t i = 0; i < page->n; i++) {
        struct job_page_row *row = &page->rows[i];
        job_record_clear(&row->record);
        free(row->history_text);
        free(row->history);
        free(row->names_text);
        for (int way = 0; way < WAYS; way++)
            free(row->after[way]);
        free(row->before);
        free(row->blocked_by);
        redis_reply_free(row->holder);
        clear_parts(row);
    }
    *page = (struct job_page){.n = 0};
}
