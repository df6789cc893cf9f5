/* SPDX-License-Identifier: MIT
 *
 * Listening to a queue (what was done, cancelled, deleted) and to jobs. The scripts publish only while they know of a
 * listener, so they are told again and again that there is one.
 */
#include "client/listen.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/client.h"
#include "protocol/events.h"

struct listening {
    const char *queue;
    const char *told; /* to the scripts: a queue, or "" for jobs */
    int (*hear)(struct muster_client *c, struct listening *l, const struct redisReply *message);
    muster_queue_event_fn *fn;
    muster_job_event_fn *job_fn;
    void *arg;
    bool stop;
    int64_t told_at_ms; /* when the scripts were last told, with success */
};

static int hear_queue(struct muster_client *c, struct listening *l, const struct redisReply *message)
{
    for (int type = 0; type < EVENTS_OF_QUEUE; type++) {
        char name[CHANNEL_MAX];
        struct events_heard heard;
        key_channel(name, c->root.channels, l->queue, events_what((enum muster_queue_event_type)type));
        if (reply_is(reply_at(message, 1), name) &&
            events_read(&heard, (enum muster_queue_event_type)type, l->queue, reply_bytes(reply_at(message, 2))) == 0)
            l->stop = l->fn(&heard.event, l->arg) != 0;
    }
    return MUSTER_OK;
}

static int subscribe_to_queue(struct muster_client *c, const char *queue, struct redis **listener)
{
    char names[EVENTS_OF_QUEUE][CHANNEL_MAX];
    const char *all[EVENTS_OF_QUEUE];
    for (int i = 0; i < EVENTS_OF_QUEUE; i++) {
        key_channel(names[i], c->root.channels, queue, events_what((enum muster_queue_event_type)i));
        all[i] = names[i];
    }
    return redis_listen(listener, c->redis, all, EVENTS_OF_QUEUE);
}

/* ---- jobs ---- */

int listen_read_job_event(const struct redisReply *message, char **text, struct muster_job_event *event)
{
    const char *bytes = reply_text(reply_at(message, 2));
    *text = bytes ? strdup(bytes) : NULL;
    if (bytes && !*text)
        return MUSTER_E_NOMEM;
    return bytes && events_read_job(event, *text) == 0 ? MUSTER_OK : MUSTER_E_REDIS;
}

static int hear_jobs(struct muster_client *c, struct listening *l, const struct redisReply *message)
{
    struct muster_job_event event;
    char *text;
    int err = listen_read_job_event(message, &text, &event);
    if (err == MUSTER_OK && (!l->queue || strcmp(l->queue, event.queue) == 0))
        l->stop = l->job_fn(&event, l->arg) != 0;
    free(text);
    if (err == MUSTER_E_NOMEM)
        redis_error_set(c->redis, "out of memory: an event was missed");
    return err == MUSTER_E_NOMEM ? err : MUSTER_OK;
}

int listen_subscribe_to_jobs(struct muster_client *c, struct redis **listener)
{
    char channel[CHANNEL_MAX];
    key_events(channel, c->root.channels);
    return redis_listen(listener, c->redis, (const char *const[]){channel}, 1);
}

static int subscribe(struct muster_client *c, const struct listening *l, struct redis **listener)
{
    return l->job_fn ? listen_subscribe_to_jobs(c, listener) : subscribe_to_queue(c, l->queue, listener);
}

/* ---- listening ---- */

/* E_TIMEOUT means that the time to listen is over. So a Redis that does not answer in time is E_CONN. */
int listen_announce(struct muster_client *c, const char *told)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_queue_call(&command, SCRIPT_LISTEN, &c->root, told);
    int err = client_run(c, &command, &reply);
    redis_reply_free(reply);
    return err == MUSTER_E_TIMEOUT ? MUSTER_E_CONN : err;
}

static int tell(struct muster_client *c, struct listening *l)
{
    const int64_t now = clock_ms();
    int err = listen_announce(c, l->told);
    if (err == MUSTER_OK)
        l->told_at_ms = now;
    return err;
}

static int say_time_is_over(struct muster_client *c, int64_t wait_ms)
{
    redis_error_set(c->redis, "the %lld ms to listen are over", (long long)wait_ms);
    return MUSTER_E_TIMEOUT;
}

/* Nobody tells them while the program's function runs. */
static int say_missed(struct muster_client *c, int64_t ms)
{
    redis_error_set(
        c->redis,
        "Redis was not told for %lld ms that somebody listens (what was heard took so long, or this program "
        "stood still): events may have been missed. Listen again, and look at what is there",
        (long long)ms);
    return MUSTER_E_CONN;
}

/* What has come is found in this time, also where it is asked before whether the connection leads to the right server. */
#define LAST_MS 1000

static int hear_one(struct muster_client *c, struct redis *listener, struct listening *l, int64_t wait_ms)
{
    struct redisReply *message;
    int err = redis_hear(listener, wait_ms, &message);
    if (err == MUSTER_OK)
        err = l->hear(c, l, message);
    redis_reply_free(message);
    return err;
}

/* If the scripts may have forgotten it, what came before that is heard, and then it ends. */
static int listen_on(struct muster_client *c, struct redis *listener, struct listening *l, int64_t wait_ms)
{
    const int64_t began_at_ms = clock_ms();
    int err = MUSTER_OK;
    while (!l->stop && (err == MUSTER_OK || err == MUSTER_E_TIMEOUT)) {
        const int64_t now = clock_ms(), left_ms = wait_ms - (now - began_at_ms), told_ago_ms = now - l->told_at_ms;
        const int64_t renew_in_ms = LISTEN_RENEW_MS - told_ago_ms;
        const bool is_forgotten = told_ago_ms > LISTEN_FRESH_MS;
        if (is_forgotten && (left_ms <= 0 || err == MUSTER_E_TIMEOUT))
            return say_missed(c, told_ago_ms);
        if (left_ms <= 0)
            return say_time_is_over(c, wait_ms);
        if (is_forgotten)
            err = hear_one(c, listener, l, LAST_MS);
        else if (renew_in_ms <= 0)
            err = tell(c, l);
        else
            err = hear_one(c, listener, l, left_ms < renew_in_ms ? left_ms : renew_in_ms);
    }
    return err == MUSTER_E_TIMEOUT ? MUSTER_OK : err;
}

static int listen_to(struct muster_client *c, struct listening *l, int64_t wait_ms, int (*ready)(void *arg))
{
    struct redis *listener = NULL;
    int err = l->queue ? client_check_queue(c, l->queue) : MUSTER_OK;
    if (err == MUSTER_OK && wait_ms < 0)
        err = client_refuse(c, "a time to listen must not be negative");
    if (err == MUSTER_OK)
        err = redis_check_listen(c->redis);
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err == MUSTER_OK)
        err = subscribe(c, l, &listener);
    if (err == MUSTER_OK)
        err = tell(c, l);
    if (err == MUSTER_E_TIMEOUT)
        err = MUSTER_E_CONN;
    if (err == MUSTER_OK && ready)
        l->stop = ready(l->arg) != 0;
    if (err == MUSTER_OK)
        err = listen_on(c, listener, l, wait_ms);
    redis_free(listener);
    return err;
}

int muster_queue_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                        muster_queue_event_fn *fn, void *arg)
{
    struct listening l = {.queue = queue ? queue : "", .told = queue, .hear = hear_queue, .fn = fn, .arg = arg};
    return listen_to(c, &l, wait_ms, ready);
}

int muster_job_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                      muster_job_event_fn *fn, void *arg)
{
    struct listening l = {.queue = queue, .told = "", .hear = hear_jobs, .job_fn = fn, .arg = arg};
    return listen_to(c, &l, wait_ms, ready);
}
