/* SPDX-License-Identifier: MIT
 *
 * From a host's name to addresses, by getaddrinfo(). It can be neither ended nor bounded, and may take a minute. So each
 * one runs on a thread of its own, which shares nothing with the lookup's owner: it sends what it has found over a socket,
 * and ends. The owner may be gone by then.
 *
 * getaddrinfo() asks for both families and waits for both, but there are name servers that drop the questions for one
 * of them. So when it has not answered after a moment, each family is asked for alone, too, and what is there counts.
 */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* Of an IPv6 address with its scope, behind a '%': one of a link leads nowhere without it. */
#define ADDRESS_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE)
/* So many addresses of a host are looked at: the first ones. */
#define LOOKUP_ADDRESSES_MAX 64

struct lookup;

/* Begin. NULL: there was no memory, descriptor or thread for it. */
struct lookup *lookup_new(const char *host);
void lookup_free(struct lookup *l);

/* Look what has come, when lookup_fd() is readable or lookup_wait_ms() have passed. Has it ended? */
bool lookup_step(struct lookup *l);
int lookup_fd(const struct lookup *l);
int lookup_wait_ms(const struct lookup *l);

/* What it has come to so far. */
size_t lookup_n(const struct lookup *l);
const char *lookup_address(const struct lookup *l, size_t i);
/* Why it has no address. Of one that has not ended: that there is no answer yet. */
const char *lookup_why(const struct lookup *l);

bool lookup_is_of(const struct lookup *l, const char *host);
/* Is it too old to wait for, or, if somebody wants to know it anew, was its end told before? */
bool lookup_is_used_up(const struct lookup *l, bool is_anew);

#endif
