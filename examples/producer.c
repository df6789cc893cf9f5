/* SPDX-License-Identifier: MIT
 *
 * A producer: enqueues its arguments, or the lines of standard input, and prints how many tasks wait afterwards.
 *
 *     producer QUEUE [TASK...]
 *
 * MUSTER_URL says where Redis is; without it, Redis is on 127.0.0.1:6379. Lines are sent one by one, each in one round
 * trip. The arguments are sent all at once, which is faster for many tasks.
 */
#include <muster/client.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int enqueue_lines(struct muster_client *client, const char *queue, FILE *in, uint64_t *waiting)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    int err = MUSTER_OK;

    while (err == MUSTER_OK && (len = getline(&line, &size, in)) >= 0) {
        if (len > 0 && line[len - 1] == '\n')
            len--;
        err = muster_task_enqueue(client, queue, line, (size_t)len, waiting);
    }
    free(line);
    return err;
}

static int enqueue_arguments(struct muster_client *client, const char *queue, char **args, size_t n, uint64_t *waiting)
{
    struct muster_bytes *tasks = calloc(n, sizeof *tasks);
    if (!tasks)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        tasks[i] = (struct muster_bytes){args[i], strlen(args[i])};
    int err = muster_task_enqueue_many(client, queue, tasks, n, NULL, waiting);
    free(tasks);
    return err;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: producer QUEUE [TASK...]\n");
        return 2;
    }
    struct muster_client *client;
    int err = muster_client_new(&client, NULL);
    if (err != MUSTER_OK) {
        const char *why = muster_client_options_check(NULL);
        fprintf(stderr, "producer: %s\n", why ? why : muster_err_text(err));
        return 2;
    }
    uint64_t waiting = 0;
    if (argc > 2)
        err = enqueue_arguments(client, argv[1], argv + 2, (size_t)argc - 2, &waiting);
    else
        err = enqueue_lines(client, argv[1], stdin, &waiting);
    if (err == MUSTER_OK)
        printf("%" PRIu64 " waiting\n", waiting);
    else
        fprintf(stderr, "producer: %s: %s\n", muster_err_name(err), muster_client_error(client));
    muster_client_free(client);
    return err == MUSTER_OK ? 0 : 1;
}
