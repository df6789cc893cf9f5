/* SPDX-License-Identifier: MIT
 *
 * Takes whose answer was not heard.
 *
 * The caller cannot know whether such a call took something, or still will: its request may lie in a socket that Redis
 * has not read yet. So each call has a name, under which the script notes what it took. Under this name all of it is
 * given back before the client takes again, and before it is freed. A call whose name was given back takes nothing any
 * more, whenever it comes.
 */
#include "client/unheard.h"

#include <stdio.h>

#include "client/client.h"
#include "protocol/script_task.h"

/* Who interrupts does not want to wait, and that Redis does not answer may be why. */
#define SOON_MS 1000
/* More calls than one take can need: whatever the answers say, Redis is not asked for ever. */
#define CALLS_MAX 100

const char *unheard_name(struct muster_client *c)
{
    struct unheard *u = &c->unheard;
    take_name_next(u->call, &u->n);
    return u->call;
}

const char *unheard_caller(const struct muster_client *c)
{
    return c->unheard.call;
}

/* For what comes alone there may be memory where there was none for several. If there is none for that either, it would be
 * the next that is taken, again and again: so its lease is left to lapse. */
void unheard_note(struct muster_client *c, const char *queue, size_t n, int err)
{
    if (redis_is_unanswered(err) || (err == MUSTER_E_NOMEM && n > 1))
        snprintf(c->unheard.queue, sizeof c->unheard.queue, "%s", queue);
}

static void say_left(const struct muster_client *c)
{
    take_name_say_left(c->unheard.queue, false, redis_error(c->redis));
}

static int give_back_some(struct muster_client *c, size_t least_bytes, struct script_untaken *back)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_untake(&command, &c->root, c->unheard.queue, c->unheard.call, least_bytes);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_untaken(reply, back));
    redis_reply_free(reply);
    return err;
}

static int give_back_all(struct muster_client *c, struct script_untaken *back)
{
    int err = MUSTER_OK;
    for (int i = 0; i < CALLS_MAX && err == MUSTER_OK && back->is_more; i++)
        err = give_back_some(c, 0, back);
    if (err == MUSTER_E_REDIS) /* a damaged key stays damaged: it must not stop all takes */
        say_left(c);
    if (err == MUSTER_OK || err == MUSTER_E_REDIS)
        *c->unheard.queue = '\0';
    return err;
}

int unheard_give_back(struct muster_client *c)
{
    struct script_untaken back = {.is_more = *c->unheard.queue != '\0'};
    return give_back_all(c, &back);
}

void unheard_end(struct muster_client *c)
{
    if (unheard_give_back(c) != MUSTER_OK && *c->unheard.queue)
        say_left(c);
}

int unheard_give_back_large(struct muster_client *c, struct script_untaken *back)
{
    *back = (struct script_untaken){0};
    if (!*c->unheard.queue)
        return MUSTER_OK;
    int timeout_ms = redis_hurry(c->redis, SOON_MS);
    int err = redis_open(c->redis);
    (void)redis_set_timeout(c->redis, timeout_ms); /* what is large takes its time */
    if (err == MUSTER_OK)
        err = give_back_some(c, COMMAND_LARGE, back);
    return err == MUSTER_OK && back->n > 0 ? give_back_all(c, back) : err;
}

void unheard_give_back_soon(struct muster_client *c, size_t n_given)
{
    char given[48] = "";
    int timeout_ms = redis_hurry(c->redis, SOON_MS);
    int err = unheard_give_back(c);
    (void)redis_set_timeout(c->redis, timeout_ms);
    if (n_given > 0)
        snprintf(given, sizeof given, "%zu were handed out; ", n_given);
    if (err == MUSTER_OK)
        redis_error_set(c->redis, "interrupted; %snothing%s is left taken", given, n_given > 0 ? " else" : "");
    else
        redis_error_set(c->redis,
                        "interrupted; %swhat it may have taken%s goes back with the next take, or when the client "
                        "is freed, or when the lease is over",
                        given, n_given > 0 ? " besides" : "");
}
