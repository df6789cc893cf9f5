/* SPDX-License-Identifier: MIT
 *
 * Taking under a lease.
 *
 * A take that fails after it was sent is given back under its name (async_taker.c); so is one that is answered, if the
 * client is freed before the program has heard of it.
 */
#include <stdlib.h>
#include <string.h>

#include "async/async.h"
#include "async/async_taker.h"
#include "async/async_unsent.h"
#include "base/clock.h"
#include "base/words.h"
#include "protocol/job_record.h"
#include "protocol/process_name.h"
#include "protocol/script_task.h"
#include "redis/redis.h"

/* A take goes on after so many calls that took nothing, if they say that there may be more. */
#define EMPTY_MAX 50
/* Longer than anybody waits. */
#define WAIT_MAX_MS (INT64_MAX / 4)

/* A process that was taken; what it says lies here or in the reply. */
struct taken {
    char id[PROCESS_ID_MAX];
    bool has_record;
    struct job_record record;
};

struct take {
    struct async_call call;
    struct script_take_lease what;
    int n_empty;
    int64_t wait_ms, until_ms; /* 0: it does not wait */
    unsigned heard;            /* async_watch_begin() when it was sent */
    struct async_unsent unsent;
    struct redisReply *reply;
    struct muster_process_info *infos;
    struct taken *taken;
    size_t n_taken;
    char queue[];
};

static struct take *take_of(const struct async_call *call)
{
    return (struct take *)(void *)call;
}

/* ---- what was taken ---- */

static struct muster_process_info *add_process(struct take *t, const struct script_leased *leased, uint64_t token)
{
    struct taken *taken = &t->taken[t->n_taken];
    process_name_of_lease(taken->id, token, t->queue);
    struct muster_process_info *info = &t->infos[t->n_taken++];
    *info = (struct muster_process_info){.id = taken->id,
                                         .worker = MUSTER_LEASE_ID,
                                         .queue = t->queue,
                                         .token = token,
                                         .started_at_ms = token_at_ms(token),
                                         .ends_at_ms = leased->ends_at_ms,
                                         .progress = ""};
    return info;
}

static void set_task(struct muster_process_info *info, struct muster_bytes task)
{
    info->task = task.data;
    info->len = info->whole_len = task.len;
}

static int add_job(struct take *t, const struct script_leased *leased, const struct script_leased_one *one)
{
    struct taken *taken = &t->taken[t->n_taken];
    char token[TOKEN_LEN + 1];
    token_format(token, one->token);
    int err = job_record_take(&taken->record, one->job, one->record, MUSTER_LEASE_ID, token, t->queue);
    if (err != MUSTER_OK)
        return err;
    taken->has_record = true;
    struct muster_process_info *info = add_process(t, leased, one->token);
    set_task(info, taken->record.job.data);
    info->job = taken->record.job.unique ? NULL : taken->record.job.id;
    info->record = taken->record.job.unique ? NULL : &taken->record.job;
    return MUSTER_OK;
}

static int add_one(struct take *t, const struct script_leased *leased, const struct script_leased_one *one)
{
    if (one->job)
        return add_job(t, leased, one);
    set_task(add_process(t, leased, one->token), one->task);
    return MUSTER_OK;
}

static int add_all(struct take *t, const struct redisReply *reply, const struct script_leased *leased)
{
    const size_t n = script_leased_len(leased);
    int err = MUSTER_OK;
    t->infos = calloc(n, sizeof *t->infos);
    t->taken = calloc(n, sizeof *t->taken);
    if (!t->infos || !t->taken)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct script_leased_one one;
        err = script_leased_one(reply, leased, i, &one);
        if (err == MUSTER_OK)
            err = add_one(t, leased, &one);
    }
    return err;
}

static void forget_all(struct take *t)
{
    for (size_t i = 0; t->taken && i < t->n_taken; i++)
        if (t->taken[i].has_record)
            job_record_clear(&t->taken[i].record);
    free(t->infos);
    free(t->taken);
    t->infos = NULL;
    t->taken = NULL;
    t->n_taken = 0;
}

/* ---- its life ---- */

static void nothing_is_there(struct take *t)
{
    async_hear_failed(&t->call, MUSTER_E_NOT_FOUND,
                      t->wait_ms > 0
                          ? words_say("nothing came from the queue '%s' in time", t->queue)
                          : words_say("nothing waits in the queue '%s', or it is paused, or its max_running, "
                                      "rate or max_running_per_key allows no more",
                                      t->queue));
}

/* Before it sleeps it must have said that it waits, after the queue's messages were heard: so nothing is missed. The last
 * look is after its time is over. */
static void wait_or_end(struct take *t, int64_t next_due_ms)
{
    struct muster_async *a = t->call.async;
    const unsigned heard = async_watch_hears(a, t->queue);
    const bool has_looked_last = t->wait_ms == 0 || t->what.waited_ms >= t->wait_ms;
    t->unsent.taker->may_hold = false;
    if (async_unsent_has_failed(&t->unsent))
        return;
    if (has_looked_last || a->line.is_closing)
        nothing_is_there(t);
    else if (heard != 0 && heard != t->heard)
        async_line_add_first(a, &t->call);
    else if (async_watch_sleep(&t->call, t->queue, t->unsent.taker->name, next_due_ms, t->until_ms) != MUSTER_OK)
        async_hear_failed(&t->call, MUSTER_E_NOMEM, NULL);
}

/* What it holds, and cannot be told, goes back. */
static void give_back(struct async_call *call)
{
    struct async_unsent *u = &take_of(call)->unsent;
    async_unsent_give_aside_back(u, call->err == MUSTER_E_NOMEM);
    if (!u->taker || !u->taker->may_hold)
        return;
    async_taker_give_back(call->async, u->taker);
    u->taker = NULL;
}

static bool is_held_back(const struct redisReply *reply, const struct script_leased *leased,
                         struct script_leased_one *one)
{
    return script_leased_len(leased) == 1 && script_leased_one(reply, leased, 0, one) == MUSTER_OK &&
           one->held_back > 0;
}

static void on_taken(const struct redisReply *reply, void *arg)
{
    struct take *t = arg;
    struct muster_async *a = t->call.async;
    struct script_leased leased = {.next_due_ms = -1};
    if (!reply && async_unsent_is_taken_care_of(&t->unsent))
        return;
    if (!async_hear_reply(&t->call, 0, reply))
        return;
    int err = script_leased(reply, t->what.n, &leased);
    const size_t n = script_leased_len(&leased);
    struct script_leased_one one = {0};
    if (err == MUSTER_OK && n == 0)
        async_unsent_heard(&t->unsent);
    if (err != MUSTER_OK && err != MUSTER_E_REDIS) {
        t->unsent.taker->may_hold = false;
        async_hear_refused(&t->call, err, reply);
    } else if (err == MUSTER_OK && n == 0 && leased.is_more && ++t->n_empty < EMPTY_MAX) {
        async_line_add_first(a, &t->call);
    } else if (err == MUSTER_OK && n == 0) {
        wait_or_end(t, leased.next_due_ms);
    } else if (err == MUSTER_OK && is_held_back(reply, &leased, &one)) {
        async_unsent_pass_over(&t->unsent, &one);
    } else if (err == MUSTER_OK && (err = add_all(t, reply, &leased)) == MUSTER_OK) {
        t->reply = (struct redisReply *)reply;
        link_keep_reply(a->line.link);
        async_unsent_give_aside_back(&t->unsent, false);
        async_hear_done(&t->call);
        async_watch_found(a, t->queue);
    } else if (err == MUSTER_E_NOMEM) {
        forget_all(t);
        async_unsent_lacks_memory(&t->unsent, n, &one);
    } else {
        async_hear_refused(&t->call, err, reply);
    }
}

static void set_wait(struct take *t)
{
    const int64_t left_ms = t->until_ms - clock_ms();
    t->what.wait = SCRIPT_WAIT_NONE;
    if (t->wait_ms == 0)
        return;
    t->heard = async_watch_begin(t->call.async, t->queue);
    t->what.waited_ms = left_ms > 0 ? t->wait_ms - left_ms : t->wait_ms;
    if (t->heard != 0)
        t->what.wait = left_ms > 0 ? SCRIPT_WAIT : SCRIPT_WAIT_OVER;
}

static int send_take(struct async_call *call)
{
    struct take *t = take_of(call);
    struct muster_async *a = call->async;
    struct command c = COMMAND_EMPTY;
    async_list_pop(&a->line.waiting);
    if (t->unsent.send)
        return t->unsent.send(&t->unsent);
    take_name_next(t->unsent.taker->name, &t->unsent.taker->n);
    t->what.call = t->unsent.taker->name;
    t->what.queue = t->queue;
    set_wait(t);
    struct script_take_lease what = t->what;
    async_unsent_ask(&t->unsent, &what);
    script_take(&c, &a->root, &what);
    c.is_heavy = true;
    c.weight = what.n;
    int err = link_script_in_order(a->line.link, &c, on_taken, t);
    command_clear(&c);
    t->unsent.taker->may_hold = err == MUSTER_OK;
    if (err == MUSTER_OK)
        async_hear_sent(call, 0);
    else
        async_hear_failed(call, err, NULL);
    return err;
}

static void tell_taken(const struct async_call *call, struct muster_answer *answer)
{
    const struct take *t = take_of(call);
    if (call->err != MUSTER_OK)
        return;
    answer->processes = t->infos;
    answer->n = t->n_taken;
}

/* What was taken is the program's now. */
static void hand_over(struct async_call *call)
{
    struct async_taker *taker = take_of(call)->unsent.taker;
    if (taker)
        taker->may_hold = false;
}

static void clear_take(struct async_call *call)
{
    struct take *t = take_of(call);
    forget_all(t);
    redis_reply_free(t->reply);
    async_unsent_clear(&t->unsent);
}

static const struct async_kind kind_take = {.writes = true,
                                            .send = send_take,
                                            .failed = give_back,
                                            .tell = tell_taken,
                                            .handed = hand_over,
                                            .clear = clear_take};

static int check_take(const struct muster_async *a, const char *queue, size_t n, int64_t lease_ms)
{
    int err = async_enter(a);
    if (err == MUSTER_OK)
        err = async_thread_check_queue(queue);
    if (err != MUSTER_OK)
        return err;
    if (n < 1 || n > MUSTER_LEASE_TAKE_MAX)
        return async_thread_refuse(MUSTER_E_INVALID, "one call takes 1 to 1000 tasks");
    if (lease_ms < 1 || lease_ms > MUSTER_LEASE_MAX_MS)
        return async_thread_refuse(MUSTER_E_INVALID, "a lease must be 1 ms to 30 days long");
    return MUSTER_OK;
}

int muster_async_take(struct muster_async *a, const char *queue, size_t n, int64_t lease_ms, int64_t wait_ms,
                      muster_async_fn *fn, void *arg)
{
    int err = check_take(a, queue, n, lease_ms);
    if (err == MUSTER_OK && wait_ms < 0)
        err = async_thread_refuse(MUSTER_E_INVALID, "a time to wait must not be negative");
    if (err != MUSTER_OK)
        return err;
    const size_t len = strlen(queue) + 1;
    struct take *t = async_call_new(a, &kind_take, sizeof *t + len, fn, arg);
    if (!t)
        return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
    memset((char *)t + sizeof t->call, 0, sizeof *t - sizeof t->call);
    memcpy(t->queue, queue, len);
    t->what = (struct script_take_lease){.n = n, .lease_ms = lease_ms};
    t->wait_ms = wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS;
    t->until_ms = clock_in_ms(t->wait_ms);
    t->unsent = (struct async_unsent){.take = &t->call, .taker = async_taker_get(a, queue)};
    if (t->unsent.taker)
        return async_inbox_post(a, &t->call);
    async_call_free(&t->call);
    return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
}
