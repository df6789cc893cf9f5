/* SPDX-License-Identifier: MIT
 *
 * The steps of a greeting. Each says something or is passed over, and understands the answer.
 */
#include "redis/greeting.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "redis/master.h"

#define VERSION_LEAST 7
/* What a server before 6.0 answers to HELLO, and what that means. */
#define UNKNOWN "ERR unknown command"
#define NEEDED "muster needs Redis 7.0 or later"
#define NOT_REDIS "this is not a Redis"

static int refuse(struct greeting *g, int err, const char *why)
{
    snprintf(g->why, sizeof g->why, "%s", *why ? why : "it refuses without a word");
    return err;
}

static int hear_ok(struct greeting *g, const struct redisReply *reply)
{
    int err = reply_err(reply);
    return err == MUSTER_OK ? err : refuse(g, err, reply_text(reply));
}

/* What it has said names an address that is none. */
static void refuse_address(struct greeting *g, const char *said)
{
    snprintf(g->why, sizeof g->why, "%.200s: %s", said, g->place->why);
}

/* ---- logging in ---- */

static bool is_at_sentinel(const struct greeting *g)
{
    return g->place && !g->is_handed_in && place_target(g->place).role == PLACE_SENTINEL;
}

static bool say_auth(const struct greeting *g, struct command *c)
{
    if (g->is_handed_in)
        return false;
    const char *user = is_at_sentinel(g) ? g->url->sentinel_user : g->url->user;
    const char *password = is_at_sentinel(g) ? g->url->sentinel_password : g->url->password;
    if (!password)
        return false;
    command_text(c, "AUTH");
    if (user)
        command_text(c, user);
    command_text(c, password);
    return true;
}

static bool say_select(const struct greeting *g, struct command *c)
{
    if (g->is_handed_in || g->url->db == 0 || is_at_sentinel(g))
        return false;
    command_text(c, "SELECT");
    command_number(c, g->url->db);
    return true;
}

/* ---- the server: every user may say HELLO, and the answer has its version, mode and role ---- */

static bool say_hello(const struct greeting *g, struct command *c)
{
    (void)g;
    command_text(c, "HELLO");
    return true;
}

bool greeting_is_replica(const struct redisReply *hello)
{
    const struct redisReply *role = reply_field(hello, "role");
    return reply_text(role) && !reply_is(role, "master") && !reply_is(reply_field(hello, "mode"), "cluster");
}

/* Is it what the URL says, and may the namespace be there? */
static int check_kind(struct greeting *g, const struct redisReply *hello)
{
    const struct redisReply *mode = reply_field(hello, "mode");
    const bool is_sentinel = reply_is(mode, "sentinel"), is_cluster = reply_is(mode, "cluster");
    /* One of several places may be wrong: then the others are asked. */
    const int wrong = g->place && g->url->kind != URL_SINGLE ? MUSTER_E_CONN : MUSTER_E_INVALID;
    if (is_at_sentinel(g) && !is_sentinel)
        return refuse(g, wrong, "this is no Sentinel, as the URL says; for a Redis use redis://");
    if (is_at_sentinel(g))
        return MUSTER_OK;
    if (is_sentinel)
        return refuse(g, wrong, "this is a Sentinel: use redis+sentinel://host/NAME-OF-THE-MASTER");
    g->is_cluster = is_cluster;
    const char *why = is_cluster && g->prefix ? place_refuse_prefix(g->prefix) : NULL;
    if (why)
        return refuse(g, MUSTER_E_INVALID, why);
    bool is_named_master = g->url && g->url->kind == URL_SENTINEL && !g->is_handed_in;
    return greeting_is_replica(hello) && (g->needs_master || is_named_master) ? refuse(g, MUSTER_E_BUSY, PLACE_REPLICA)
                                                                              : MUSTER_OK;
}

static int hear_hello(struct greeting *g, const struct redisReply *reply)
{
    const char *version = reply_text(reply_field(reply, "version"));
    bool is_version = version && *version >= '0' && *version <= '9';
    bool is_unknown = reply_kind(reply) == REPLY_ERROR && strncmp(reply_text(reply), UNKNOWN, strlen(UNKNOWN)) == 0;
    g->is_too_old = is_unknown || (is_version && strtol(version, NULL, 10) < VERSION_LEAST);
    if (is_unknown)
        return refuse(g, MUSTER_E_REDIS, "the server does not know HELLO: " NEEDED);
    if (reply_err(reply) != MUSTER_OK)
        return refuse(g, reply_err(reply), reply_text(reply));
    if (!is_version)
        return refuse(g, MUSTER_E_REDIS, NOT_REDIS);
    if (g->is_too_old) {
        snprintf(g->why, sizeof g->why, "the server is of version %.20s: " NEEDED, version);
        return MUSTER_E_REDIS;
    }
    return check_kind(g, reply);
}

/* ---- the database: the program may have selected any ---- */

static bool say_client_info(const struct greeting *g, struct command *c)
{
    if (!g->is_handed_in)
        return false;
    command_words(c, (const char *const[]){"CLIENT", "INFO", NULL});
    return true;
}

/* The number in the answer to CLIENT INFO; -1: it does not say. */
static int database_of(const struct redisReply *info)
{
    static const char field[] = " db=";
    const char *text = reply_text(info);
    const char *at = text ? strstr(text, field) : NULL;
    if (!at)
        return -1;
    char *end;
    long db = strtol(at + strlen(field), &end, 10);
    return end > at + strlen(field) && db >= 0 && db <= INT_MAX ? (int)db : -1;
}

/* A database that the URL would not lead to after a break is a mistake. */
static int hear_client_info(struct greeting *g, const struct redisReply *reply)
{
    if (reply_err(reply) != MUSTER_OK)
        return refuse(g, reply_err(reply), reply_text(reply));
    int db = database_of(reply);
    if (db < 0)
        return refuse(g, MUSTER_E_REDIS, "the connection that was handed in does not tell its database");
    g->db = db;
    if (!g->url || g->url->db == db)
        return MUSTER_OK;
    snprintf(g->why, sizeof g->why, "the connection that was handed in is in database %d, the URL's is %d", db,
             g->url->db);
    return MUSTER_E_INVALID;
}

/* ---- where the namespace is ---- */

static bool say_sentinel(const struct greeting *g, struct command *c)
{
    if (!is_at_sentinel(g) || g->stays_at_sentinel)
        return false;
    master_ask(c, g->url);
    return true;
}

/* An error, because the driver has to go elsewhere. */
static int hear_sentinel(struct greeting *g, const struct redisReply *reply)
{
    const char *host = reply_text(reply_at(reply, 0));
    g->is_sent_on = master_read(g->place, reply);
    if (g->is_sent_on)
        snprintf(g->why, sizeof g->why, "the master '%s' is %s:%d", g->url->master, g->place->node.host,
                 g->place->node.port);
    else if (host)
        refuse_address(g, "the Sentinel's answer");
    else if (reply_kind(reply) == REPLY_NIL)
        snprintf(g->why, sizeof g->why, "this Sentinel does not know a master '%s'", g->url->master);
    else
        (void)refuse(g, MUSTER_E_CONN, reply_kind(reply) == REPLY_ERROR ? reply_text(reply) : NOT_REDIS);
    return reply_err(reply) == MUSTER_E_DENIED ? MUSTER_E_DENIED : MUSTER_E_CONN;
}

/* The root is the one key that each script names, and never exists. So a server that has its slot answers 0, or ASK
 * while the slot moves away. */
static bool say_root(const struct greeting *g, struct command *c)
{
    if (is_at_sentinel(g) || !g->root_key)
        return false;
    command_words(c, (const char *const[]){"EXISTS", g->root_key, NULL});
    return true;
}

/* Whatever else it says, the next call will hear it, too. */
static int hear_root(struct greeting *g, const struct redisReply *reply)
{
    if (reply_is_refusal(reply, "CLUSTERDOWN"))
        return refuse(g, MUSTER_E_BUSY, reply_text(reply));
    if (!reply_is_refusal(reply, "MOVED"))
        return MUSTER_OK;
    g->is_sent_on = g->place && place_moved(g->place, reply_text(reply));
    (void)refuse(g, MUSTER_E_BUSY, reply_text(reply));
    if (g->place && !g->is_sent_on && *g->place->why)
        refuse_address(g, reply_text(reply));
    return MUSTER_E_BUSY;
}

/* Each time: nodes are replaced while a program runs, and their addresses may be other servers' by then. */
static bool say_nodes(const struct greeting *g, struct command *c)
{
    if (!g->place || g->is_handed_in || g->url->kind != URL_CLUSTER)
        return false;
    command_words(c, (const char *const[]){"CLUSTER", "SLOTS", NULL});
    return true;
}

/* Each range is {first, last, {host, port, ...}, ...}. A user may not be allowed to ask. Something in between may speak
 * for a cluster without saying that it is one. */
static int hear_nodes(struct greeting *g, const struct redisReply *reply)
{
    if (!g->is_cluster && reply_kind(reply) == REPLY_ERROR && !reply_is_passing(reply))
        return refuse(g, (size_t)g->url->n_nodes + g->place->n_learned > 1 ? MUSTER_E_CONN : MUSTER_E_INVALID,
                      "this is no node of a cluster, as the URL says; for one Redis use redis:// (with TLS rediss://)");
    place_learn_anew(g->place);
    for (size_t i = 0; i < reply_len(reply); i++)
        for (size_t n = 2; n < reply_len(reply_at(reply, i)); n++) {
            const struct redisReply *node = reply_at(reply_at(reply, i), n);
            const char *host = reply_text(reply_at(node, 0));
            if (host || reply_kind(reply_at(node, 0)) == REPLY_NIL)
                place_learn(g->place, host, reply_number(reply_at(node, 1), 0));
        }
    return MUSTER_OK;
}

/* ---- the replicas ---- */

static bool say_role(const struct greeting *g, struct command *c)
{
    if (!g->counts_replicas || is_at_sentinel(g))
        return false;
    command_text(c, "ROLE");
    return true;
}

/* {"master", offset, {replica, ...}}. A user may not be allowed to ask. */
static int hear_role(struct greeting *g, const struct redisReply *reply)
{
    if (reply_is(reply_at(reply, 0), "master"))
        g->n_replicas = (int)reply_len(reply_at(reply, 2));
    return MUSTER_OK;
}

/* ---- the namespace ---- */

static bool say_format(const struct greeting *g, struct command *c)
{
    if (!g->format_key || is_at_sentinel(g))
        return false;
    command_words(c, (const char *const[]){"GET", g->format_key, NULL});
    return true;
}

static int hear_format(struct greeting *g, const struct redisReply *reply)
{
    if (reply_kind(reply) == REPLY_ERROR && strncmp(reply_text(reply), "WRONGTYPE ", 10) == 0) {
        g->is_not_the_place = true;
        format_refuse_type(g->why, sizeof g->why, g->format_key);
        return MUSTER_E_REDIS;
    }
    if (reply_err(reply) != MUSTER_OK)
        return refuse(g, reply_err(reply), reply_text(reply));
    if (reply_kind(reply) != REPLY_TEXT && reply_kind(reply) != REPLY_NIL)
        return refuse(g, MUSTER_E_REDIS, NOT_REDIS);
    g->is_format_known = reply_is(reply, FORMAT_VERSION);
    if (g->is_format_known || reply_kind(reply) == REPLY_NIL)
        return MUSTER_OK;
    g->is_not_the_place = true;
    format_refusal(g->why, sizeof g->why, g->prefix, reply_text(reply));
    return MUSTER_E_FORMAT;
}

/* ---- all of it ---- */

static const struct step {
    bool (*say)(const struct greeting *g, struct command *c); /* false: passed over */
    int (*hear)(struct greeting *g, const struct redisReply *reply);
} steps[] = {
    {say_auth, hear_ok},
    {say_select, hear_ok},
    {say_hello, hear_hello},
    {say_client_info, hear_client_info},
    {say_nodes, hear_nodes},
    {say_sentinel, hear_sentinel},
    {say_root, hear_root},
    {say_role, hear_role},
    [GREETING_FORMAT] = {say_format, hear_format},
};
#define STEPS (sizeof steps / sizeof *steps)

bool greeting_say(struct greeting *g, struct command *c)
{
    for (; g->said < STEPS; g->said++) {
        if (steps[g->said].say(g, c)) {
            g->due |= 1U << g->said++;
            return true;
        }
    }
    return false;
}

int greeting_hear(struct greeting *g, const struct redisReply *reply)
{
    size_t i = 0;
    while (i < STEPS && !(g->due & 1U << i))
        i++;
    if (i == STEPS)
        return refuse(g, MUSTER_E_REDIS, NOT_REDIS);
    g->due &= ~(1U << i);
    return steps[i].hear(g, reply);
}

bool greeting_is_over(const struct greeting *g)
{
    return g->said == STEPS && g->due == 0;
}
