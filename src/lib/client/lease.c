/* SPDX-License-Identifier: MIT
 *
 * Taking tasks under a lease, without being a worker.
 */
#include "base/clock.h"
#include "client/client.h"
#include "client/unsent.h"
#include "client/vigil.h"
#include "protocol/job_record.h"
#include "protocol/process_name.h"
#include "protocol/script_task.h"

/* A take that does not wait goes on after so many calls that took nothing, if they say that there may be more. */
#define EMPTY_MAX 50

/* ---- taking ---- */

struct taking {
    struct script_take_lease what;
    muster_process_row_fn *fn;
    void *arg;
    size_t *n_given; /* handed out so far */
    struct unsent unsent;
    bool has_given;   /* the caller has got something */
    bool has_stopped; /* the caller wants no more */
};

static void give_one(struct taking *t, const struct script_leased *leased, uint64_t token, struct muster_bytes task,
                     const struct muster_job *job)
{
    char id[PROCESS_ID_MAX];
    process_name_of_lease(id, token, t->what.queue);
    const struct muster_process_info info = {
        .id = id,
        .worker = MUSTER_LEASE_ID,
        .queue = t->what.queue,
        .job = job ? job->id : NULL,
        .record = job,
        .token = token,
        .started_at_ms = token_at_ms(token),
        .ends_at_ms = leased->ends_at_ms,
        .progress = "",
        .holder = t->what.holder,
        .task = task.data,
        .len = task.len,
        .whole_len = task.len,
    };
    ++*t->n_given;
    t->has_stopped = t->fn(&info, t->arg) != 0;
}

static int give_job(struct taking *t, const struct script_leased *leased, const struct script_leased_one *one)
{
    struct job_record record;
    char token[TOKEN_LEN + 1];
    token_format(token, one->token);
    int err = job_record_take(&record, one->job, one->record, MUSTER_LEASE_ID, token, t->what.queue);
    if (err != MUSTER_OK)
        return err;
    record.job.holder = t->what.holder ? t->what.holder : "";
    give_one(t, leased, one->token, record.job.data, record.job.unique ? NULL : &record.job);
    job_record_clear(&record);
    return MUSTER_OK;
}

static int give_any(struct muster_client *c, struct taking *t, const struct redisReply *reply,
                    const struct script_leased *leased, size_t i)
{
    struct script_leased_one one;
    int err = client_understand(c, script_leased_one(reply, leased, i, &one));
    if (err == MUSTER_OK && one.held_back > 0)
        return unsent_pass_over(c, &t->unsent, t->what.queue, &one);
    if (err == MUSTER_OK && one.job)
        err = client_understand(c, give_job(t, leased, &one));
    else if (err == MUSTER_OK)
        give_one(t, leased, one.token, one.task, NULL);
    if (err != MUSTER_E_NOMEM)
        return err;
    unsent_set_aside(c, &t->unsent, t->what.queue, &one);
    return MUSTER_OK;
}

/* If the caller stops early, the rest is leased all the same. One for which there is no memory costs none of the others. */
static int give_leased(struct muster_client *c, struct taking *t, const struct redisReply *reply,
                       const struct script_leased *leased)
{
    const size_t n = script_leased_len(leased);
    int err = n > 0 ? MUSTER_OK : MUSTER_E_NOT_FOUND;
    t->has_given |= n > 0;
    for (size_t i = 0; i < n && !t->has_stopped && err == MUSTER_OK; i++)
        err = give_any(c, t, reply, leased, i);
    return err;
}

/* One call, which takes some of what is left to take. */
static int ask_some(struct muster_client *c, struct taking *t, int64_t *next_due_ms, bool *is_over)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct script_leased leased = {.next_due_ms = -1};
    struct script_take_lease what = t->what;
    const size_t n_before = *t->n_given;
    what.call = unheard_name(c);
    unsent_ask(c, &t->unsent, &what);
    script_take(&command, &c->root, &what);
    int err = client_run(c, &command, &reply);
    unheard_note(c, what.queue, err);
    if (err == MUSTER_OK)
        err = client_understand(c, script_leased(reply, what.n, &leased));
    if (err == MUSTER_OK)
        err = give_leased(c, t, reply, &leased);
    if (err == MUSTER_OK && !t->unsent.was_passed_over)
        unsent_heard(c);
    t->what.n -= *t->n_given - n_before;
    *next_due_ms = leased.next_due_ms;
    *is_over = !leased.is_more && script_leased_len(&leased) < what.n;
    redis_reply_free(reply);
    return err;
}

static bool has_enough(const struct muster_client *c, const struct taking *t)
{
    return t->has_stopped || t->what.n == 0 || unsent_is_over(c);
}

static int take_some(struct muster_client *c, struct taking *t, int64_t *next_due_ms, bool *is_over)
{
    int err;
    do
        err = ask_some(c, t, next_due_ms, is_over);
    while (unsent_asks_again(c, &t->unsent, &err) && !has_enough(c, t));
    return err;
}

/* E_NOT_FOUND: there was nothing. Then something may be due in *next_due_ms; -1: that is not known. A call that took
 * nothing may ask for another one, while jobs are let go step by step. A caller that waits comes again anyway. */
static int take(struct muster_client *c, struct taking *wanted, int64_t *next_due_ms)
{
    struct taking t = *wanted;
    const int empty_max = t.what.wait != SCRIPT_WAIT_NONE ? 1 : EMPTY_MAX; /* whatever the answers say */
    int err = MUSTER_E_NOT_FOUND, more, n_empty = 0;
    bool is_over;
    do {
        more = take_some(c, &t, next_due_ms, &is_over);
        n_empty += more == MUSTER_E_NOT_FOUND;
        err = more == MUSTER_E_NOT_FOUND ? err : more; /* others may have taken the rest meanwhile */
    } while ((more == MUSTER_OK || more == MUSTER_E_NOT_FOUND) && !is_over && !has_enough(c, &t) &&
             n_empty < empty_max);
    wanted->has_given = t.has_given;
    err = unsent_end(c, &t.unsent, *t.n_given, err);
    if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis,
                        "nothing waits in the queue '%s', or it is paused, or its max_running, rate or "
                        "max_running_per_key allows no more",
                        t.what.queue);
    return err;
}

/* What an earlier look took without being heard goes back first. */
static int look(struct muster_client *c, struct taking *t, struct vigil *v, int64_t *next_due_ms)
{
    int err = vigil_listen(v);
    if (err == MUSTER_OK)
        err = unheard_give_back(c);
    return err == MUSTER_OK ? take(c, t, next_due_ms) : err;
}

/* The last look is after the time is over: what is due by then is still in time. A connection may have died while it
 * slept, so it looks once more over a new one: if that fails, too, there is no Redis. */
static int wait_and_take(struct muster_client *c, struct taking *t, int64_t wait_ms)
{
    const int64_t began_ms = clock_ms(), until_ms = clock_in_ms(wait_ms);
    struct vigil v = {.client = c, .queue = t->what.queue};
    int64_t next_due_ms, left_ms;
    int err;
    bool goes_on, has_died = false, died_before;
    do {
        left_ms = until_ms - clock_ms();
        t->what.wait = left_ms > 0 ? SCRIPT_WAIT : SCRIPT_WAIT_OVER;
        t->what.waited_ms = clock_ms() - began_ms;
        err = look(c, t, &v, &next_due_ms);
        died_before = has_died;
        has_died = (err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT) && !t->has_given;
        goes_on = left_ms > 0 && (err == MUSTER_E_NOT_FOUND || (has_died && !died_before));
        if (goes_on && !has_died && (err = vigil_sleep(&v, next_due_ms, left_ms)) != MUSTER_OK)
            goes_on = false;
    } while (goes_on);
    vigil_end(&v);
    return err;
}

static int check_holder(struct muster_client *c, const char *holder)
{
    const char *why = holder ? muster_worker_id_check(holder) : NULL;
    if (why)
        redis_error_set(c->redis, "the holder's name: %s", why);
    return why ? MUSTER_E_INVALID : MUSTER_OK;
}

static int check_take(struct muster_client *c, const struct taking *t, int64_t wait_ms)
{
    int err = client_check_queue(c, t->what.queue);
    if (err == MUSTER_OK)
        err = check_holder(c, t->what.holder);
    if (err != MUSTER_OK)
        return err;
    if (t->what.n < 1 || t->what.n > MUSTER_LEASE_TAKE_MAX)
        return client_refuse(c, "one call takes 1 to 1000 tasks");
    if (t->what.lease_ms < 1 || t->what.lease_ms > MUSTER_LEASE_MAX_MS)
        return client_refuse(c, "a lease must be 1 ms to 30 days long");
    if (wait_ms < 0)
        return client_refuse(c, "a time to wait must not be negative");
    return wait_ms > 0 ? redis_check_listen(c->redis) : MUSTER_OK;
}

static int begin_to_take(struct muster_client *c, struct taking *t, int64_t wait_ms)
{
    int64_t next_due_ms;
    size_t n_given = 0;
    int err = check_take(c, t, wait_ms);
    t->n_given = &n_given;
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err == MUSTER_OK)
        err = unheard_give_back(c);
    if (err == MUSTER_OK)
        err = take(c, t, &next_due_ms);
    if (err == MUSTER_E_NOT_FOUND && wait_ms > 0)
        err = wait_and_take(c, t, wait_ms);
    if (err == MUSTER_E_INTERRUPTED)
        unheard_give_back_soon(c, n_given);
    return err;
}

int muster_lease_take(struct muster_client *c, const char *queue, size_t n, int64_t lease_ms, int64_t wait_ms,
                      muster_process_row_fn *fn, void *arg)
{
    struct taking t = {.what = {.queue = queue, .n = n, .lease_ms = lease_ms}, .fn = fn, .arg = arg};
    return begin_to_take(c, &t, wait_ms);
}

int muster_lease_take_as(struct muster_client *c, const char *queue, const struct muster_take_options *options,
                         muster_process_row_fn *fn, void *arg)
{
    struct muster_take_options o;
    struct taking t = {.what = {.queue = queue}, .fn = fn, .arg = arg};
    int err = client_read(c, SIZED_TAKE_OPTIONS, &o, options);
    if (err != MUSTER_OK)
        return err;
    t.what.n = o.n > 0 ? o.n : 1;
    t.what.lease_ms = o.lease_ms != 0 ? o.lease_ms : MUSTER_LEASE_DEFAULT_MS;
    t.what.holder = o.holder;
    return begin_to_take(c, &t, o.wait_ms);
}
