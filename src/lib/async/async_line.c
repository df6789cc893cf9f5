/* SPDX-License-Identifier: MIT
 *
 * The connection, and what is to be sent over it.
 *
 * Only so much is under way at once. The rest waits here, so that neighbours come together, a call that was never sent
 * is known to be not done, and a connection that breaks leaves little in doubt.
 */
#include "async/async_line.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "async/async.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "protocol/client_options.h"
#include "protocol/keys.h"
#include "redis/greeting.h"

/* Enough to keep Redis and the way to it busy. */
#define UNDER_WAY_MAX 64
#define UNDER_WAY_BYTES ((size_t)4 * 1024 * 1024)
/* The longest pause between attempts to connect. */
#define DELAY_MAX_MS 1000
/* Before what was refused is asked for again. */
#define LATER_MS 1000

static struct async_line *line_of(struct muster_async *a)
{
    return &a->line;
}

static void free_all(struct async_list *list)
{
    for (struct async_call *call; (call = async_list_pop(list)) != NULL;)
        async_call_free(call);
}

/* ---- waiting for a connection ---- */

/* A call waits from when it was made; but one that was here before anything went wrong, from then on. */
static int64_t expires_ms(const struct muster_async *a, const struct async_call *call)
{
    int64_t since_ms = call->made_ms > a->line.down_since_ms ? call->made_ms : a->line.down_since_ms;
    return since_ms + a->timeout_ms;
}

static void expire(struct muster_async *a)
{
    struct async_line *l = line_of(a);
    const struct cause *cause = link_cause(l->link);
    const bool is_over = link_is_hopeless(l->link);
    const int64_t now = clock_ms();
    int64_t next_ms = INT64_MAX;
    struct async_list all;
    async_list_init(&all);
    async_list_append(&all, &l->waiting);
    for (struct async_call *call; (call = async_list_pop(&all)) != NULL;) {
        if (!call->kind->is_own && (is_over || expires_ms(a, call) <= now)) {
            async_hear_failed(call, cause->err != MUSTER_OK ? cause->err : MUSTER_E_TIMEOUT,
                              *cause->text ? cause->text : "no connection in time; nothing was sent");
            continue;
        }
        if (!call->kind->is_own && expires_ms(a, call) < next_ms)
            next_ms = expires_ms(a, call);
        async_list_add(&l->waiting, call);
    }
    if (next_ms != INT64_MAX)
        timer_after_ms(l->expirer, next_ms - now);
}

/* A connection that is about to break may be here for long still, while answers come. Time counts from its end. */
static bool is_down(const struct muster_async *a)
{
    return !link_is_up(a->line.link) && a->line.down_since_ms != 0;
}

static void on_expirer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    (void)fd, (void)what;
    if (is_down(a))
        expire(a);
}

/* ---- sending ---- */

static bool can_send(const struct muster_async *a)
{
    const struct async_line *l = &a->line;
    return link_is_up(l->link) && !l->again.first && l->claim != ASYNC_CLAIMING && !l->is_looking &&
           l->n_sent < UNDER_WAY_MAX && (l->n_sent == 0 || (l->sent_bytes < UNDER_WAY_BYTES && !l->is_alone));
}

/* What was added and is not confirmed yet must not be lost with it either. */
static bool is_quiet(const struct async_line *l)
{
    return l->n_sent == 0 && !l->is_asking && !l->added.first;
}

static void send_waiting(struct muster_async *a)
{
    struct async_line *l = line_of(a);
    if (l->waiting.first && can_send(a) && clock_ms() >= l->role_due_ms)
        async_role_look(a);
    while (l->waiting.first && can_send(a)) {
        const struct async_kind *kind = l->waiting.first->kind;
        const bool is_alone = l->waiting.first->is_alone;
        if (is_alone && !is_quiet(l))
            break;
        if (kind->writes && l->claim != ASYNC_CLAIMED) {
            if (l->claim == ASYNC_UNCLAIMED)
                async_format_claim(a);
            break;
        }
        l->is_alone = is_alone;
        if (is_alone) /* takes that wait have questions of their own, which come by no list */
            link_next_goes_alone(l->link);
        kind->send(l->waiting.first);
    }
    async_hear_ask(a);
}

static void on_turn_end(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    struct async_line *l = line_of(a);
    (void)fd, (void)what;
    if (link_is_up(l->link))
        send_waiting(a);
    else if (l->waiting.first && is_down(a))
        expire(a);
    if (l->answered.first)
        async_outbox_put(&a->outbox, &l->answered, l->n_answered);
    l->n_answered = 0;
}

void async_line_go_on(struct muster_async *a)
{
    event_active(a->line.turn_end, EV_TIMEOUT, 1);
}

void async_line_add(struct muster_async *a, struct async_list *calls)
{
    if (a->line.is_closing)
        free_all(calls);
    async_list_append(&a->line.waiting, calls);
    async_line_go_on(a);
}

void async_line_add_first(struct muster_async *a, struct async_call *call)
{
    struct async_list one;
    if (a->line.is_closing && !call->kind->is_own) {
        async_call_free(call);
        return;
    }
    async_list_init(&one);
    async_list_add(&one, call);
    async_list_prepend(&a->line.waiting, &one);
    async_line_go_on(a);
}

static void send_later(struct muster_async *a)
{
    async_list_prepend(&a->line.waiting, &a->line.later);
    async_line_go_on(a);
}

static void on_returner(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    send_later(arg);
}

void async_line_add_later(struct muster_async *a, struct async_call *call)
{
    if (!a->line.later.first)
        timer_after_ms(a->line.returner, LATER_MS);
    async_list_add(&a->line.later, call);
}

/* ---- the link ---- */

static void on_pauser(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    (void)fd, (void)what;
    if (a->line.claim == ASYNC_PUT_OFF)
        a->line.claim = ASYNC_UNCLAIMED;
    async_list_prepend(&a->line.waiting, &a->line.again);
    async_line_go_on(a);
}

static void on_up(void *arg)
{
    struct muster_async *a = arg;
    a->line.was_up = true;
    a->line.role_due_ms = clock_in_ms(ROLE_LOOK_MS);
    pair_ask(&a->watches.pair);
    a->line.claim = link_is_format_known(a->line.link) && !a->line.confirm.fsync ? ASYNC_CLAIMED : ASYNC_UNCLAIMED;
    async_line_go_on(a);
}

static void on_down(void *arg, int err, const char *text)
{
    struct muster_async *a = arg;
    struct async_line *l = line_of(a);
    if (l->down_since_ms == 0)
        l->down_since_ms = clock_ms();
    l->claim = ASYNC_UNCLAIMED;
    l->is_looking = false;
    async_list_prepend(&l->waiting, &l->again);
    async_hear_down(a, err, text);
    send_later(a);
    if (l->is_closing && (l->n_own == 0 || !l->was_up || link_is_hopeless(l->link)))
        event_base_loopbreak(a->base);
    l->was_up = false;
}

static int make_link(struct muster_async *a, const struct url *url)
{
    char root[KEY_MAX], format[KEY_MAX];
    key_root(root, a->prefix);
    key_of(format, a->prefix, KEY_FORMAT, "");
    return link_new(&a->line.link, &(struct link_options){.base = a->base,
                                                          .url = url,
                                                          .prefix = a->prefix,
                                                          .root_key = root,
                                                          .format_key = format,
                                                          .name = "asynchronous",
                                                          .delay_max_ms = DELAY_MAX_MS,
                                                          .silence_ms = a->timeout_ms,
                                                          .answers_first = true,
                                                          .counts_replicas = a->line.confirm.replicas > 0,
                                                          .callbacks = {.up = on_up, .down = on_down},
                                                          .arg = a});
}

/* ---- its life ---- */

static void on_closer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    (void)fd, (void)what;
    event_base_loopbreak(a->base);
}

void async_line_close_if_done(struct muster_async *a)
{
    if (a->line.is_closing && a->line.n_own == 0)
        event_base_loopbreak(a->base);
}

static void drop_calls(struct async_list *list)
{
    struct async_list all;
    async_list_init(&all);
    async_list_append(&all, list);
    for (struct async_call *call; (call = async_list_pop(&all)) != NULL;) {
        if (call->kind->is_own) {
            async_list_add(list, call);
            continue;
        }
        if (call->kind->failed) /* what it may hold goes back */
            call->kind->failed(call);
        async_call_free(call);
    }
}

void async_line_close(struct muster_async *a)
{
    struct async_line *l = line_of(a);
    if (l->is_closing)
        return;
    l->is_closing = true;
    send_later(a);
    drop_calls(&l->waiting);
    drop_calls(&l->again);
    if (async_taker_give_back_all(a))
        timer_after_ms(l->closer, a->timeout_ms);
    async_line_close_if_done(a);
}

int async_line_init(struct muster_async *a, const struct client_options *o)
{
    struct async_line *l = line_of(a);
    struct async_list *const lists[] = {&l->waiting, &l->again, &l->later, &l->broken, &l->added, &l->answered};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        async_list_init(lists[i]);
    l->confirm = confirm_of_url(&o->url, a->timeout_ms);
    l->down_since_ms = clock_ms();
    l->turn_end = event_new(a->base, -1, 0, on_turn_end, a);
    l->pauser = evtimer_new(a->base, on_pauser, a);
    l->returner = evtimer_new(a->base, on_returner, a);
    l->expirer = evtimer_new(a->base, on_expirer, a);
    l->closer = evtimer_new(a->base, on_closer, a);
    if (!l->turn_end || !l->pauser || !l->returner || !l->expirer || !l->closer)
        return MUSTER_E_NOMEM;
    int err = make_link(a, &o->url);
    if (err == MUSTER_OK)
        link_connect(l->link);
    return err;
}

/* What is under way is in no list: as the link ends, it comes to `broken`. */
void async_line_clear(struct muster_async *a)
{
    struct async_line *l = line_of(a);
    if (l->n_own > 0)
        log_line(MUSTER_LOG_WARN,
                 "what takes may have taken (%zu of them) could not be given back; it comes back when their leases are "
                 "over: %s",
                 l->n_own, link_cause(l->link)->text);
    link_free(l->link);
    struct async_list *const lists[] = {&l->waiting, &l->again, &l->later, &l->broken, &l->added, &l->answered};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free_all(lists[i]);
    struct event *const events[] = {l->turn_end, l->pauser, l->returner, l->expirer, l->closer};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            event_free(events[i]);
}
