/* SPDX-License-Identifier: MIT
 *
 * The blocking client's handle, and how its calls are sent and fail.
 */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/full.h"
#include "protocol/client_options.h"
#include "protocol/names.h"

static void on_selected(void *arg, int db)
{
    struct muster_client *c = arg;
    script_root_init(&c->root, c->prefix, db);
}

static int client_init(struct muster_client *c, const struct client_options *o)
{
    char format_key[KEY_MAX];
    snprintf(c->prefix, sizeof c->prefix, "%s", o->prefix);
    script_root_init(&c->root, c->prefix, o->url.db);
    c->max_task_len = o->max_task_len;
    key_of(format_key, c->prefix, KEY_FORMAT, "");
    return redis_new(&c->redis, &(struct redis_options){.url = &o->url,
                                                        .borrowed = o->redis,
                                                        .timeout_ms = o->timeout_ms,
                                                        .confirm = confirm_of_url(&o->url, o->timeout_ms),
                                                        .prefix = c->prefix,
                                                        .root_key = c->root.text,
                                                        .format_key = format_key,
                                                        .selected = on_selected,
                                                        .arg = c});
}

int muster_client_new(struct muster_client **out, const struct muster_client_options *options)
{
    struct client_options o;
    *out = NULL;
    int err = client_options_read(&o, options);
    struct muster_client *c = err == MUSTER_OK ? calloc(1, sizeof *c) : NULL;
    if (err == MUSTER_OK)
        err = c ? client_init(c, &o) : MUSTER_E_NOMEM;
    client_options_clear(&o);
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
    if (c->redis && redis_is_own(c->redis)) {
        (void)redis_take_interrupt_back(c->redis); /* it was for a call of the program */
        unheard_end(c);
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

void client_say(struct muster_client *c, const char *words)
{
    if (words)
        redis_error_set(c->redis, "%s", words);
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

int client_check_task(struct muster_client *c, const struct muster_bytes *task)
{
    const char *why = NULL;
    return client_answer(c, names_check_task(task, c->max_task_len, &why), &why);
}

static int ask(struct muster_client *c, struct redisReply **reply, const char *const *words, bool is_look)
{
    struct command command = {.is_look = is_look};
    command_words(&command, words);
    int err = redis_call(c->redis, &command, reply);
    command_clear(&command);
    return err;
}

int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words)
{
    return ask(c, reply, words, false);
}

int client_look(struct muster_client *c, struct redisReply **reply, const char *const *words)
{
    return ask(c, reply, words, true);
}

int client_append(struct muster_client *c, const char *const *words)
{
    struct command command = {.is_look = true};
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
