/* SPDX-License-Identifier: MIT
 *
 * From a host's name to an address, on the loop: getaddrinfo() would block it.
 */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>

#define ADDRESS_MAX 64

struct event_base;
struct resolver;

/* The address as text. On a failure it is NULL, with the reason in `why`. */
typedef void resolver_fn(const char *address, const char *why, void *arg);

/* Is the host an address already? */
bool resolver_is_address(const char *host);

int resolver_new(struct resolver **out, struct event_base *base, resolver_fn *fn, void *arg);
void resolver_free(struct resolver *r);

/* Look a host up. Of several addresses each attempt gets the next one. The answer may come before this returns. */
void resolver_start(struct resolver *r, const char *host, unsigned attempt);
/* After this no answer comes. */
void resolver_cancel(struct resolver *r);

#endif
