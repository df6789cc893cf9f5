/* SPDX-License-Identifier: MIT
 *
 * From a host's name to an address, on the loop: getaddrinfo(), which hiredis would call, blocks it.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#define ADDRESS_MAX 64

struct event_base;
struct resolver;

/* The address as text; NULL with the reason in `why`. */
typedef void resolve_fn(const char *address, const char *why, void *arg);

/* Is it an address already? */
int resolve_is_address(const char *host);

int resolver_new(struct resolver **out, struct event_base *base, resolve_fn *fn, void *arg);
void resolver_free(struct resolver *r);

/* Look a host up. A host's addresses are answered in turn, one per attempt. The answer may come before this returns. */
void resolver_start(struct resolver *r, const char *host, unsigned attempt);
/* No answer will come. */
void resolver_cancel(struct resolver *r);

#endif
