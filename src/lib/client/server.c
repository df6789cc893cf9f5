/* SPDX-License-Identifier: MIT
 *
 * What the server tells of itself, asked for by one command.
 */
#include "client/client.h"
#include "client/server_info.h"

int muster_client_server(struct muster_client *c, struct muster_server_info *out)
{
    struct redisReply *reply = NULL;
    struct muster_server_info server = {0};
    const char *why = sized_clear(SIZED_SERVER_INFO, out);
    if (why)
        return client_refuse(c, why);
    int err = client_ask(c, &reply, (const char *const[]){"INFO", NULL});
    const char *info = err == MUSTER_OK ? reply_text(reply) : NULL;
    if (err == MUSTER_OK && !info)
        err = client_understand(c, MUSTER_E_REDIS);
    if (err == MUSTER_OK) {
        server_info_read(&server, info);
        sized_write(SIZED_SERVER_INFO, out, &server);
    }
    redis_reply_free(reply);
    return err;
}
