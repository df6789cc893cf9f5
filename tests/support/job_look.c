/* SPDX-License-Identifier: MIT
 *
 * Jobs under test.
 */
#include "job_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assert_words(struct scene *s, const char *words)
{
    if (!strstr(muster_client_error(s->client), words))
        fail_msg("'%s' is not in '%s'", words, muster_client_error(s->client));
}

void job_put(struct scene *s, const char *queue, const struct muster_job_spec *spec)
{
    int err = muster_job_put(s->client, queue, spec, NULL);
    if (err)
        fail_msg("put %s: %s: %s", spec->id, muster_err_name(err), muster_client_error(s->client));
}

void job_not_put(struct scene *s, const char *queue, const struct muster_job_spec *spec, int err, const char *words)
{
    assert_err(muster_job_put(s->client, queue, spec, NULL), err);
    assert_words(s, words);
}

/* ---- looking ---- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void join_sorted(char *out, size_t size, const char *const *texts, size_t n)
{
    const char **sorted = calloc(n + 1, sizeof *sorted);
    size_t at = 0;
    if (n > 0)
        memcpy(sorted, texts, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    *out = '\0';
    for (size_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s ", sorted[i]);
    free(sorted);
}

static void copy_bytes(char *out, size_t size, struct muster_bytes bytes)
{
    snprintf(out, size, "%.*s", (int)bytes.len, bytes.data ? (const char *)bytes.data : "");
}

static void copy_history(struct job_seen *seen, const struct muster_job *job)
{
    size_t at = 0;
    for (size_t i = 0; i < job->n_history && at < sizeof seen->history; i++) {
        const struct muster_job_event_line *line = &job->history[i];
        at += (size_t)snprintf(seen->history + at, sizeof seen->history - at, *line->text ? "%s=%s " : "%s ",
                               line->what, line->text);
        assert_true(line->at_ms >= 0);
    }
    seen->n_history = job->n_history;
}

static int keep(const struct muster_job *job, void *arg)
{
    struct job_seen *seen = arg;
    *seen = (struct job_seen){
        .state = job->state,
        .priority = job->priority,
        .retries = job->retries,
        .retried = job->retried,
        .crashes = job->crashes,
        .tracked = job->tracked,
        .cancelled = job->cancelled,
        .backlog = job->backlog,
        .has_result = job->result.data != NULL,
        .put_at_ms = job->put_at_ms,
        .since_ms = job->since_ms,
        .due_at_ms = job->due_at_ms,
        .from_ms = job->from_ms,
        .limit_ms = job->limit_ms,
        .every_ms = job->every_ms,
        .backoff = job->backoff,
        .made = job->made,
        .n_tags = job->n_tags,
    };
    snprintf(seen->queue, sizeof seen->queue, "%s", job->queue);
    snprintf(seen->worker, sizeof seen->worker, "%s", job->worker);
    snprintf(seen->process, sizeof seen->process, "%s", job->process);
    snprintf(seen->group, sizeof seen->group, "%s", job->group);
    copy_bytes(seen->data, sizeof seen->data, job->data);
    copy_bytes(seen->message, sizeof seen->message, job->message);
    copy_bytes(seen->result, sizeof seen->result, job->result);
    join_sorted(seen->tags, sizeof seen->tags, job->tags, job->n_tags);
    join_sorted(seen->after, sizeof seen->after, job->after, job->n_after);
    join_sorted(seen->before, sizeof seen->before, job->before, job->n_before);
    copy_history(seen, job);
    return 0;
}

struct job_seen job_look(struct scene *s, const char *id)
{
    struct job_seen seen = {0};
    int err = muster_job_get(s->client, &id, 1, keep, &seen);
    if (err)
        fail_msg("get %s: %s: %s", id, muster_err_name(err), muster_client_error(s->client));
    return seen;
}

bool job_is_there(struct scene *s, const char *id)
{
    struct job_seen seen;
    int err = muster_job_get(s->client, &id, 1, keep, &seen);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    return err == MUSTER_OK;
}

void assert_job_state(struct scene *s, const char *id, enum muster_job_state state)
{
    assert_string_equal(muster_job_state_name(job_look(s, id).state), muster_job_state_name(state));
}

static int append_id(const struct muster_job *job, void *arg)
{
    assert_int_equal(job->n_history + job->n_after + job->n_before, 0);
    fprintf(arg, "%s ", job->id);
    return 0;
}

void assert_jobs_listed(struct scene *s, const struct muster_job_filter *f, const char *ids)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int err = muster_job_list(s->client, f, append_id, out);
    fclose(out);
    bool is_same = !err && !strcmp(text, ids);
    if (!is_same)
        print_error("listed: %s: %.300s\n", muster_err_name(err), text);
    free(text);
    assert_true(is_same);
}

uint64_t job_count(struct scene *s, const char *queue, enum muster_job_state state)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    assert_ok(muster_job_counts(s->client, queue, counts));
    return counts[state];
}

/* ---- taking ---- */

struct one_taken {
    const char *expected;
    char *process;
};

static int note_taken(const struct muster_process_info *p, void *arg)
{
    struct one_taken *one = arg;
    assert_non_null(p->job);
    assert_string_equal(p->job, one->expected);
    assert_string_equal(p->record->id, one->expected);
    assert_string_equal(p->record->process, p->id);
    assert_int_equal(p->record->state, MUSTER_JOB_RUNNING);
    assert_int_equal(p->record->data.len, p->len);
    snprintf(one->process, PROCESS_ID_MAX, "%s", p->id);
    return 0;
}

const char *job_take(struct scene *s, const char *queue, const char *id)
{
    static char ids[8][PROCESS_ID_MAX];
    static size_t next;
    struct one_taken one = {id, ids[next++ % 8]};
    *one.process = '\0';
    assert_ok(muster_lease_take(s->client, queue, 1, 3600000, 0, note_taken, &one));
    return one.process;
}
