/* SPDX-License-Identifier: MIT
 *
 * Changing and cancelling jobs. lua/job/change.lua says what each change means. Here arguments are checked, and
 * refusals get their words.
 */
#include <muster/cron.h>
#include <string.h>

#include "base/words.h"
#include "client/client.h"
#include "client/job_change.h"
#include "client/job_cron.h"
#include "protocol/job_say.h"
#include "protocol/job_valid.h"
#include "protocol/names.h"
#include "protocol/script_job.h"

/* How often a change of a schedule is tried, if others change it too. */
#define SCHEDULE_TRIES 5

/* ---- change ---- */

static int check_log(const char *log, const char **why)
{
    if (strlen(log) > MUSTER_JOB_LOG_MAX) {
        *why = words_say("a line of a job's history has at most %d bytes", MUSTER_JOB_LOG_MAX);
        return MUSTER_E_TOO_BIG;
    }
    *why = names_have_control(log) ? "a line of a job's history must not hold control characters" : NULL;
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

static int check_words(const struct muster_job_change *change, const char **why)
{
    *why = change->queue ? muster_queue_check(change->queue) : NULL;
    if (!*why && (change->track < -1 || change->track > 1))
        *why = "`track` must be 1 (track the job), -1 (stop tracking it) or 0 (leave it as it is)";
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

static int check_times(const struct muster_job_change *change, const char **why)
{
    if (change->delay_ms != 0 && change->at_ms != 0) {
        *why = "a job becomes ready after a delay or at a time, not both";
        return MUSTER_E_INVALID;
    }
    int err = job_valid_number("a job's delay", change->delay_ms, 0, MUSTER_JOB_MS_MAX, why);
    if (err == MUSTER_OK)
        err = job_valid_number("the time at which a job becomes ready", change->at_ms, 0, JOB_AT_MAX_MS, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a job's limit", change->limit_ms, 0, MUSTER_JOB_MS_MAX, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a job's number of retries", change->retries, 0, MUSTER_JOB_RETRIES_MAX, why);
    return err == MUSTER_OK && change->backoff ? job_valid_backoff(change->backoff, why) : err;
}

static int check_states(unsigned only_if, const char **why)
{
    if (only_if >> MUSTER_JOB_STATE_COUNT == 0)
        return MUSTER_OK;
    *why = "`only_if` has a bit that is no state";
    return MUSTER_E_INVALID;
}

static int check_change(const char *id, const struct muster_job_change *change, size_t max_task_len, const char **why)
{
    int err = job_valid_id(id, why);
    if (err == MUSTER_OK)
        err = check_words(change, why);
    if (err == MUSTER_OK)
        err = job_valid_tags(change->tag, change->n_tag, why);
    if (err == MUSTER_OK)
        err = job_valid_tags(change->untag, change->n_untag, why);
    if (err == MUSTER_OK)
        err = job_valid_ways((const struct job_valid_list[]){{change->after, change->n_after},
                                                             {change->after_end, change->n_after_end},
                                                             {change->after_failure, change->n_after_failure}},
                             why);
    if (err == MUSTER_OK)
        err = job_valid_after(change->not_after, change->n_not_after, why);
    if (err == MUSTER_OK && change->key && *change->key)
        err = job_valid_key(change->key, why);
    if (err == MUSTER_OK && change->log)
        err = check_log(change->log, why);
    if (err == MUSTER_OK)
        err = job_valid_interval(change->every_ms, why);
    if (err == MUSTER_OK)
        err = check_times(change, why);
    if (err == MUSTER_OK)
        err = check_states(change->only_if, why);
    return err == MUSTER_OK ? names_check_task(&change->data, max_task_len, why) : err;
}

static void add_texts(struct command *command, const char *what, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        script_change_field(command, what, (struct muster_bytes){texts[i], strlen(texts[i])});
}

static void add_text(struct command *command, const char *what, const char *text)
{
    if (text)
        add_texts(command, what, &text, 1);
}

static void add_number(struct command *command, const char *what, int64_t number)
{
    if (number == 0)
        return;
    command_text(command, what);
    command_number(command, number == MUSTER_ZERO ? 0 : number);
}

static void add_exactly(struct command *command, const char *what, int64_t number)
{
    add_number(command, what, number == 0 ? MUSTER_ZERO : number);
}

static void add_backoff(struct command *command, const struct muster_backoff *backoff)
{
    if (!backoff)
        return;
    add_exactly(command, "backoff", backoff->delay_ms);
    add_exactly(command, "backoff_max", backoff->max_ms);
    add_exactly(command, "jitter", backoff->jitter_percent);
    add_text(command, "backoff_kind", backoff->exponential ? "exponential" : "fixed");
}

static void add_states(struct command *command, unsigned only_if)
{
    for (int state = 0; state < MUSTER_JOB_STATE_COUNT; state++)
        if (only_if & MUSTER_JOB_IN(state))
            add_text(command, "only_if", muster_job_state_name((enum muster_job_state)state));
}

static void add_guard(struct command *command, const struct job_guard *guard)
{
    if (!guard)
        return;
    add_text(command, "only_queue", guard->queue);
    add_exactly(command, "only_put", guard->put_ms);
}

static void add_change(struct command *command, const struct muster_job_change *change)
{
    add_states(command, change->only_if);
    add_number(command, "delay", change->delay_ms);
    add_number(command, "at", change->at_ms);
    add_number(command, "retries", change->retries);
    add_number(command, "limit", change->limit_ms);
    add_backoff(command, change->backoff);
    add_number(command, "priority", change->priority);
    add_number(command, "every", change->every_ms);
    add_text(command, "queue", change->queue);
    add_text(command, "key", change->key);
    add_texts(command, "untag", change->untag, change->n_untag);
    add_texts(command, "tag", change->tag, change->n_tag);
    add_text(command, "not_after_all", change->not_after_all ? "" : NULL);
    add_texts(command, "not_after", change->not_after, change->n_not_after);
    add_texts(command, "after", change->after, change->n_after);
    add_texts(command, "after_end", change->after_end, change->n_after_end);
    add_texts(command, "after_failure", change->after_failure, change->n_after_failure);
    add_text(command, "may_be_missing", change->may_be_missing ? "1" : NULL);
    add_text(command, "track", change->track == 0 ? NULL : change->track > 0 ? "1" : "0");
    add_text(command, "log", change->log);
    if (change->data.data)
        script_change_field(command, "data", change->data);
}

static int check_schedule(const struct muster_job_change *change, const char **why)
{
    *why = change->cron ? muster_cron_check(change->cron) : NULL;
    if (!*why && change->zone)
        *why = muster_zone_check(change->zone);
    if (!*why && (change->overlap < MUSTER_OVERLAP_NONE || change->overlap >= MUSTER_OVERLAP_COUNT))
        *why = "a recurring job's overlap must be allow, skip or queue";
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

static void say_not_changed(struct muster_client *c, int err, const char *id, const struct redisReply *reply)
{
    const char *what = reply_text(reply_at(reply, 1));
    bool is_unwanted = reply_is(reply_at(reply, 2), "only_if");
    bool is_hopeless = err == MUSTER_E_STATE && job_say_is_about_missing(err, reply_text(reply_at(reply, 2)));
    if (is_hopeless)
        client_say(c, job_say_missing(reply_text(reply_at(reply, 2)), id, what));
    else if (err == MUSTER_E_NOT_FOUND && job_say_is_about_missing(err, what))
        client_say(c, job_say_missing(what, id, reply_text(reply_at(reply, 2))));
    else if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis, "there is no job '%s' (any more)", id);
    if (err == MUSTER_E_STATE && is_unwanted)
        redis_error_set(c->redis,
                        "the job '%s' is %s, and was to be changed only in another state; nothing was changed", id,
                        what ? what : "in another state");
    else if (err == MUSTER_E_STATE && !is_hopeless)
        redis_error_set(c->redis, "the job '%s' is %s, and cannot be changed in this way; nothing was changed", id,
                        what ? what : "in another state");
    if (err == MUSTER_E_TOO_BIG && reply && !what)
        redis_error_set(c->redis,
                        "the job '%s' would have more than %d tags, or wait for more than %d jobs; nothing was changed",
                        id, MUSTER_JOB_TAGS_MAX, MUSTER_JOB_AFTER_MAX);
    if (err == MUSTER_E_INVALID || (err == MUSTER_E_TOO_BIG && what))
        client_say(c, job_say_obstacle(err, id, what));
}

enum job_change_next { CHANGE_ENDS, CHANGE_AGAIN, CHANGE_PASSES };

/* What is to be done after this: nothing; or it again, because the job got another schedule while the ticks of this one
 * were computed; or the job is to be left alone, because it is not what was meant (any more). */
static int change_once(struct muster_client *c, const char *id, const struct muster_job_change *change,
                       const struct job_guard *guard, enum job_change_next *next)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    struct job_cron_changed cron;
    int err = job_cron_change(c, id, change, &cron);
    if (err == MUSTER_OK) {
        script_change(&command, &c->root, id);
        add_guard(&command, guard);
        add_change(&command, change);
        job_cron_add_change(&command, change, &cron);
        err = client_run(c, &command, &reply);
        say_not_changed(c, err, id, reply);
    } else if (err == MUSTER_E_NOT_FOUND) {
        say_not_changed(c, err, id, NULL);
    } else if (err == MUSTER_E_STATE) {
        redis_error_set(c->redis, "the job '%s' does not recur by a schedule; nothing was changed", id);
    }
    *next = CHANGE_ENDS;
    if (err == MUSTER_E_STATE && reply_is(reply_at(reply, 2), "was"))
        *next = CHANGE_AGAIN;
    else if ((err == MUSTER_E_NOT_FOUND && !job_say_is_about_missing(err, reply_text(reply_at(reply, 1)))) ||
             (err == MUSTER_E_STATE && reply_is(reply_at(reply, 2), "only_if")))
        *next = CHANGE_PASSES;
    redis_reply_free(reply);
    redis_reply_free(cron.record);
    return err;
}

int job_change_check(struct muster_client *c, const char *id, const struct muster_job_change *change)
{
    const char *why = NULL;
    int err = client_answer(c, check_change(id, change, c->max_task_len, &why), &why);
    return err == MUSTER_OK ? client_answer(c, check_schedule(change, &why), &why) : err;
}

int job_change(struct muster_client *c, const char *id, const struct muster_job_change *change,
               const struct job_guard *guard, bool *passes)
{
    enum job_change_next next = CHANGE_AGAIN;
    int err = MUSTER_OK;
    for (int i = 0; next == CHANGE_AGAIN && i < SCHEDULE_TRIES; i++)
        err = change_once(c, id, change, guard, &next);
    *passes = next == CHANGE_PASSES;
    return err;
}

int muster_job_change(struct muster_client *c, const char *id, const struct muster_job_change *change)
{
    struct muster_job_change o;
    bool passes;
    int err = client_read(c, SIZED_JOB_CHANGE, &o, change);
    if (err == MUSTER_OK)
        err = job_change_check(c, id, &o);
    return err == MUSTER_OK ? job_change(c, id, &o, NULL, &passes) : err;
}

/* ---- cancel ---- */

static void say_not_cancelled(struct muster_client *c, int err, const char *what)
{
    if (err == MUSTER_E_STATE)
        redis_error_set(
            c->redis,
            "the job '%s' waits for one of them: cancel it too, or cancel with all that wait; nothing was changed",
            what ? what : "");
    if (err == MUSTER_E_TOO_BIG)
        redis_error_set(
            c->redis,
            "one call cancels at most %d jobs that are named, and %d with those that wait for them; nothing "
            "was changed",
            MUSTER_JOB_CANCEL_NAMED_MAX, MUSTER_JOB_CANCEL_MAX);
}

static void give_counts(const struct script_cancelled *count, uint64_t *removed, uint64_t *running)
{
    if (removed)
        *removed = count->removed;
    if (running)
        *running = count->running;
}

/* The jobs are cancelled by now. Their records go step by step; if this ends early, the timer's keeper goes on. */
static void cancel_rest(struct muster_client *c, struct redisReply *reply, const struct script_cancelled *cancelled)
{
    struct script_cancelled at = *cancelled;
    int err = MUSTER_OK;
    while (err == MUSTER_OK && at.left > 0) {
        struct command command = COMMAND_EMPTY;
        struct redisReply *next = NULL;
        uint64_t before = at.left;
        script_cancel_more(&command, &c->root, at.first, at.queue);
        err = client_run(c, &command, &next);
        if (err == MUSTER_OK)
            err = client_understand(c, script_jobs_cancelled(next, &at));
        if (err == MUSTER_OK && at.left >= before)
            err = MUSTER_E_REDIS; /* damage: another call would find the same */
        redis_reply_free(reply);
        reply = next;
    }
    redis_reply_free(reply);
    redis_pass_over(c->redis, err);
}

int job_cancel_run(struct muster_client *c, struct command *command, struct script_cancelled *count)
{
    struct redisReply *reply = NULL;
    *count = (struct script_cancelled){.removed = 0};
    int err = client_run(c, command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_jobs_cancelled(reply, count));
    else if (reply) /* the script's own refusal */
        say_not_cancelled(c, err, reply_text(reply_at(reply, 1)));
    if (err == MUSTER_OK)
        cancel_rest(c, reply, count);
    else
        redis_reply_free(reply);
    return err;
}

int muster_job_cancel(struct muster_client *c, const char *const *ids, size_t n, int dependents, uint64_t *removed,
                      uint64_t *running)
{
    struct command command = COMMAND_EMPTY;
    struct script_cancelled count = {.removed = 0};
    const char *why = NULL;
    int err = MUSTER_OK;
    give_counts(&count, removed, running);
    if (n > MUSTER_JOB_CANCEL_NAMED_MAX) {
        say_not_cancelled(c, MUSTER_E_TOO_BIG, NULL);
        return MUSTER_E_TOO_BIG;
    }
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = job_valid_id(ids ? ids[i] : NULL, &why);
    if (err != MUSTER_OK || n == 0)
        return client_answer(c, err, &why);
    script_cancel_jobs(&command, &c->root, ids, n, dependents ? CANCEL_AND_DEPENDENTS : CANCEL_THESE);
    err = job_cancel_run(c, &command, &count);
    give_counts(&count, removed, running);
    return err;
}
