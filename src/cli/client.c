/* SPDX-License-Identifier: MIT
 *
 * Makes the client from the common options; its last error becomes a line and an exit code.
 */
#include "client.h"

#include "complain.h"
#include "connection.h"
#include "out.h"

static _Thread_local struct muster_client *lent;

void client_lend(struct muster_client *client)
{
    lent = client;
}

bool client_is_lent(void)
{
    return lent != NULL;
}

void client_free(struct muster_client *client)
{
    if (client != lent)
        muster_client_free(client);
}

int client_open(const struct call *call, struct muster_client **out)
{
    struct connection connection;
    *out = lent;
    if (lent)
        return EXIT_DONE;
    int code = connection_read(call, &connection);
    if (code)
        return code;
    const struct muster_client_options options = {
        .size = sizeof options,
        CONNECTION_OPTIONS(&connection),
        .timeout_ms = (int)call->common[OPT_TIMEOUT].number,
    };
    int err = muster_client_new(out, &options);
    const char *why = err == MUSTER_E_INVALID ? muster_client_options_check(&options) : NULL;
    connection_clear(&connection);
    return complain_error(call, err, why ? why : "");
}

int client_close(const struct call *call, struct muster_client *client, int err)
{
    int code = complain_error(call, err, muster_client_error(client));
    client_free(client);
    return code;
}

void client_look_at_clock(const struct call *call, struct muster_client *client)
{
    int64_t now_ms;
    if (!call->common[OPT_JSON].set && muster_client_time(client, &now_ms) == MUSTER_OK)
        out_set_now(now_ms);
}
