/* SPDX-License-Identifier: MIT
 *
 * Links: making and freeing one. link_private.h says what its other files do.
 */
#include "redis/link.h"

#include <hiredis/async.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "redis/link_private.h"

bool link_can_reconnect(const struct link *l)
{
    return l->has_url;
}

const struct url *link_url(const struct link *l)
{
    return l->has_url && !l->is_handed_in ? &l->url : NULL;
}

bool link_is_too_old(const struct link *l)
{
    return l->greeting.is_too_old;
}

int link_replicas(const struct link *l)
{
    return l->greeting.n_replicas;
}

bool link_is_format_known(const struct link *l)
{
    return l->greeting.is_format_known;
}

const struct cause *link_cause(const struct link *l)
{
    return &l->cause;
}

size_t link_n_places(const struct link *l)
{
    return (size_t)l->url.n_nodes + l->place.n_learned + l->n_addresses;
}

bool link_is_hopeless(const struct link *l)
{
    return cause_is_final(&l->cause, link_n_places(l));
}

int link_db(const struct link *l)
{
    return l->greeting.db;
}

const char *link_refusal(const struct redisAsyncContext *context)
{
    if (wire_refusal(&context->c))
        return wire_refusal(&context->c);
    bool is_its_own = !context->err && !context->ev.addRead && !context->onConnect && !context->onDisconnect;
    return is_its_own ? NULL : "is broken, or is attached to a loop already; it must be a connection of its own";
}

void link_close(struct link *l)
{
    l->is_closed = true;
    event_del(l->connector);
    link_break(l, MUSTER_E_CONN, "closed");
}

void link_go_to(struct link *l, const struct place_node *node, const char *why)
{
    if (!l->has_url || l->is_handed_in || l->is_break_due)
        return;
    bool is_connected = l->state > LINK_DOWN;
    place_go_to(&l->place, node);
    l->is_sent_on = is_connected;
    if (link_is_up(l))
        link_leave(l, why);
    else if (is_connected && !l->is_leaving)
        link_break(l, MUSTER_E_BUSY, why);
    else if (l->state == LINK_DOWN && !l->is_closed)
        timer_after_ms(l->connector, 0);
}

bool link_has_tried_all(const struct link *l)
{
    return l->attempts >= link_n_places(l);
}

const struct place *link_place(const struct link *l)
{
    return &l->place;
}

void link_follow(struct link *l, const struct link *other)
{
    if (!l->has_url || other->is_handed_in || place_is_same(&l->place, &other->place))
        return;
    struct place_target to = place_target(&other->place);
    if (!to.host)
        return; /* a socket is no address for anybody else. The owner ends the subscription when its slot leaves */
    struct place_node node = {.port = to.port};
    snprintf(node.host, sizeof node.host, "%s", to.host);
    link_go_to(l, &node, l->url.kind == URL_SENTINEL ? LINK_REPLACED : LINK_MOVED);
}

void link_forget_handed_in(struct link *l)
{
    if (l->state == LINK_NEW)
        l->handed_in = NULL;
}

/* What needs no memory of its own. */
static void take_options(struct link *l, const struct link_options *o)
{
    l->base = o->base;
    l->name = o->name;
    l->delay_max_ms = o->delay_max_ms;
    l->silence_ms = o->silence_ms;
    l->answers_first = o->answers_first;
    l->sends_again = o->sends_again;
    l->stays_at_sentinel = o->stays_at_sentinel;
    l->counts_replicas = o->counts_replicas;
    l->callbacks = o->callbacks;
    l->arg = o->arg;
    l->has_url = o->url != NULL;
}

int link_new(struct link **out, const struct link_options *o)
{
    struct link *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l)
        return MUSTER_E_NOMEM;
    take_options(l, o);
    link_call_init(l);
    int err = link_state_init(l);
    if (err == MUSTER_OK)
        err = link_io_init(l);
    if (err == MUSTER_OK)
        err = link_connect_init(l);
    if (err == MUSTER_OK && o->url)
        err = url_copy(&l->url, o->url);
    l->prefix = strdup(o->prefix);
    l->root_key = strdup(o->root_key);
    l->format_key = o->format_key ? strdup(o->format_key) : NULL;
    if (err != MUSTER_OK || !l->prefix || !l->root_key || (o->format_key && !l->format_key)) {
        link_free(l);
        return MUSTER_E_NOMEM;
    }
    place_init(&l->place, &l->url);
    if (l->has_url)
        url_describe(&l->url, l->where, sizeof l->where);
    else
        snprintf(l->where, sizeof l->where, "the connection that was handed in");
    l->handed_in = o->handed_in;
    *out = l;
    return MUSTER_OK;
}

static void ignore_down(void *arg, int err, const char *text)
{
    (void)arg, (void)err, (void)text;
}

void link_free(struct link *l)
{
    if (!l)
        return;
    l->callbacks = (struct link_callbacks){.down = ignore_down};
    link_enter(l, LINK_DOWN); /* no command is accepted from a callback that gets its NULL now */
    link_connect_clear(l);
    link_io_clear(l);
    link_state_clear(l);
    url_clear(&l->url);
    free(l->prefix);
    free(l->root_key);
    free(l->format_key);
    free(l);
}
