/* SPDX-License-Identifier: MIT
 *
 * Looks whether a queue is known.
 */
#include "known.h"

#include "complain.h"

int known_look(const struct call *call, struct muster_client *client, const char *queue, const char *words)
{
    struct muster_queue_info info;
    int err = muster_queue_get(client, queue, &info);
    if (err == MUSTER_E_NOT_FOUND)
        complain(call, "there is no queue '%s'%s", queue, words);
    return err == MUSTER_E_REDIS ? MUSTER_OK : err;
}
