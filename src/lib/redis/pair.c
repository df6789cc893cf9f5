/* SPDX-License-Identifier: MIT
 *
 * Are two links at the same server?
 */
#include "redis/pair.h"

#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>

void pair_ear_name(char out[EAR_MAX], const char *root_key)
{
    snprintf(out, EAR_MAX, "%sear:%08x%08x", root_key, arc4random(), arc4random());
}

void pair_subscribed(struct pair *p, bool is_subscribed)
{
    if (is_subscribed != (p->subscription > 0))
        p->subscription = is_subscribed ? ++p->n : 0;
    p->is_here &= is_subscribed;
}

void pair_doubt(struct pair *p)
{
    p->is_here = false;
}

bool pair_should_ask(const struct pair *p)
{
    return p->subscription && !p->is_here && p->n_elsewhere < 2;
}

bool pair_counted(struct pair *p, unsigned subscription, uint64_t n)
{
    if (!p->subscription)
        return true;
    if (p->subscription != subscription)
        return false;
    p->is_here = n > 0;
    p->n_elsewhere = p->is_here ? 0 : p->n_elsewhere + 1;
    if (p->n_elsewhere > 0)
        link_leave(p->hears, "the server that the other connection leads to does not count it");
    if (p->n_elsewhere > 1)
        link_leave(p->asks, "the other connection leads to another server, again");
    return true;
}

/* ---- asking ---- */

int pair_subscribe_ear(struct pair *p, const char *root_key)
{
    if (!*p->ear)
        pair_ear_name(p->ear, root_key);
    return link_subscribe(p->hears, WIRE_CLASSIC, p->ear);
}

/* One who may not publish is not told where he is. */
static void on_asked(const struct redisReply *reply, void *arg)
{
    struct pair *p = arg;
    const unsigned about = p->asked_about;
    p->asked_about = 0;
    if (!reply)
        return;
    bool is_known = reply_kind(reply) == REPLY_INTEGER;
    if (!pair_counted(p, about, is_known ? reply_count(reply) : 1) && pair_should_ask(p))
        pair_ask(p);
    if (p->is_here && p->here)
        p->here(p->arg);
}

void pair_ask(struct pair *p)
{
    struct command c = COMMAND_EMPTY;
    if (!p->subscription || p->asked_about || !link_is_up(p->asks))
        return;
    command_words(&c, (const char *const[]){"PUBLISH", p->ear, "", NULL});
    p->asked_about = p->subscription;
    if (link_call(p->asks, &c, on_asked, p) != MUSTER_OK) {
        p->asked_about = 0;
        link_break(p->asks, MUSTER_E_NOMEM, "out of memory");
    }
    command_clear(&c);
}
