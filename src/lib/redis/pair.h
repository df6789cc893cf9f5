/* SPDX-License-Identifier: MIT
 *
 * Two links that must be at the same server: over one it is asked, over the other one it is heard what scripts publish.
 *
 * The same name proves nothing: it may lead to another server by now, while older connections stay. The count proves it:
 * Redis answers a PUBLISH with how many have heard it at that server. So something is published now and then that only
 * the hearing link hears. If it is nobody, the hearing link is made anew; if that does not help, both are.
 */
#ifndef PAIR_H
#define PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/link.h"

/* "<root>ear:" and a number of its own. */
#define EAR_MAX 96
/* A channel that nobody else hears. */
void pair_ear_name(char out[EAR_MAX], const char *root_key);

struct pair {
    struct link *asks, *hears;
    unsigned subscription;   /* which one it is; 0: there is none */
    unsigned n;              /* so many there were */
    bool is_here;            /* the server that is asked has counted it, or cannot say */
    unsigned n_elsewhere;    /* subscriptions in a row that were not counted */
    char ear[EAR_MAX];       /* for pair_ask() */
    unsigned asked_about;    /* the same: the subscription; 0: nothing is under way */
    void (*here)(void *arg); /* the same: it is there; NULL: nobody wants to know */
    void *arg;
};

/* The hearing link has its subscriptions, or has none any more. */
void pair_subscribed(struct pair *p, bool is_subscribed);
/* So many heard what was published when `subscription` was the one. False: it is another one now, so that says nothing. */
bool pair_counted(struct pair *p, unsigned subscription, uint64_t n);
/* It has heard what is only heard elsewhere: it is to be said anew whether it is there. */
void pair_doubt(struct pair *p);
/* Is it still to be said, and soon, whether it is there? Where two in a row were not, the next time is soon enough. */
bool pair_should_ask(const struct pair *p);

/* For who has nothing to publish: the hearing link subscribes to the ear first, and it is asked who hears that. */
int pair_subscribe_ear(struct pair *p, const char *root_key);
void pair_ask(struct pair *p);

#endif
