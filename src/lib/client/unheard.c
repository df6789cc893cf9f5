/* SPDX-License-Identifier: MIT
 *
 * What a client holds and its program has not got.
 *
 * Takes whose answer was not heard: the caller cannot know whether such a call took something, or still will: its request
 * may lie in a socket that Redis has not read yet. So each call has a name, under which the script notes what it took.
 * Under this name all of it is given back before the client takes again, and before it is freed. A call whose name was
 * given back takes nothing any more, whenever it comes.
 *
 * Processes that were taken and for which there is no memory (unsent.c): if one went back at once, it would be the next
 * that is taken, again and again. So it is held until the take has got what is behind it.
 *
 * What goes back so counts for nothing. Its lease must not lapse: that would count, and nobody has had it.
 */
#include "client/unheard.h"

#include <stdio.h>

#include "client/client.h"
#include "protocol/process_name.h"
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

void unheard_note(struct muster_client *c, const char *queue, int err)
{
    if (redis_is_unanswered(err) || err == MUSTER_E_NOMEM)
        snprintf(c->unheard.queue, sizeof c->unheard.queue, "%s", queue);
}

static void say_left(const struct muster_client *c, const char *queue)
{
    take_name_say_left(queue, false, redis_error(c->redis));
}

/* ---- what a call took ---- */

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
        say_left(c, c->unheard.queue);
    if (err == MUSTER_OK || err == MUSTER_E_REDIS)
        *c->unheard.queue = '\0';
    return err;
}

int unheard_give_back_call(struct muster_client *c, struct script_untaken *back)
{
    *back = (struct script_untaken){.is_more = *c->unheard.queue != '\0'};
    return give_back_all(c, back);
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

/* ---- what there is no memory for ---- */

void unheard_set_aside(struct muster_client *c, const char *queue, uint64_t token)
{
    struct unheard *u = &c->unheard;
    snprintf(u->aside.queue, sizeof u->aside.queue, "%s", queue);
    u->aside.tokens[u->aside.n++] = token;
}

static int give_back_one(struct muster_client *c, uint64_t token)
{
    char id[PROCESS_ID_MAX];
    process_name_of_lease(id, token, c->unheard.aside.queue);
    int err = muster_lease_give_back(c, id);
    if (err == MUSTER_E_REDIS) /* as above */
        say_left(c, c->unheard.aside.queue);
    return err == MUSTER_E_REDIS || err == MUSTER_E_LOST || err == MUSTER_E_CANCELLED ? MUSTER_OK : err;
}

int unheard_give_back_aside(struct muster_client *c)
{
    struct unheard *u = &c->unheard;
    int err = MUSTER_OK;
    while (u->aside.n > 0 && err == MUSTER_OK) {
        err = give_back_one(c, u->aside.tokens[u->aside.n - 1]);
        u->aside.n -= err == MUSTER_OK;
    }
    return err;
}

/* ---- both ---- */

int unheard_give_back(struct muster_client *c)
{
    struct script_untaken back;
    const int err = unheard_give_back_call(c, &back);
    const bool goes_on = err == MUSTER_OK || err == MUSTER_E_REDIS;
    return redis_first_error(c->redis, err, goes_on ? unheard_give_back_aside(c) : MUSTER_OK);
}

void unheard_end(struct muster_client *c)
{
    if (unheard_give_back(c) == MUSTER_OK)
        return;
    if (*c->unheard.queue)
        say_left(c, c->unheard.queue);
    if (c->unheard.aside.n > 0)
        say_left(c, c->unheard.aside.queue);
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
