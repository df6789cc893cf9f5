/* SPDX-License-Identifier: MIT
 *
 * The blocking client's handle, and how its calls are sent and fail.
 */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "client/full.h"
#include "protocol/names.h"
#include "redis/url_make.h"
#include "redis/wire.h"

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_MS (24 * 3600 * 1000)

static const char *check_options(const struct muster_client_options *o)
{
    const char *why = names_check_prefix_option(o->prefix);
    if (why)
        return why;
    if (o->timeout_ms < 0 || o->timeout_ms > TIMEOUT_MAX_MS)
        return words_say("timeout_ms is %d; it must be 1 to %d, or 0 for the default of %d", o->timeout_ms,
                         TIMEOUT_MAX_MS, TIMEOUT_DEFAULT_MS);
    if (o->max_task_len > MUSTER_TASK_MAX)
        return words_say("max_task_len is %zu; it must be 1 to %zu, or 0 for the default of %zu", o->max_task_len,
                         MUSTER_TASK_MAX, MUSTER_TASK_MAX_DEFAULT);
    if (o->redis && wire_refusal(o->redis))
        return words_say("redis %s", wire_refusal(o->redis));
    return NULL;
}

static struct url_options place_of(const struct muster_client_options *o)
{
    return (struct url_options)URL_OPTIONS_OF_O;
}

static int timeout_of(const struct muster_client_options *o)
{
    return o->timeout_ms ? o->timeout_ms : TIMEOUT_DEFAULT_MS;
}

/* NULL, or what is wrong with it in words. */
static const char *check_confirm(const struct muster_client_options *o, const struct url_options *place)
{
    struct url url;
    int err = o->redis ? url_make_handed_in(&url, place) : url_make(&url, place);
    const char *why = err == MUSTER_OK ? confirm_check(&url, timeout_of(o)) : NULL;
    url_clear(&url);
    return why;
}

const char *muster_client_options_check(const struct muster_client_options *options)
{
    struct muster_client_options o;
    const char *why = sized_read(SIZED_CLIENT_OPTIONS, &o, options);
    if (!why)
        why = check_options(&o);
    if (why)
        return why;
    const struct url_options place = place_of(&o);
    why = o.redis ? url_make_check_handed_in(&place) : url_make_check(&place);
    return why ? why : check_confirm(&o, &place);
}

static void on_selected(void *arg, int db)
{
    struct muster_client *c = arg;
    script_root_init(&c->root, c->prefix, db);
}

static int client_init(struct muster_client *c, const struct muster_client_options *o, const struct url *url)
{
    char format_key[KEY_MAX];
    snprintf(c->prefix, sizeof c->prefix, "%s", names_prefix(o->prefix));
    script_root_init(&c->root, c->prefix, url->db);
    c->max_task_len = o->max_task_len ? o->max_task_len : MUSTER_TASK_MAX_DEFAULT;
    key_of(format_key, c->prefix, KEY_FORMAT, "");
    return redis_new(&c->redis, &(struct redis_options){.url = url,
                                                        .borrowed = o->redis,
                                                        .timeout_ms = timeout_of(o),
                                                        .confirm = confirm_of_url(url, timeout_of(o)),
                                                        .prefix = c->prefix,
                                                        .root_key = c->root.text,
                                                        .format_key = format_key,
                                                        .selected = on_selected,
                                                        .arg = c});
}

int muster_client_new(struct muster_client **out, const struct muster_client_options *options)
{
    struct muster_client_options o;
    struct url url;
    *out = NULL;
    if (sized_read(SIZED_CLIENT_OPTIONS, &o, options) || check_options(&o))
        return MUSTER_E_INVALID;
    const struct url_options place = place_of(&o);
    int err = o.redis ? url_make_handed_in(&url, &place) : url_make(&url, &place);
    if (err == MUSTER_OK && confirm_check(&url, timeout_of(&o)))
        err = MUSTER_E_INVALID;
    if (err != MUSTER_OK) {
        url_clear(&url);
        return err;
    }
    struct muster_client *c = calloc(1, sizeof *c);
    err = c ? client_init(c, &o, &url) : MUSTER_E_NOMEM;
    url_clear(&url);
    if (err != MUSTER_OK) {
        muster_client_free(c);
        return err;
    }
    *out = c;
    return MUSTER_OK;
}

void muster_client_free(struct muster_client *c)
{
    if (!c)
        return;
    if (c->redis) {
        (void)redis_take_interrupt_back(c->redis); /* it was for a call of the program */
        (void)!unheard_give_back(c);               /* if that fails, the lease's end does it */
    }
    redis_free(c->redis);
    ages_clear(&c->ages);
    free(c);
}

int muster_client_interrupt(struct muster_client *c)
{
    redis_interrupt(c->redis);
    return MUSTER_OK;
}

int muster_client_interrupt_take_back(struct muster_client *c)
{
    return redis_take_interrupt_back(c->redis);
}

const char *muster_client_error(const struct muster_client *c)
{
    return redis_error(c->redis);
}

void muster_client_set_progress(struct muster_client *c, muster_progress_fn *fn, void *arg)
{
    c->progress.fn = fn;
    c->progress.arg = arg;
}

int client_step(struct muster_client *c, uint64_t done, uint64_t total)
{
    if (!c->progress.fn || c->progress.fn(&(struct muster_progress){done, total}, c->progress.arg) == 0)
        return MUSTER_OK;
    redis_error_set(c->redis, "stopped between two steps; what was done stays done");
    return MUSTER_E_STOPPED;
}

int client_refuse(struct muster_client *c, const char *why)
{
    redis_error_set(c->redis, "%s", why);
    return MUSTER_E_INVALID;
}

int client_answer(struct muster_client *c, int err, const char *const *why)
{
    if (err != MUSTER_OK)
        redis_error_set(c->redis, "%s", *why);
    return err;
}

int client_read(struct muster_client *c, enum sized what, void *out, const void *given)
{
    const char *why = sized_read(what, out, given);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

int client_check_queue(struct muster_client *c, const char *queue)
{
    const char *why = muster_queue_check(queue);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

int client_check_bytes(const struct muster_bytes *task, size_t max_len, const char **why)
{
    if (task->len > max_len) {
        *why = words_say("a task of %zu bytes is over the limit of %zu; nothing was sent", task->len, max_len);
        return MUSTER_E_TOO_BIG;
    }
    if (task->data || task->len == 0)
        return MUSTER_OK;
    *why = "a task has a length but no bytes; nothing was sent";
    return MUSTER_E_INVALID;
}

int client_check_task(struct muster_client *c, const struct muster_bytes *task)
{
    const char *why = NULL;
    return client_answer(c, client_check_bytes(task, c->max_task_len, &why), &why);
}

int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    command_words(&command, words);
    int err = redis_call(c->redis, &command, reply);
    command_clear(&command);
    return err;
}

int client_append(struct muster_client *c, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    command_words(&command, words);
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

int client_understand(struct muster_client *c, int err)
{
    if (err == MUSTER_E_REDIS)
        redis_error_set(c->redis, "the answer is none that a script of muster gives: is this another server?");
    return err;
}

int client_run(struct muster_client *c, struct command *command, struct redisReply **reply)
{
    int err = redis_script(c->redis, command, reply);
    command_clear(command);
    return full_explain(c, err);
}

int client_begin_adding(struct muster_client *c)
{
    int err = redis_claim_format(c->redis);
    c->confirmed.err = MUSTER_OK;
    return err == MUSTER_OK ? redis_confirm_prepare(c->redis) : err;
}

int client_run_confirmed(struct muster_client *c, struct command *command, enum redis_wake wake,
                         struct redisReply **reply)
{
    int err = redis_script_confirmed(c->redis, command, wake, reply, &c->confirmed);
    command_clear(command);
    return err;
}

int client_confirmed(struct muster_client *c)
{
    if (c->confirmed.err != MUSTER_OK)
        redis_error_set(c->redis, "%s", c->confirmed.why);
    return c->confirmed.err;
}

int muster_client_time(struct muster_client *c, int64_t *now_ms)
{
    struct redisReply *reply = NULL;
    int err = client_ask(c, &reply, (const char *const[]){"TIME", NULL});
    int64_t at_ms = err == MUSTER_OK ? reply_time_ms(reply) : -1;
    redis_reply_free(reply);
    if (err == MUSTER_OK && at_ms < 0)
        err = client_understand(c, MUSTER_E_REDIS);
    if (err == MUSTER_OK)
        *now_ms = at_ms;
    return err;
}
