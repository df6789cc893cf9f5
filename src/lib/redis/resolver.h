/* SPDX-License-Identifier: MIT
 *
 * From a host's name to addresses, by getaddrinfo(), for every kind of connection: so all of them know what the system's
 * name service knows, and each lookup asks it anew.
 *
 * It can be neither ended nor bounded, and may take a minute. So each one runs on a thread of its own, which shares
 * nothing with its owner: it sends what it has found over a socket, and ends. The owner may be gone by then.
 *
 * getaddrinfo() asks for both families and waits for both, but there are name servers that drop the questions for one
 * of them. So when it has not answered after a moment, each family is asked for alone, too, and what is there counts.
 *
 * A lookup goes on while its owner gives up waiting, or tries another host. When it asks for the same host again, it
 * gets the same lookup, until it was told how that ended. Nothing is kept longer.
 */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_MAX INET6_ADDRSTRLEN
/* So many addresses of a host are looked at: the first ones. */
#define RESOLVER_ADDRESSES_MAX 64

struct lookup;

/* An address that was of no use: the later, the larger is `at`. */
struct resolver_failure {
    char address[ADDRESS_MAX];
    uint64_t at;
};

/* All 0: has nothing yet. */
struct resolver {
    struct lookup *first;
    struct resolver_failure failures[RESOLVER_ADDRESSES_MAX];
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

/* Look what has come, when lookup_fd() is readable or lookup_wait_ms() have passed. Has it ended? */
bool lookup_step(struct lookup *l);
int lookup_fd(const struct lookup *l);
int lookup_wait_ms(const struct lookup *l);
size_t lookup_n(const struct lookup *l);
/* Why it has no address. Of one that has not ended: that there is no answer yet. */
const char *lookup_why(const struct lookup *l);

#endif
