/* SPDX-License-Identifier: MIT
 *
 * A lookout: a link of its own to one of the sentinels, which is asked every second where the master is (master.h). When
 * that is elsewhere, the links that it looks out for are sent there at once.
 */
#ifndef LOOKOUT_H
#define LOOKOUT_H

#include "redis/link.h"

struct lookout;

#define LOOKOUT_LINKS 2

/* `*out` stays NULL if the URL has no sentinels: then there is nothing to ask. The links must live longer. E_NOMEM. */
int lookout_new(struct lookout **out, struct event_base *base, const struct url *url,
                struct link *const links[LOOKOUT_LINKS]);
/* Begin, with the links; NULL is allowed. */
void lookout_open(struct lookout *o);
void lookout_free(struct lookout *o);

#endif
