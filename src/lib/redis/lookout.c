/* SPDX-License-Identifier: MIT
 *
 * Asking a sentinel again and again. One that does not answer, or does not know the master, is left for the next one.
 */
#include "redis/lookout.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/timer.h"
#include "redis/master.h"

#define DELAY_MAX_MS 1000

struct lookout {
    struct link *sentinel, *links[LOOKOUT_LINKS];
    struct event *timer;
    struct url url;
    struct master master;
    int64_t asked_ms;
    bool is_asking;
};

static bool is_there(const struct lookout *o, const struct place *named)
{
    for (int i = 0; i < LOOKOUT_LINKS; i++)
        if (link_is_up(o->links[i]) && !place_is_same(link_place(o->links[i]), named))
            return false;
    return true;
}

/* All of them, also one that is there already: what was told or subscribed before belongs to both servers together. */
static void send_links(struct lookout *o)
{
    char why[MASTER_WHY_MAX];
    master_say(&o->master, clock_ms(), why, sizeof why);
    for (int i = 0; i < LOOKOUT_LINKS; i++)
        link_go_to(o->links[i], &o->master.named, why);
}

static void on_answer(const struct redisReply *reply, void *arg)
{
    struct lookout *o = arg;
    o->is_asking = false;
    if (!reply)
        return;
    struct place named = *link_place(o->sentinel);
    if (!master_read(&named, reply)) {
        link_break(o->sentinel, MUSTER_E_CONN, "this Sentinel does not know the master");
        return;
    }
    enum master_verdict verdict = master_judge(&o->master, &named, is_there(o, &named), o->asked_ms, clock_ms());
    if (verdict == MASTER_LEAVES)
        send_links(o);
    if (verdict == MASTER_ASKS_ANOTHER)
        link_break(o->sentinel, MUSTER_E_CONN, "this Sentinel names another master than others did");
}

static void ask(struct lookout *o)
{
    struct command c = COMMAND_EMPTY;
    if (o->is_asking || !link_is_up(o->sentinel))
        return;
    master_ask(&c, &o->url);
    o->asked_ms = clock_ms();
    o->is_asking = link_call(o->sentinel, &c, on_answer, o) == MUSTER_OK;
    command_clear(&c);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct lookout *o = arg;
    (void)fd, (void)what;
    ask(o);
    timer_after_ms(o->timer, MASTER_ASK_MS);
}

static void on_up(void *arg)
{
    ask(arg);
}

/* Whoever needs the sentinels in order to connect tells why none can be reached. */
static void on_down(void *arg, int err, const char *text)
{
    (void)arg, (void)err, (void)text;
}

int lookout_new(struct lookout **out, struct event_base *base, const struct url *url,
                struct link *const links[LOOKOUT_LINKS])
{
    *out = NULL;
    if (url->kind != URL_SENTINEL)
        return MUSTER_OK;
    struct lookout *o = calloc(1, sizeof *o);
    if (!o)
        return MUSTER_E_NOMEM;
    for (int i = 0; i < LOOKOUT_LINKS; i++)
        o->links[i] = links[i];
    int err = link_new(&o->sentinel, &(struct link_options){.base = base,
                                                            .url = url,
                                                            .stays_at_sentinel = true,
                                                            .prefix = "",
                                                            .root_key = "",
                                                            .name = "lookout",
                                                            .delay_max_ms = DELAY_MAX_MS,
                                                            .silence_ms = MASTER_PATIENCE_MS,
                                                            .callbacks = {.up = on_up, .down = on_down},
                                                            .arg = o});
    if (err == MUSTER_OK)
        err = url_copy(&o->url, url);
    o->timer = evtimer_new(base, on_timer, o);
    if (err != MUSTER_OK || !o->timer) {
        lookout_free(o);
        return MUSTER_E_NOMEM;
    }
    *out = o;
    return MUSTER_OK;
}

void lookout_open(struct lookout *o)
{
    if (!o)
        return;
    link_connect(o->sentinel);
    timer_after_ms(o->timer, MASTER_ASK_MS);
}

void lookout_free(struct lookout *o)
{
    if (!o)
        return;
    link_free(o->sentinel);
    if (o->timer)
        event_free(o->timer);
    url_clear(&o->url);
    free(o);
}
