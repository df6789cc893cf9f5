/* SPDX-License-Identifier: MIT
 *
 * Scripts over the blocking connection: by digest, once more with the body if Redis does not know it, and what their
 * own status means.
 */
#include <string.h>

#include "base/log.h"
#include "redis/redis_private.h"

static bool is_noscript(const struct redis *r, int err)
{
    return err == MUSTER_E_REDIS && strstr(r->error, "NOSCRIPT ") != NULL;
}

/* What goes with a script in the same write: a small command before it, a question behind it, or neither. */
struct company {
    enum redis_wake wake;
    struct redis_confirmed *confirmed; /* NULL: nobody asks */
};

/*
 * At the end of a turn of its loop Redis writes first to the client for which output was queued last. So the caller of
 * a bare script is answered before the workers to which the script publishes. It wakes first, and takes the processor
 * that a worker needs. A caller for which an answer is queued already comes after them, so a small command goes before
 * the script. Its answer tells nothing that the script's answer does not. If Redis ever writes in another order, only
 * the timing changes.
 */
static int append_small(struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"GET", r->format_key, NULL});
    int err = redis_append(r, &c);
    command_clear(&c);
    return err;
}

/* Whatever the small command is answered, the script's answer counts. */
static int call_in_company(struct redis *r, struct command *c, struct company with, struct redisReply **reply)
{
    struct redisReply *small = NULL;
    *reply = NULL;
    int err = redis_asked_finish(r);
    if (err == MUSTER_OK && with.wake == REDIS_WAKES)
        err = append_small(r);
    if (err == MUSTER_OK)
        err = redis_append(r, c);
    if (err == MUSTER_OK && with.confirmed)
        err = redis_confirm_append(r);
    if (err == MUSTER_OK && with.wake == REDIS_WAKES)
        err = redis_read(r, &small);
    redis_reply_free(small);
    if (r->asked)
        err = redis_read(r, reply);
    if (err == MUSTER_OK && with.confirmed)
        redis_confirm_read(r, redis_connection(r), with.confirmed);
    else if (r->asked)
        redis_confirm_skip(r);
    return err;
}

/* Its text in place of its digest. */
static void put_body_in(struct command *c)
{
    command_close(c);
    c->argv[0] = "EVAL";
    c->lens[0] = strlen("EVAL");
    c->argv[1] = (const char *)c->script->body;
    c->lens[1] = c->script->len;
}

/* Its place among those that are known; REDIS_KNOWN_MAX: it is none of them, and there is no room. */
static size_t place_of(const struct redis *r, const struct lua_script *script)
{
    size_t n = 0;
    while (n < REDIS_KNOWN_MAX && r->known[n] && r->known[n] != script)
        n++;
    return n;
}

/* A script that Redis does not know would be asked about twice, and the second question would wait as long as the
 * first. So over each connection it goes with its body first. */
static int call_confirmed(struct redis *r, struct command *c, struct company with, struct redisReply **reply)
{
    size_t place = place_of(r, c->script);
    bool is_known = place < REDIS_KNOWN_MAX && r->known[place];
    if (!is_known)
        put_body_in(c);
    int err = call_in_company(r, c, with, reply);
    place = place_of(r, c->script); /* the connection may be another one */
    if (err == MUSTER_OK && !is_known && place < REDIS_KNOWN_MAX)
        r->known[place] = c->script;
    return err;
}

void redis_script_say_key(struct redis *r, const char *key)
{
    redis_error_set(r, "the key '%s' has a wrong type: another program wrote it", key);
}

void redis_script_say(struct redis *r, const struct lua_script *script, int err, const char *key)
{
    if (err == MUSTER_E_REDIS && key)
        redis_script_say_key(r, key);
    else
        redis_error_set(r, "%s: %s", script->name, muster_err_text(err));
    redis_count(r, err);
}

/* `err` and `*reply` are the result of its EVALSHA. */
static int finish_script(struct redis *r, struct command *c, int err, struct redisReply **reply,
                         struct redis_confirmed *confirmed)
{
    const struct lua_script *script = c->script;
    if (is_noscript(r, err)) {
        trace_line(TRACE_SCRIPT, "%s: Redis does not know it yet, sent with its body", script->name);
        *r->error = '\0'; /* it is no failure to the caller */
        put_body_in(c);
        err = call_in_company(r, c, (struct company){REDIS_WAKES_NOBODY, confirmed}, reply);
    }
    if (err == MUSTER_OK && (err = reply_status(*reply)) != MUSTER_OK)
        redis_script_say(r, script, err, reply_text(reply_at(*reply, 1)));
    trace_line(TRACE_SCRIPT, "%s: %s", script->name, muster_err_text(err));
    return err;
}

int redis_script(struct redis *r, struct command *c, struct redisReply **reply)
{
    return finish_script(r, c, redis_call(r, c, reply), reply, NULL);
}

int redis_script_waking(struct redis *r, struct command *c, struct redisReply **reply)
{
    int err = call_in_company(r, c, (struct company){REDIS_WAKES, NULL}, reply);
    return finish_script(r, c, err, reply, NULL);
}

int redis_script_confirmed(struct redis *r, struct command *c, enum redis_wake wake, struct redisReply **reply,
                           struct redis_confirmed *confirmed)
{
    *confirmed = (struct redis_confirmed){.err = MUSTER_OK};
    if (!redis_confirms(r))
        confirmed = NULL;
    const struct company with = {wake, confirmed};
    int err = confirmed ? call_confirmed(r, c, with, reply) : call_in_company(r, c, with, reply);
    return finish_script(r, c, err, reply, confirmed);
}
