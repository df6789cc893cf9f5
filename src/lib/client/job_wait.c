/* SPDX-License-Identifier: MIT
 *
 * Waiting until jobs have ended.
 *
 * It listens to what happens to jobs, and only then looks at their states: so whatever ends later is heard. A job ends by
 * its event, or by its record if the event was missed: the records are looked at again after each connection, and now and
 * then besides, because events are published once, may be denied, and none is published of unique tasks.
 *
 * A record that is missing is looked for twice, a moment apart, and all that is there by then is heard in between: the
 * event that tells how it went may be on its way, or lie behind others while the program did something else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/client.h"
#include "client/listen.h"
#include "protocol/job_valid.h"

/* The records are looked at so often; less often if there are many of them. */
#define LOOK_MS 5000
#define LOOK_DEAF_MS 1000
#define LOOK_EACH_MS 10
#define MISSING_MS 50
/* So many are asked for at once. */
#define LOOK_PAGE ((size_t)200)
#define PAUSE_MS 200
/* So many messages are heard in a row: a flood must not keep it from looking. */
#define HEAR_MAX 1000
/* Redis may be away for so long. */
#define OUTAGE_MS 60000

struct awaited {
    const char *id;
    bool has_ended;  /* and this was told */
    bool is_missing; /* the last look has found no record */
    bool is_known;   /* it has ended so: */
    enum muster_job_end how;
};

struct waiting {
    struct muster_client *client;
    struct awaited *jobs; /* in the order of their ids */
    size_t n, n_left;
    muster_job_wait_fn *fn;
    void *arg;
    bool stop;
    int64_t until_ms; /* CLOCK_NEVER: for ever */
    struct redis *listener;
    int64_t look_at_ms;
    int64_t renew_at_ms;
    bool is_behind;        /* more may be there than was heard */
    bool is_deaf;          /* the scripts cannot be told that it listens: they may publish nothing */
    int64_t away_since_ms; /* 0: Redis is there, or was never */
    bool was_there;
};

const char *muster_job_end_name(enum muster_job_end how)
{
    static const char *const names[] = {
#define END_NAME(end, name) [end] = (name),
        MUSTER_JOB_ENDS(END_NAME)
#undef END_NAME
    };
    return (unsigned)how < MUSTER_JOB_END_COUNT ? names[how] : "unknown";
}

/* ---- one has ended ---- */

struct telling {
    struct waiting *w;
    struct muster_job_ended ended;
    bool is_told;
};

static bool is_of_end(const struct muster_job *job, enum muster_job_end how)
{
    return (how == MUSTER_JOB_END_COMPLETE && job->state == MUSTER_JOB_COMPLETE) ||
           (how == MUSTER_JOB_END_FAILED && job->state == MUSTER_JOB_FAILED);
}

static void tell(struct telling *t, const struct muster_job *job)
{
    t->is_told = true;
    t->ended.job = job;
    if (t->w->fn && !t->w->stop)
        t->w->stop = t->w->fn(&t->ended, t->w->arg) != 0;
}

/* It may have begun again meanwhile: then its record says nothing of that end. */
static int tell_with_record(const struct muster_job *job, void *arg)
{
    struct telling *t = arg;
    tell(t, is_of_end(job, t->ended.how) ? job : NULL);
    return 0;
}

/* The first end that is heard or seen counts, whatever becomes of the job before its record can be read. */
static void know_end(struct awaited *a, enum muster_job_end how)
{
    a->how = a->is_known ? a->how : how;
    a->is_known = true;
}

/* Of one whose end is known. An outage is an error: then the next look goes on with it. A record that is gone, or is none
 * any more, or that Redis does not send, costs the end its record alone. */
static int tell_end(struct waiting *w, struct awaited *a)
{
    struct telling t = {.w = w, .ended = {.id = a->id, .how = a->how}};
    int err = MUSTER_OK;
    if (a->has_ended)
        return MUSTER_OK;
    if (a->how == MUSTER_JOB_END_COMPLETE || a->how == MUSTER_JOB_END_FAILED)
        err = muster_job_get(w->client, &a->id, 1, tell_with_record, &t);
    if (err == MUSTER_E_TOO_BIG)
        err = muster_job_peek(w->client, &a->id, 1, tell_with_record, &t);
    if (err != MUSTER_OK && err != MUSTER_E_NOT_FOUND && err != MUSTER_E_REDIS && err != MUSTER_E_TOO_BIG)
        return err;
    a->has_ended = true;
    w->n_left--;
    if (!t.is_told)
        tell(&t, NULL);
    return MUSTER_OK;
}

/* ---- looking ---- */

static int append_state(struct muster_client *c, const char *id)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_JOB, id);
    return client_append(c, (const char *const[]){"HGET", key, "state", NULL});
}

/* Reads one answer. A record of an unknown state has not ended. */
static int read_state(struct muster_client *c, struct awaited *a, int *state)
{
    struct redisReply *reply;
    int err = redis_read(c->redis, &reply);
    const char *name = err == MUSTER_OK ? reply_text(reply) : NULL;
    *state = name ? muster_job_state_of(name) : -1;
    a->is_missing = err == MUSTER_OK && reply_kind(reply) == REPLY_NIL;
    redis_reply_free(reply);
    return err;
}

struct seen {
    struct awaited *job;
    bool was_missing;
    int state;
};

/* All answers are read before any of them is told: the program may do what it likes then, but not with this client. */
static int look_at_some(struct waiting *w, struct seen *seen, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = append_state(w->client, seen[i].job->id);
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        seen[i].was_missing = seen[i].job->is_missing;
        err = read_state(w->client, seen[i].job, &seen[i].state);
    }
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        struct awaited *a = seen[i].job;
        if (seen[i].state == MUSTER_JOB_COMPLETE)
            know_end(a, MUSTER_JOB_END_COMPLETE);
        else if (seen[i].state == MUSTER_JOB_FAILED)
            know_end(a, MUSTER_JOB_END_FAILED);
        else if (a->is_missing && seen[i].was_missing && !w->is_behind)
            know_end(a, MUSTER_JOB_END_GONE);
        else if (a->is_missing)
            w->look_at_ms = clock_in_ms(MISSING_MS);
        err = a->is_known ? tell_end(w, a) : MUSTER_OK;
    }
    return err;
}

static int look(struct waiting *w)
{
    struct seen seen[LOOK_PAGE];
    int err = MUSTER_OK;
    w->look_at_ms = clock_in_ms((w->is_deaf ? LOOK_DEAF_MS : LOOK_MS) + LOOK_EACH_MS * (int64_t)w->n_left);
    for (size_t i = 0; err == MUSTER_OK && i < w->n && !w->stop;) {
        size_t n = 0;
        for (; i < w->n && n < LOOK_PAGE; i++)
            if (!w->jobs[i].has_ended)
                seen[n++].job = &w->jobs[i];
        err = look_at_some(w, seen, n);
    }
    return err;
}

/* ---- hearing ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct awaited *)a)->id, ((const struct awaited *)b)->id);
}

/* The first of those with this id, which may be given more than once; w->n: none. */
static size_t find(const struct waiting *w, const char *id)
{
    size_t from = 0, to = w->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(w->jobs[middle].id, id) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < w->n && strcmp(w->jobs[from].id, id) == 0 ? from : w->n;
}

/* Returns -1 if it is the event of no end. */
static int end_of(const char *what)
{
    if (strcmp(what, "completed") == 0)
        return MUSTER_JOB_END_COMPLETE;
    if (strcmp(what, "failed") == 0)
        return MUSTER_JOB_END_FAILED;
    return strcmp(what, "cancelled") == 0 ? MUSTER_JOB_END_CANCELLED : -1;
}

static int apply_event(struct waiting *w, const struct redisReply *message)
{
    struct muster_job_event event;
    char *text;
    int err = MUSTER_OK;
    int how = listen_read_job_event(message, &text, &event) == 0 ? end_of(event.what) : -1;
    for (size_t i = how >= 0 ? find(w, event.id) : w->n; i < w->n && strcmp(w->jobs[i].id, event.id) == 0; i++) {
        know_end(&w->jobs[i], (enum muster_job_end)how);
        if (err == MUSTER_OK)
            err = tell_end(w, &w->jobs[i]);
    }
    free(text);
    return err;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int hear_one(struct waiting *w, int64_t wait_ms, bool *has_heard)
{
    struct redisReply *message;
    int err = redis_hear(w->listener, wait_ms, &message);
    *has_heard = err == MUSTER_OK;
    if (*has_heard)
        err = apply_event(w, message);
    else if (err == MUSTER_E_TIMEOUT)
        err = MUSTER_OK;
    redis_reply_free(message);
    return err;
}

/* Until something is to be done, or is heard; then all that is there. */
static int hear(struct waiting *w)
{
    int64_t until = least(w->until_ms, least(w->look_at_ms, w->renew_at_ms)), wait_ms = until - clock_ms();
    int err = hear_one(w, wait_ms > 0 ? wait_ms : 0, &w->is_behind);
    for (int i = 1; err == MUSTER_OK && w->is_behind && i < HEAR_MAX && w->n_left > 0 && !w->stop; i++)
        err = hear_one(w, 0, &w->is_behind);
    return err;
}

/* ---- waiting ---- */

/* The scripts hear that it listens; a namespace without a format gets it before, as by every writer. A full Redis, or a
 * user that must not write, refuses that: then it looks more often. */
static int announce(struct waiting *w)
{
    int err = redis_claim_format(w->client->redis);
    if (err == MUSTER_OK)
        err = listen_announce(w->client, "");
    const bool is_deaf = err == MUSTER_E_FULL || err == MUSTER_E_DENIED;
    if (is_deaf && !w->is_deaf)
        log_line(MUSTER_LOG_WARN, "a wait for jobs cannot say that it listens, so it may hear of their ends late: %s",
                 redis_error(w->client->redis));
    w->is_deaf = is_deaf;
    return w->is_deaf ? MUSTER_OK : err;
}

/* A user that must not subscribe is denied the whole: it would wait for events that it never gets. */
static int listen_again(struct waiting *w)
{
    int err = w->listener ? MUSTER_OK : listen_subscribe_to_jobs(w->client, &w->listener);
    if (err == MUSTER_OK)
        err = announce(w);
    w->renew_at_ms = clock_in_ms(LISTEN_RENEW_MS);
    w->was_there |= err == MUSTER_OK;
    return err;
}

static int go_on(struct waiting *w)
{
    const int64_t now = clock_ms();
    int err = MUSTER_OK;
    if (!w->listener)
        w->look_at_ms = w->renew_at_ms = 0;
    if (now >= w->renew_at_ms)
        err = listen_again(w);
    if (err == MUSTER_OK && now >= w->look_at_ms)
        err = look(w);
    if (err == MUSTER_OK && w->n_left > 0 && !w->stop)
        err = hear(w);
    return err;
}

/* Is it an outage that may pass in time? Then it sleeps a little. */
static bool can_go_on(struct waiting *w, int err)
{
    const int64_t now = clock_ms();
    redis_free(w->listener);
    w->listener = NULL;
    if (!w->was_there || (err != MUSTER_E_CONN && err != MUSTER_E_TIMEOUT && err != MUSTER_E_BUSY))
        return false;
    if (w->away_since_ms == 0)
        w->away_since_ms = now;
    if (now - w->away_since_ms >= OUTAGE_MS || now >= w->until_ms)
        return false;
    redis_sleep(w->client->redis, PAUSE_MS);
    return true;
}

/* The last look is after the time is over: what has ended by then is still in time. */
static int give_up(struct waiting *w)
{
    int err = w->n_left > 0 && !w->stop ? look(w) : MUSTER_OK;
    if (err != MUSTER_OK || w->n_left == 0 || w->stop)
        return err;
    redis_error_set(w->client->redis, "%zu of the %zu jobs have not ended in time", w->n_left, w->n);
    return MUSTER_E_TIMEOUT;
}

static int wait_for_all(struct waiting *w)
{
    int err = MUSTER_OK;
    while (w->n_left > 0 && !w->stop) {
        err = go_on(w);
        if (err == MUSTER_OK)
            w->away_since_ms = 0;
        else if (!can_go_on(w, err))
            return err;
        if (clock_ms() >= w->until_ms)
            return give_up(w);
    }
    return MUSTER_OK;
}

static int check(struct muster_client *c, const char *const *ids, size_t n, int64_t timeout_ms)
{
    const char *why = NULL;
    int err =
        timeout_ms < -1 ? client_refuse(c, "a time to wait must not be negative, except -1: for ever") : MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = client_answer(c, job_valid_id(ids ? ids[i] : NULL, &why), &why);
    return err == MUSTER_OK ? redis_check_listen(c->redis) : err;
}

int muster_job_wait(struct muster_client *c, const char *const *ids, size_t n, int64_t timeout_ms,
                    muster_job_wait_fn *fn, void *arg)
{
    struct waiting w = {.client = c, .n = n, .n_left = n, .fn = fn, .arg = arg, .until_ms = CLOCK_NEVER};
    int err = check(c, ids, n, timeout_ms);
    if (err != MUSTER_OK || n == 0)
        return err;
    if (timeout_ms >= 0)
        w.until_ms = clock_in_ms(timeout_ms);
    w.jobs = calloc(n, sizeof *w.jobs);
    if (!w.jobs)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        w.jobs[i].id = ids[i];
    qsort(w.jobs, n, sizeof *w.jobs, by_id);
    err = wait_for_all(&w);
    redis_free(w.listener);
    free(w.jobs);
    return err;
}
