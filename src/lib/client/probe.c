/* SPDX-License-Identifier: MIT
 *
 * One command for a probe. What it writes is a key that a take writes, too, so a check finds nothing strange. Clients
 * share it: who writes it last matters to nobody.
 */
#include <stdio.h>

#include "client/client.h"

int muster_client_probe(struct muster_client *c, enum muster_probe what)
{
    char key[KEY_MAX];
    struct redisReply *reply = NULL;
    if (what != MUSTER_PROBE_READ && what != MUSTER_PROBE_WRITE)
        return client_refuse(c, "there is no such probe");
    snprintf(key, sizeof key, "%s:take:probe", c->prefix);
    int err = what == MUSTER_PROBE_READ
                  ? client_ask(c, &reply, (const char *const[]){"EXISTS", key, NULL})
                  : client_ask(c, &reply, (const char *const[]){"SET", key, "probe:0", "PX", "1000", NULL});
    redis_reply_free(reply);
    return err;
}
