/* SPDX-License-Identifier: MIT
 *
 * What muster lives on, tried: a write, a script, and a message that comes back. What is written is a key that a take
 * writes, too, so that a check finds nothing strange; it goes at once, or after a second.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client/doctor.h"

#define PATIENCE_MS 1000

static int say_tried(struct doctor *d, const char *subject, const char *what, int err, int64_t began_us)
{
    double ms = (double)(clock_us() - began_us) / 1000;
    if (err == MUSTER_OK && clock_us() - began_us >= DOCTOR_SLOW_US)
        doctor_say(d, MUSTER_ADVICE_MEND, subject, "see `answers`; SLOWLOG GET and LATENCY DOCTOR tell of its side",
                   "%s takes %.0f ms, which is slow", what, ms);
    else if (err == MUSTER_OK)
        doctor_say(d, MUSTER_ADVICE_GOOD, subject, "", "%s takes %.1f ms", what, ms);
    else if (!doctor_is_over(err) && err != MUSTER_E_DENIED) /* the rights have said that */
        doctor_say(d, MUSTER_ADVICE_MEND, subject, err == MUSTER_E_FULL ? "make room, or raise maxmemory" : "see above",
                   "%s is refused: %s", what, redis_error(d->client->redis));
    return doctor_is_over(err) ? err : MUSTER_OK;
}

static int try_write(struct doctor *d)
{
    char key[KEY_MAX];
    struct redisReply *reply = NULL;
    int64_t began_us = clock_us();
    snprintf(key, sizeof key, "%s:take:doctor", d->client->prefix);
    int err = client_ask(d->client, &reply, (const char *const[]){"SET", key, "doctor:0", "PX", "1000", NULL});
    redis_reply_free(reply);
    int code = say_tried(d, "write", "a write", err, began_us);
    if (err == MUSTER_OK) {
        reply = NULL;
        redis_pass_over(d->client->redis, client_ask(d->client, &reply, (const char *const[]){"DEL", key, NULL}));
        redis_reply_free(reply);
    }
    return code;
}

static int try_script(struct doctor *d)
{
    char key[KEY_MAX];
    struct redisReply *reply = NULL;
    int64_t began_us = clock_us();
    snprintf(key, sizeof key, "%s:", d->client->prefix);
    const char *const words[] = {"EVAL", "return redis.call('EXISTS', KEYS[1] .. 'format')", "1", key, NULL};
    int err = client_ask(d->client, &reply, words);
    redis_reply_free(reply);
    return say_tried(d, "script", "a script", err, began_us);
}

static int hear(struct doctor *d, const char *channel)
{
    struct redis *listener = NULL;
    struct redisReply *reply = NULL, *message = NULL;
    int err = redis_listen(&listener, d->client->redis, &channel, 1);
    if (err == MUSTER_OK)
        err = client_ask(d->client, &reply, (const char *const[]){"PUBLISH", channel, "round", NULL});
    if (err == MUSTER_OK)
        err = redis_hear(listener, PATIENCE_MS, &message);
    redis_reply_free(reply);
    redis_reply_free(message);
    redis_free(listener);
    return err;
}

static int try_message(struct doctor *d)
{
    char channel[KEY_MAX];
    int64_t began_us = clock_us();
    if (redis_check_listen(d->client->redis) != MUSTER_OK)
        return MUSTER_OK; /* a connection that was handed in cannot be made twice */
    snprintf(channel, sizeof channel, "%s:events:doctor", d->client->prefix);
    int err = hear(d, channel);
    if (err == MUSTER_E_TIMEOUT) {
        doctor_say(
            d, MUSTER_ADVICE_MEND, "messages", "let both of a client's connections lead to the same server",
            "a message that was published did not come within %d ms: workers are woken by the next heartbeat only",
            PATIENCE_MS);
        return MUSTER_OK;
    }
    return say_tried(d, "messages", "a message and its way back", err, began_us);
}

/* A viewer writes nothing and hears nothing; a producer hears nothing. */
int doctor_try(struct doctor *d)
{
    if (d->role == MUSTER_ROLE_VIEWER)
        return MUSTER_OK;
    int err = try_write(d);
    if (err == MUSTER_OK && !d->stop)
        err = try_script(d);
    return err == MUSTER_OK && !d->stop && d->role != MUSTER_ROLE_PRODUCER ? try_message(d) : err;
}
