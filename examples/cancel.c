/* SPDX-License-Identifier: MIT
 *
 * Cancelling a running task: three workers keep two streams open each, and one stream is cancelled by its bytes. Only
 * its owner is told to stop. The hand that becomes free gets the stream that waits; all other streams go on.
 *
 *     cancel QUEUE
 *
 * Prints what happens, and exits with 0 if it was exactly that. The queue must be empty at the start; the other streams
 * wait there afterwards. The three workers share a process, and a client calls from their loop, so that all is seen
 * together; each could be on a host of its own.
 */
#include <muster/client.h>
#include <muster/worker.h>

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 3
#define HANDS 2
#define STREAMS (WORKERS * HANDS + 1)
#define UNWANTED "stream 3"
#define DEADLINE_S 20

static const char *queue;
static struct event_base *base;
static struct muster_client *client;
static struct muster_worker *workers[WORKERS];
static int opened, told, stopped;
static bool has_failed;

static void say(struct muster_process *p, const char *what)
{
    const char *task = muster_process_task(p, NULL);
    printf("%s %s %s\n", muster_worker_id(muster_process_worker(p)), what, task);
}

static void note(int err, const char *text)
{
    if (err != MUSTER_OK)
        fprintf(stderr, "cancel: %s: %s\n", muster_err_name(err), text);
    has_failed |= err != MUSTER_OK;
}

static void cancel_unwanted(void)
{
    uint64_t waiting, running = 0;
    note(muster_task_cancel(client, queue, UNWANTED, strlen(UNWANTED), &waiting, &running),
         muster_client_error(client));
    printf("cancelled: %s, in %d hands\n", UNWANTED, (int)running);
}

/* The last stream is opened once the unwanted one has made room for it. Then there is nothing more to see. */
static enum muster_outcome open_stream(struct muster_process *p, void *arg)
{
    (void)arg;
    say(p, "opens");
    if (++opened == STREAMS - 1)
        cancel_unwanted();
    for (int i = 0; opened == STREAMS && i < WORKERS; i++)
        muster_worker_stop(workers[i], 0);
    return MUSTER_LATER;
}

/* A stream is told to stop because it was cancelled, or because its worker stops. A cancelled task that is given back
 * is gone. MUSTER_FINISH would claim that its work was done. */
static void close_stream(struct muster_process *p)
{
    if (muster_process_stop_reason(p) == MUSTER_STOP_CANCELLED) {
        say(p, "is told to close");
        has_failed |= strcmp(muster_process_task(p, NULL), UNWANTED) != 0;
        told++;
    }
    muster_process_end(p, MUSTER_GIVE_BACK);
}

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w, (void)arg;
    note(e->err, e->text);
    if (e->type == MUSTER_EVENT_STOP)
        close_stream(e->process);
    if (e->type == MUSTER_EVENT_STOPPED && ++stopped == WORKERS)
        event_base_loopbreak(base);
}

static void enqueue_streams(void)
{
    uint64_t waiting = 0;
    note(muster_queue_length(client, queue, &waiting), muster_client_error(client));
    if (waiting > 0)
        note(MUSTER_E_EXISTS, "tasks wait in the queue; choose another one, or `muster delete` it");
    for (int i = 1; i <= STREAMS && !has_failed; i++) {
        char task[32];
        int len = snprintf(task, sizeof task, "stream %d", i);
        note(muster_task_enqueue(client, queue, task, (size_t)len, NULL), muster_client_error(client));
    }
}

static int start_worker(struct muster_worker **w)
{
    struct muster_worker_options options = {.size = sizeof options, .base = base, .hands = HANDS, .on_event = on_event};
    int err = muster_worker_new(w, &options);
    if (err == MUSTER_OK)
        err = muster_worker_start(*w);
    return err == MUSTER_OK ? muster_worker_serve(*w, queue, 0, open_stream, NULL) : err;
}

int main(int argc, char **argv)
{
    const struct muster_client_options options = {.size = sizeof options};
    base = event_base_new();
    if (argc != 2 || !base || muster_client_new(&client, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: cancel QUEUE; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    queue = argv[1];
    enqueue_streams();
    for (int i = 0; i < WORKERS && !has_failed; i++)
        note(start_worker(&workers[i]), "a worker did not start");
    if (!has_failed && event_base_loopexit(base, &(struct timeval){.tv_sec = DEADLINE_S}) == 0)
        event_base_dispatch(base);
    for (int i = 0; i < WORKERS; i++)
        muster_worker_free(workers[i]);
    uint64_t left = 0;
    note(muster_queue_length(client, queue, &left), muster_client_error(client));
    printf("%d told, %d streams are left\n", told, (int)left);
    muster_client_free(client);
    event_base_free(base);
    return !has_failed && told == 1 && stopped == WORKERS && left == STREAMS - 1 ? 0 : 1;
}
