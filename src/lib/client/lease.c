/* SPDX-License-Identifier: MIT
 *
 * Taking tasks under a lease, without being a worker.
 *
 * A caller that waits for a task listens on the queue's channel `_work`. A message there says only "look". So the order
 * is: subscribe, then look, then sleep; the look sees what came in between. A message that got lost, or a task that
 * came without one, costs at most RENEW_MS: the script must be told that often anyway that somebody listens.
 *
 * One message wakes all who wait. So a caller that was woken first looks by plain commands, and calls the script only
 * if something is there. Who came too late once has rivals: the next time it looks a random moment later, so that one
 * of them takes, and the others see that nothing is left. A caller without rivals looks at once.
 */
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/waiting.h"
#include "protocol/job_record.h"
#include "protocol/process_name.h"
#include "protocol/script_task.h"

/* The script forgets a listener after ten seconds. */
#define RENEW_MS 5000
/* Looks are at least this far apart. Whatever Redis says, it is not asked in a tight loop. */
#define LOOK_APART_MS 10
/* One look serves at most this many messages: a flood on the channel must not keep a waiting caller from looking. */
#define DRAIN_MAX 1000
/* The random moment is below this: doubled with each time that the caller came too late. */
#define STAGGER_MS 1
#define STAGGER_MAX_MS 32
/* A take that does not wait goes on after so many calls that took nothing, if they say that there may be more. */
#define EMPTY_MAX 50

/* ---- taking ---- */

struct taking {
    struct script_take_lease what;
    muster_process_row_fn *fn;
    void *arg;
};

/* Does the caller want no more? */
static bool give_one(const struct taking *t, const struct script_leased *leased, uint64_t token,
                     struct muster_bytes task, const struct muster_job *job)
{
    char id[PROCESS_ID_MAX], token_text[TOKEN_LEN + 1];
    token_format(token_text, token);
    process_name_format(id, MUSTER_LEASE_ID, token_text, t->what.queue);
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
        .task = task.data,
        .len = task.len,
    };
    return t->fn(&info, t->arg) != 0;
}

static int give_job(const struct taking *t, const struct script_leased *leased, const struct script_leased_one *one,
                    bool *stop)
{
    struct job_record record;
    char token[TOKEN_LEN + 1];
    token_format(token, one->token);
    int err = job_record_take(&record, one->job, one->record, MUSTER_LEASE_ID, token, t->what.queue);
    if (err != MUSTER_OK)
        return err;
    *stop = give_one(t, leased, one->token, record.job.data, record.job.unique ? NULL : &record.job);
    job_record_clear(&record);
    return MUSTER_OK;
}

/* The answer has tasks in a run or, where jobs wait too, single processes. If the caller stops early, the rest is
 * leased all the same. */
static int give_leased(const struct taking *t, const struct redisReply *reply, const struct script_leased *leased,
                       bool *is_over)
{
    bool stop = false;
    int err = MUSTER_OK;
    for (size_t i = 0; i < reply_len(leased->tasks) && !stop; i++)
        stop = give_one(t, leased, leased->first_token + i, reply_bytes(reply_at(leased->tasks, i)), NULL);
    for (size_t i = 0; i < leased->n_more && !stop && err == MUSTER_OK; i++) {
        struct script_leased_one one;
        err = script_leased_one(reply, i, &one);
        if (err == MUSTER_OK && one.job)
            err = give_job(t, leased, &one, &stop);
        else if (err == MUSTER_OK)
            stop = give_one(t, leased, one.token, one.task, NULL);
    }
    *is_over = stop || !leased->is_more;
    if (err != MUSTER_OK)
        return err;
    return reply_len(leased->tasks) + leased->n_more > 0 ? MUSTER_OK : MUSTER_E_NOT_FOUND;
}

/* One call, which takes some of what is left to take. */
static int take_some(struct muster_client *c, struct taking *t, int64_t *next_due_ms, bool *is_over)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct script_leased leased = {.next_due_ms = -1};
    *is_over = true;
    t->what.call = unheard_name(c);
    script_take(&command, &c->root, &t->what);
    int err = client_run(c, &command, &reply);
    unheard_note(c, t->what.queue, err);
    if (err == MUSTER_OK)
        err = client_understand(c, script_leased(reply, &leased));
    if (err == MUSTER_OK)
        err = client_understand(c, give_leased(t, reply, &leased, is_over));
    if (err == MUSTER_OK)
        t->what.n -= reply_len(leased.tasks) + leased.n_more;
    redis_reply_free(reply);
    *next_due_ms = leased.next_due_ms;
    return err;
}

/* E_NOT_FOUND: there was nothing. Then something may be due in *next_due_ms; -1: that is not known. A call that took
 * nothing may ask for another one, while jobs are let go step by step. A caller that waits comes again anyway. */
static int take(struct muster_client *c, const struct taking *wanted, int64_t *next_due_ms)
{
    struct taking t = *wanted;
    const int empty_max = t.what.waits ? 1 : EMPTY_MAX; /* whatever the answers say */
    int err = MUSTER_E_NOT_FOUND, more, n_empty = 0;
    bool is_over;
    do {
        more = take_some(c, &t, next_due_ms, &is_over);
        n_empty += more == MUSTER_E_NOT_FOUND;
        err = more == MUSTER_E_NOT_FOUND ? err : more; /* others may have taken the rest meanwhile */
    } while ((more == MUSTER_OK || more == MUSTER_E_NOT_FOUND) && !is_over && t.what.n > 0 && n_empty < empty_max);
    if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis,
                        "nothing waits in the queue '%s', or it is paused, or max_running of its tasks are running",
                        t.what.queue);
    return err;
}

static int listen_for_work(struct muster_client *c, const char *queue, struct redis **listener)
{
    char channel[CHANNEL_MAX];
    key_channel(channel, c->root.channels, queue, CHANNEL_WORK);
    return redis_listen(listener, c->redis, (const char *const[]){channel}, 1);
}

/* True: there was a message. If the connection broke, one may be lost: then the caller must take too, and listen on a
 * new one. */
static bool hears_hint(struct redis **listener, int64_t ms)
{
    struct redisReply *message;
    int err = redis_hear(*listener, ms, &message);
    const bool is_hint = err == MUSTER_OK;
    for (int i = 0; err == MUSTER_OK && i < DRAIN_MAX; i++) {
        redis_reply_free(message);
        err = redis_hear(*listener, 0, &message);
    }
    if (err == MUSTER_OK)
        redis_reply_free(message);
    if (err == MUSTER_OK || err == MUSTER_E_TIMEOUT)
        return is_hint;
    redis_free(*listener);
    *listener = NULL;
    return false;
}

static void keep_apart(int64_t looked_at_ms)
{
    int64_t ms = looked_at_ms + LOOK_APART_MS - clock_ms();
    if (ms > 0)
        poll(NULL, 0, (int)ms);
}

static void stagger(int64_t within_ms)
{
    if (within_ms > 0)
        poll(NULL, 0, (int)arc4random_uniform((uint32_t)within_ms + 1));
}

static int64_t stagger_more(int64_t within_ms)
{
    return within_ms == 0 ? STAGGER_MS : 2 * within_ms < STAGGER_MAX_MS ? 2 * within_ms : STAGGER_MAX_MS;
}

/* A message may also mean that something is due sooner. What comes after the look has a message of its own. */
static bool is_worth_a_take(struct muster_client *c, const char *queue, int64_t *next_due_ms)
{
    uint64_t waiting;
    int err = waiting_look(c, queue, &waiting, next_due_ms);
    return err != MUSTER_OK || waiting > 0 || *next_due_ms == 0;
}

/*
 *   looked_at_ms  when it looked last
 *   stagger_ms    how long after a message it looks, at most
 */
struct vigil {
    struct muster_client *client;
    const char *queue;
    struct redis *listener;
    int64_t looked_at_ms, stagger_ms;
};

/* Sleep until a take may bring something, at most `ms`. */
static void sleep_until_worth(struct vigil *v, int64_t next_due_ms, int64_t ms)
{
    const int64_t until_ms = clock_ms() + ms;
    for (;;) {
        int64_t left_ms = until_ms - clock_ms();
        left_ms = next_due_ms >= 0 && next_due_ms < left_ms ? next_due_ms : left_ms;
        if (left_ms <= 0 || !hears_hint(&v->listener, left_ms))
            return;
        stagger(v->stagger_ms);
        keep_apart(v->looked_at_ms);
        v->looked_at_ms = clock_ms();
        bool is_worth = is_worth_a_take(v->client, v->queue, &next_due_ms);
        v->stagger_ms = stagger_more(v->stagger_ms);
        if (is_worth)
            return;
    }
}

/* Look once more when the time is over: what is due by then is still in time. */
static int wait_and_take(struct muster_client *c, struct taking *t, int64_t wait_ms)
{
    const int64_t began_at_ms = clock_ms();
    struct vigil v = {.client = c, .queue = t->what.queue};
    int64_t next_due_ms;
    int err;
    t->what.waits = true;
    for (;;) {
        v.looked_at_ms = clock_ms();
        err = v.listener ? MUSTER_OK : listen_for_work(c, v.queue, &v.listener);
        if (err == MUSTER_OK)
            err = take(c, t, &next_due_ms);
        int64_t ms = wait_ms - (clock_ms() - began_at_ms);
        if (err != MUSTER_E_NOT_FOUND || ms <= 0)
            break;
        ms = ms < RENEW_MS ? ms : RENEW_MS;
        const int64_t took_at_ms = v.looked_at_ms;
        sleep_until_worth(&v, next_due_ms, ms);
        keep_apart(took_at_ms);
    }
    redis_free(v.listener);
    return err;
}

static int check_take(struct muster_client *c, const struct taking *t, int64_t wait_ms)
{
    int err = client_check_queue(c, t->what.queue);
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

int muster_lease_take(struct muster_client *c, const char *queue, size_t n, int64_t lease_ms, int64_t wait_ms,
                      muster_process_row_fn *fn, void *arg)
{
    struct taking t = {{.queue = queue, .n = n, .lease_ms = lease_ms}, fn, arg};
    int64_t next_due_ms;
    int err = check_take(c, &t, wait_ms);
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err == MUSTER_OK)
        err = unheard_give_back(c);
    if (err == MUSTER_OK)
        err = take(c, &t, &next_due_ms);
    return err == MUSTER_E_NOT_FOUND && wait_ms > 0 ? wait_and_take(c, &t, wait_ms) : err;
}
