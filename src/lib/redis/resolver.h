/* SPDX-License-Identifier: MIT
 *
 * The lookups of one owner, a link or a blocking connection: so all of them know what the system's name service knows,
 * and each attempt asks it anew. And which of a host's addresses is tried next.
 *
 * A lookup goes on while its owner gives up waiting, or tries another host. When it asks for the same host again, it
 * gets the same lookup, until it was told how that ended. Nothing is kept longer.
 */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdint.h>

#include "redis/lookup.h"

#define RESOLVER_HOSTS_MAX 8

/* An address that was of no use: the later, the larger is `at`. */
struct resolver_failure {
    char address[ADDRESS_MAX];
    uint64_t at;
};

/* All 0: has nothing yet. */
struct resolver {
    struct lookup *lookups[RESOLVER_HOSTS_MAX]; /* of several hosts */
    size_t next;                                /* the place of the next one */
    struct resolver_failure failures[LOOKUP_ADDRESSES_MAX];
    uint64_t n_failures;
};

/* Is the host an address already? */
bool resolver_is_address(const char *host);

/* The lookup of a host: the one that is under way, or a new one. Of one that has ended and was told `is_anew` makes a
 * new one. NULL: there was no memory. */
struct lookup *resolver_ask(struct resolver *r, const char *host, bool is_anew);
/* Forget all lookups. Those under way end by themselves. */
void resolver_forget(struct resolver *r);

/* Of the lookup's addresses that have not failed since `since` (a value of n_failures) the one whose last failure is
 * the longest ago; of several the first. In `*n_others`: how many more there are. NULL: there is none. */
const char *resolver_pick(const struct resolver *r, const struct lookup *l, uint64_t since, size_t *n_others);
/* Nobody answers there, it refuses, or it is no master: the others come first from now on. "": nothing. */
void resolver_note_failure(struct resolver *r, const char *address);
/* Note what the other one has noted, in its place. */
void resolver_note_failures_of(struct resolver *r, const struct resolver *other);

#endif
