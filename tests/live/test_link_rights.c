/* SPDX-License-Identifier: MIT
 *
 * A link whose user may not subscribe, or not end a subscription: that is told in these words, whatever else the link
 * asks at the same moment, and nothing is answered with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/link.h"
#include "scene.h"

struct use {
    struct link *link;
    bool may_subscribe, is_asked;
    int n_answered, n_lost, down_err;
    char down_text[300];
};

static void on_pong(const struct redisReply *reply, void *arg)
{
    struct use *u = arg;
    u->n_answered += reply_kind(reply) != REPLY_ERROR && reply;
    u->n_lost += !reply;
}

static void ping(struct use *u)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "PING");
    assert_ok(link_call(u->link, &c, on_pong, u));
    command_clear(&c);
}

/* Only the first connection is asked something: the next one may be up before the test looks. */
static void on_up(void *arg)
{
    struct use *u = arg;
    if (u->down_err != MUSTER_OK)
        return;
    assert_ok(link_subscribe(u->link, WIRE_CLASSIC, "may"));
    ping(u);
}

/* And a call right behind what is refused. */
static void on_subscribed(void *arg)
{
    struct use *u = arg;
    if (u->is_asked)
        return;
    u->is_asked = true;
    if (u->may_subscribe)
        assert_ok(link_unsubscribe(u->link, "may"));
    else
        assert_ok(link_subscribe(u->link, WIRE_CLASSIC, "may not"));
    ping(u);
}

static void on_down(void *arg, int err, const char *text)
{
    struct use *u = arg;
    u->down_err = u->down_err ? u->down_err : err;
    snprintf(u->down_text, sizeof u->down_text, "%s", text);
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    (void)arg, (void)channel, (void)message;
}

static bool is_down(void *arg)
{
    return ((struct use *)arg)->down_err != MUSTER_OK;
}

static bool is_answered_twice(void *arg)
{
    return ((struct use *)arg)->n_answered == 2;
}

static void begin(struct use *u, struct scene *s, const char *rights)
{
    struct url url;
    const char *why;
    char text[160];
    raw_do(s->server->redis, "ACL SETUSER bound reset on >pw ~* &may +@all");
    if (*rights)
        raw_do(s->server->redis, "ACL SETUSER bound %s", rights);
    snprintf(text, sizeof text, "unix://bound:pw@%s", s->server->socket);
    assert_ok(url_parse(&url, text, &why));
    assert_ok(link_new(&u->link, &(struct link_options){.base = s->base,
                                                        .url = &url,
                                                        .prefix = s->prefix,
                                                        .root_key = s->prefix,
                                                        .name = "test",
                                                        .delay_max_ms = 100,
                                                        .silence_ms = SOON_MS,
                                                        .callbacks = {on_up, on_down, on_subscribed, on_message},
                                                        .arg = u}));
    url_clear(&url);
    link_connect(u->link);
}

static void end(struct use *u, struct scene *s)
{
    link_free(u->link);
    raw_do(s->server->redis, "ACL DELUSER bound");
}

static void a_subscription_that_is_refused_is_told_as_that(void **state)
{
    struct use u = {.may_subscribe = false};
    begin(&u, *state, "");
    wait_on(((struct scene *)*state)->base, is_down, &u, SOON_MS);
    assert_err(u.down_err, MUSTER_E_DENIED);
    assert_non_null(strstr(u.down_text, "NOPERM"));
    assert_int_equal(u.n_answered, 0);
    assert_int_equal(u.n_lost, 2);
    end(&u, *state);
}

static void one_that_may_not_be_ended_is_told_as_that(void **state)
{
    struct use u = {.may_subscribe = true};
    begin(&u, *state, "-unsubscribe");
    wait_on(((struct scene *)*state)->base, is_down, &u, SOON_MS);
    assert_err(u.down_err, MUSTER_E_CONN);
    assert_non_null(strstr(u.down_text, "NOPERM"));
    assert_int_equal(u.n_answered, 0);
    assert_int_equal(u.n_lost, 2);
    end(&u, *state);
}

static void what_is_called_behind_one_that_is_ended_is_answered(void **state)
{
    struct use u = {.may_subscribe = true};
    begin(&u, *state, "");
    wait_on(((struct scene *)*state)->base, is_answered_twice, &u, SOON_MS);
    assert_ok(u.down_err);
    end(&u, *state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_subscription_that_is_refused_is_told_as_that),
        live_test(one_that_may_not_be_ended_is_told_as_that),
        live_test(what_is_called_behind_one_that_is_ended_is_answered),
    };
    return scene_run(tests, argc, argv);
}
