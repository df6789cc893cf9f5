/* SPDX-License-Identifier: MIT
 *
 * A producer that tries again: under a request id, tasks are enqueued once, no matter how often they are sent.
 *
 *     retry QUEUE ID TASK...
 *
 * If no answer comes, nobody knows whether the tasks were enqueued. If they are sent again under the same id within an
 * hour, they are added only if they are not there yet. This also holds for another run of this program. So use an id
 * that follows from the request, such as an order's number, and not a new one each time.
 */
#include <muster/client.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 10

/* Can another try succeed? */
static bool may_pass(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT || err == MUSTER_E_BUSY || err == MUSTER_E_FULL;
}

static int enqueue(struct muster_client *client, char **args, const struct muster_bytes *tasks, size_t n)
{
    const struct muster_enqueue_options options = {.size = sizeof options, .request_id = args[1]};
    uint64_t waiting;
    int err = MUSTER_OK;

    for (int i = 1; i <= TRIES; i++) {
        err = muster_task_enqueue_many(client, args[0], tasks, n, &options, &waiting);
        if (!may_pass(err))
            break;
        fprintf(stderr, "retry: %s: %s\n", muster_err_name(err), muster_client_error(client));
        usleep((useconds_t)(i * 100 * 1000));
    }
    if (err == MUSTER_OK)
        printf("%" PRIu64 " waiting\n", waiting);
    else if (!may_pass(err))
        fprintf(stderr, "retry: %s: %s\n", muster_err_name(err), muster_client_error(client));
    return err;
}

int main(int argc, char **argv)
{
    const struct muster_client_options options = {.size = sizeof options, .timeout_ms = 1000};
    struct muster_client *client;
    if (argc < 4 || muster_client_new(&client, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: retry QUEUE ID TASK...; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    size_t n = (size_t)argc - 3;
    struct muster_bytes *tasks = calloc(n, sizeof *tasks);
    int err = tasks ? MUSTER_OK : MUSTER_E_NOMEM;
    for (size_t i = 0; tasks && i < n; i++)
        tasks[i] = (struct muster_bytes){argv[i + 3], strlen(argv[i + 3])};
    if (err == MUSTER_OK)
        err = enqueue(client, argv + 1, tasks, n);
    free(tasks);
    muster_client_free(client);
    return err == MUSTER_OK ? 0 : 1;
}
