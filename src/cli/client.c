/* SPDX-License-Identifier: MIT
 *
 * Makes the client from the common options; its last error becomes a line and an exit code.
 */
#include "client.h"

#include "complain.h"
#include "connection.h"

int client_open(const struct call *call, struct muster_client **out)
{
    struct connection connection;
    *out = NULL;
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
    muster_client_free(client);
    return code;
}
