/* SPDX-License-Identifier: MIT
 *
 * One endpoint in front of a master and its replica: a name, an address or a proxy that leads to another server from one
 * moment on, while the connections that there are stay. The replica is promoted, and the master becomes its replica.
 *
 * With the environment variable MUSTER_TEST_SENTINEL the endpoint is a sentinel, which names another master from that
 * moment on. Before each of the two servers is a proxy, whose address it names.
 *
 * A test of `who` is a function who_follows(struct scene *, enum endpoint_turn, enum endpoint_after);
 * ENDPOINT_CASES(ENDPOINT_CASE, who) makes cases of it, and ENDPOINT_CASES(ENDPOINT_ENTRY, who) lists them for cmocka.
 */
#ifndef ENDPOINT_SCENE_H
#define ENDPOINT_SCENE_H

#include "fake_server.h"
#include "proxy.h"
#include "scene.h"

#define ENDPOINT_TIMEOUT_MS 2000

extern struct endpoint {
    struct redis_server old, new;
    const char *url;
    struct proxy proxy; /* the endpoint; or before the old one */
    bool is_sentinel;
    struct fake_server sentinel;
    struct proxy at_new; /* the same: before the new one */
} endpoint;

/* For cmocka, in place of those of a scene. */
int endpoint_scene_begin(void **state);
int endpoint_scene_end(void **state);
#define endpoint_test(f) cmocka_unit_test_setup_teardown(f, endpoint_scene_begin, endpoint_scene_end)

/* What follows the failover. */
enum endpoint_turn {
    PLAIN,   /* nothing: the old master refuses what is written */
    REFUSED, /* it does, and then the endpoint refuses connections for a while */
    CUT,     /* the connections for data break before they hear of it */
    DEAF,    /* the subscriptions break, and no others */
};

/* The old master follows the new one; or cannot, then what is published at the new one never comes to it; or nobody has
 * told it, and it is a master still, also beside one that has none of its data; or another master, which has none, has
 * its address by now. */
enum endpoint_after { FOLLOWS, IS_CUT_OFF, LIVES_ON, BESIDE_AN_EMPTY_ONE, IS_ANOTHER };

/* Of one endpoint nobody can see that it leads elsewhere, if nothing breaks, and the old master goes on as one. */
bool endpoint_can_be_seen(enum endpoint_turn turn, enum endpoint_after after);

/* The scene plays at the new master from then on. */
void endpoint_fail_over(struct scene *s, enum endpoint_turn turn, enum endpoint_after after);
/* New connections go there. */
void endpoint_lead(const struct redis_server *server);

/* A client that the caller frees. */
struct muster_client *endpoint_client(struct scene *s);

/* Conditions: somebody is subscribed to something there, and at the old one nobody any more. */
bool endpoint_hears_at_the_old_one(void *arg);
bool endpoint_hears_at_the_new_one(void *arg);

#define ENDPOINT_CASES(X, who)                      \
    X(who, plain, PLAIN, FOLLOWS)                   \
    X(who, refused, REFUSED, FOLLOWS)               \
    X(who, cut, CUT, FOLLOWS)                       \
    X(who, deaf, DEAF, FOLLOWS)                     \
    X(who, plain_cut_off, PLAIN, IS_CUT_OFF)        \
    X(who, refused_cut_off, REFUSED, IS_CUT_OFF)    \
    X(who, cut_cut_off, CUT, IS_CUT_OFF)            \
    X(who, cut_lives_on, CUT, LIVES_ON)             \
    X(who, deaf_lives_on, DEAF, LIVES_ON)           \
    X(who, cut_empty, CUT, BESIDE_AN_EMPTY_ONE)     \
    X(who, deaf_empty, DEAF, BESIDE_AN_EMPTY_ONE)   \
    X(who, cut_another, CUT, IS_ANOTHER)            \
    X(who, deaf_another, DEAF, IS_ANOTHER)          \
    X(who, plain_lives_on, PLAIN, LIVES_ON)         \
    X(who, refused_lives_on, REFUSED, LIVES_ON)     \
    X(who, plain_empty, PLAIN, BESIDE_AN_EMPTY_ONE) \
    X(who, plain_another, PLAIN, IS_ANOTHER)

#define ENDPOINT_CASE(who, name, turn, after)   \
    static void who##_##name(void **state)      \
    {                                           \
        if (endpoint_can_be_seen(turn, after))  \
            who##_follows(*state, turn, after); \
    }
#define ENDPOINT_ENTRY(who, name, turn, after) endpoint_test(who##_##name),

#endif
