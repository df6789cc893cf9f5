/* SPDX-License-Identifier: MIT
 *
 * What is said on a new connection before anything else, and what the answers mean: the same for both kinds of
 * connection. All of it is said at once; the answers come in the same order.
 */
#ifndef GREETING_H
#define GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/command.h"
#include "redis/place.h"
#include "redis/reply.h"
#include "redis/url.h"

/* Where it begins: at its first step, or with the look at the namespace. */
enum greeting_begin { GREETING_WHOLE = 0, GREETING_FORMAT = 8 };

struct greeting {
    /* Set by the driver: */
    const struct url *url; /* NULL: there is none */
    struct place *place;   /* of the URL: says whether this is a sentinel, and learns what the server tells of others */
    bool needs_master;     /* a replica will not do: it passes on messages of its master, as if it were that */
    bool stays_at_sentinel; /* nobody wants to be sent on to the master */
    bool is_handed_in;      /* a program has made the connection, logged in and selected a database */
    const char *root_key;   /* of the namespace: its slot is the namespace's */
    const char *format_key; /* the namespace must have the format of this library, or none; NULL: it may have any */
    const char *prefix;     /* of the namespace, for people */
    bool counts_replicas;   /* somebody wants to know how many there are */

    /* What the answers have told: */
    int db;                /* the database */
    int n_replicas;        /* that follow the server; -1: nobody asked, or it does not say */
    bool is_cluster;       /* the server is a node of one, as it says */
    bool is_too_old;       /* the server is a Redis, but one that is of no use: trying again does not help */
    bool is_format_known;  /* the namespace has the format of this library */
    char why[400];         /* what is wrong */
    bool is_not_the_place; /* the words tell of the namespace or the URL, not of this server */
    bool is_sent_on;       /* the server is not the one, and has named another, which `place` leads to now */

    size_t said;  /* steps, up to here; an enum greeting_begin at first */
    unsigned due; /* a bit for each step that is said and not answered */
};

/* Say the next of it, into an empty command. False: all is said. */
bool greeting_say(struct greeting *g, struct command *c);
/* Understand the answer to the next of what was said. After an error `why` has words, and the connection is of no
 * use. */
int greeting_hear(struct greeting *g, const struct redisReply *reply);
/* A server may become a replica while its connections stay. Who writes is refused then, and goes; who only reads asks
 * again, by HELLO, before what he asks for and so seldom. */
#define ROLE_LOOK_MS 1000
/* Does it answer as a replica that is asked as if it were the master? One in a cluster names its master by MOVED. */
bool greeting_is_replica(const struct redisReply *hello);
/* Has everything been answered? */
bool greeting_is_over(const struct greeting *g);

#endif
