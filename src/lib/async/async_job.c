/* SPDX-License-Identifier: MIT
 *
 * Looking at a job's record.
 *
 * Redis closes the connection rather than send a long one (client-output-buffer-limit), and all calls beside it would
 * be lost. So a script brings of what is long only the beginning; where something is, Redis is asked for its limit, and
 * only a record that may pass it is asked for, with nothing beside it. Who may run no script asks for the lengths.
 */
#include <string.h>

#include "async/async.h"
#include "async/async_asked.h"
#include "base/words.h"
#include "protocol/job_record.h"
#include "protocol/job_valid.h"
#include "protocol/keys.h"
#include "protocol/script_queue.h"
#include "protocol/size_limit.h"
#include "redis/redis.h"

static const char *const long_fields[] = {"data", "result"};
#define LONG_FIELDS (sizeof long_fields / sizeof *long_fields)

enum stage { HEADS, LENGTHS, LIMITS, WHOLE };

struct look {
    struct async_asked asked;
    enum stage stage;
    size_t n_asked; /* lengths */
    uint64_t n_bytes;
    unsigned n_breaks; /* at its bytes */
    struct byte_limits limits;
    struct redisReply *reply; /* what the record borrows */
    struct job_record record;
};

static struct look *look_of(const struct async_call *call)
{
    return (struct look *)(void *)call;
}

static void go_on(struct look *l, enum stage stage)
{
    l->stage = stage;
    async_line_add_first(l->asked.call.async, &l->asked.call);
}

/* ---- its record ---- */

static int read_record(struct look *l, const struct redisReply *all, const struct redisReply *record)
{
    if (reply_kind(record) != REPLY_LIST)
        return reply_err(record) != MUSTER_OK ? reply_err(record) : MUSTER_E_REDIS;
    if (reply_len(record) == 0)
        return MUSTER_E_NOT_FOUND;
    int err = job_record_read(&l->record, l->asked.name, record);
    if (err != MUSTER_OK)
        return err;
    l->reply = (struct redisReply *)all;
    link_keep_reply(l->asked.call.async->line.link);
    return MUSTER_OK;
}

static void hear_record(struct look *l, const struct redisReply *all, const struct redisReply *record)
{
    struct async_call *call = &l->asked.call;
    int err = read_record(l, all, record);
    if (err == MUSTER_OK)
        async_hear_done(call);
    else if (err == MUSTER_E_NOT_FOUND)
        async_hear_failed(call, err, words_say("there is no job '%s' (any more)", l->asked.name));
    else if (err == MUSTER_E_REDIS && (reply_kind(record) != REPLY_ERROR || reply_is_refusal(record, "WRONGTYPE")))
        async_hear_failed(
            call, err, words_say("the record of the job '%s' cannot be read: another program wrote it", l->asked.name));
    else
        async_hear_refused(call, err, record);
}

/* ---- too big ---- */

static const char *too_big(const struct look *l, char words[SIZE_LIMIT_JOB])
{
    size_limit_job(words, l->asked.name, &(struct job_too_big){l->n_bytes, l->limits.answer});
    return words;
}

/* Its connection ended. Other things end connections, too: so it is tried as often as convicts it. */
static bool is_convicted(struct look *l)
{
    char words[SIZE_LIMIT_JOB];
    struct async_call *call = &l->asked.call;
    if (!call->is_alone || !link_was_alone(call->async->line.link))
        return false;
    if (++l->n_breaks < SIZE_LIMIT_BREAKS)
        async_hear_unsent(call);
    else
        async_hear_given_up(call, MUSTER_E_TOO_BIG, too_big(l, words));
    return true;
}

static void on_limits(const struct redisReply *reply, void *arg)
{
    char words[SIZE_LIMIT_JOB];
    struct look *l = arg;
    struct async_call *call = &l->asked.call;
    if (!async_hear_reply(call, 0, reply))
        return;
    byte_limits_hear(&l->limits, reply);
    call->is_alone = byte_limits_may_end(&l->limits, BYTE_LIMITS_ANSWER, l->n_bytes);
    if (byte_limits_must_end(&l->limits, l->n_bytes))
        async_hear_failed(call, MUSTER_E_TOO_BIG, too_big(l, words));
    else
        go_on(l, WHOLE);
}

/* ---- its stages ---- */

static bool is_cut(const struct redisReply *record)
{
    bool is = false;
    for (size_t i = 0; i < reply_len(record); i++)
        is |= reply_kind(reply_at(record, i)) == REPLY_LIST;
    return is;
}

static void on_heads(const struct redisReply *reply, void *arg)
{
    struct look *l = arg;
    struct async_call *call = &l->asked.call;
    const struct redisReply *record = reply_at(reply, 2);
    if (!async_hear_reply(call, l->asked.bytes, reply))
        return;
    int err = reply_err(reply);
    for (size_t i = 0; i < LONG_FIELDS; i++) {
        uint64_t whole = 0;
        (void)reply_head(reply_field(record, long_fields[i]), &whole);
        l->n_bytes += whole;
    }
    if (err == MUSTER_E_DENIED)
        go_on(l, LENGTHS);
    else if (reply_kind(record) != REPLY_LIST)
        async_hear_refused(call, err == MUSTER_OK ? MUSTER_E_REDIS : err, reply);
    else if (is_cut(record))
        go_on(l, LIMITS);
    else
        hear_record(l, reply, record);
}

/* Who may not ask for a length is sent all of it. */
static void on_length(const struct redisReply *reply, void *arg)
{
    struct look *l = arg;
    if (!async_hear_reply(&l->asked.call, 0, reply))
        return;
    l->n_bytes += reply_count(reply);
    go_on(l, ++l->n_asked < LONG_FIELDS ? LENGTHS : l->n_bytes >= COMMAND_LARGE ? LIMITS : WHOLE);
}

static void on_whole(const struct redisReply *reply, void *arg)
{
    struct look *l = arg;
    if (!reply && is_convicted(l))
        return;
    if (async_hear_reply(&l->asked.call, 0, reply))
        hear_record(l, reply, reply);
}

static link_reply_fn *say_stage(const struct look *l, struct command *c, char key[KEY_MAX])
{
    key_of(key, l->asked.call.async->prefix, KEY_JOB, l->asked.name);
    switch (l->stage) {
    case LENGTHS:
        command_words(c, (const char *const[]){"HSTRLEN", key, long_fields[l->n_asked], NULL});
        return on_length;
    case LIMITS:
        byte_limits_ask(c);
        return on_limits;
    default:
        command_words(c, (const char *const[]){"HGETALL", key, NULL});
        c->is_heavy = l->asked.call.is_alone;
        return on_whole;
    }
}

static int send_look(struct async_call *call)
{
    struct look *l = look_of(call);
    struct muster_async *a = call->async;
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    if (l->stage == HEADS)
        return async_asked_send(&l->asked, on_heads);
    async_list_pop(&a->line.waiting);
    link_reply_fn *hear = say_stage(l, &c, key);
    int err = link_call(a->line.link, &c, hear, l);
    command_clear(&c);
    if (err == MUSTER_OK)
        async_hear_sent(call, 0);
    else
        async_hear_failed(call, err, NULL);
    return err;
}

static void tell_job(const struct async_call *call, struct muster_answer *answer)
{
    if (call->err == MUSTER_OK)
        answer->job = &look_of(call)->record.job;
}

static void clear_look(struct async_call *call)
{
    struct look *l = look_of(call);
    if (l->reply)
        job_record_clear(&l->record);
    redis_reply_free(l->reply);
    async_asked_clear(call);
}

static const struct async_kind kind_job = {.send = send_look, .tell = tell_job, .clear = clear_look};

int muster_async_job(struct muster_async *a, const char *id, muster_async_fn *fn, void *arg)
{
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    const char *why = NULL;
    int err = async_enter(a);
    if (err == MUSTER_OK && job_valid_id(id, &why) != MUSTER_OK)
        err = async_thread_refuse(MUSTER_E_INVALID, why);
    if (err != MUSTER_OK)
        return err;
    key_of(key, a->prefix, KEY_JOB, id);
    script_heads(&c, &a->root, COMMAND_LARGE, COMMAND_LARGE);
    command_number(&c, 2);
    command_words(&c, (const char *const[]){"HGETALL", key + a->root.len, NULL});
    return async_asked_post(a, async_asked_new(a, &kind_job, sizeof(struct look), &c, id, fn, arg));
}
