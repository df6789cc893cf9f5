/* SPDX-License-Identifier: MIT
 *
 * A token that is read is forgotten at the end: it may not stay in memory that is given back.
 */
#include "work_status.h"

#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "connection.h"
#include "place.h"

const char *work_status_check(const char *text)
{
    char *host;
    int port = place_read(text, &host);
    free(host);
    return port < 0 ? "it must be ADDR:PORT or PORT, as 127.0.0.1:9300 or [::1]:9300" : NULL;
}

int work_status_read(struct work_status *w, const struct call *call, const struct opt_value *place,
                     const struct opt *token_option, const struct opt_value *token_file)
{
    *w = (struct work_status){.host = NULL};
    if (!place->set)
        return token_file->set && !token_file->from_environment
                   ? complain_usage(call, "--status-token-file is for --status")
                   : EXIT_DONE;
    int port = place_read(place->text, &w->host);
    int code = token_file->set ? connection_read_secret(call, token_option, token_file, &w->token) : EXIT_DONE;
    if (!code && !w->token && !place_is_loopback(w->host))
        code = complain_usage(call, "--status %s: beyond loopback a token is needed: --status-token-file", place->text);
    w->options = (struct status_options){
        .call = call,
        .place = {.host = w->host,
                  .port = port,
                  .token = w->token,
                  .unknown_host = "this is not a name of this host; ask by its address",
                  .connections = STATUS_CONNECTIONS},
        .queues = call->operands,
        .n_queues = call->n_operands,
    };
    if (code)
        work_status_end(w);
    return code;
}

int work_status_begin(struct work_status *w, const struct muster_worker *worker)
{
    if (!w->host)
        return EXIT_DONE;
    w->options.worker = worker;
    w->status = status_start(&w->options);
    return w->status ? EXIT_DONE : EXIT_FAILED;
}

void work_status_end(struct work_status *w)
{
    status_stop(w->status);
    w->status = NULL;
    if (w->token)
        explicit_bzero(w->token, strlen(w->token));
    free(w->token);
    free(w->host);
    w->token = w->host = NULL;
}
