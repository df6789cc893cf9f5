/* SPDX-License-Identifier: MIT
 *
 * Persistent tasks: connections that must stay open, each kept by one worker at a time, as long as there are workers.
 *
 *     persistent QUEUE
 *
 * Each task names a file, which stands for a connection: ten times a second a line is written there to keep it alive. A
 * crash of a worker should not count against such tasks, and workers that join should get their share of them:
 *
 *     muster config --queue QUEUE max_crashes=0 share=even
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <muster/worker.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

struct connection {
    LIST_ENTRY(connection) in_list;
    struct muster_process *process;
    FILE *file;
};
static LIST_HEAD(, connection) connections;
static struct event_base *base;

static enum muster_outcome open_connection(struct muster_process *p, void *arg)
{
    struct connection *c = malloc(sizeof *c);
    (void)arg;
    if (!c || !(c->file = fopen(muster_process_task(p, NULL), "a"))) {
        free(c);
        muster_process_set_retry(p, 1000);
        return MUSTER_RETRY;
    }
    c->process = p;
    LIST_INSERT_HEAD(&connections, c, in_list);
    return MUSTER_LATER;
}

/* The file is closed first: once the process has ended, another worker may open it. */
static void close_connection(struct connection *c, enum muster_outcome outcome)
{
    LIST_REMOVE(c, in_list);
    fclose(c->file);
    muster_process_end(c->process, outcome);
    free(c);
}

static void keep_alive(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    for (struct connection *next, *c = LIST_FIRST(&connections); c; c = next) {
        next = LIST_NEXT(c, in_list);
        if (fprintf(c->file, "%s\n", muster_process_id(c->process)) < 0 || fflush(c->file) != 0)
            close_connection(c, MUSTER_RETRY);
    }
}

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct connection *c = LIST_FIRST(&connections);
    (void)w, (void)arg;
    while (c && c->process != e->process)
        c = LIST_NEXT(c, in_list);
    if (e->type == MUSTER_EVENT_STOP && c)
        close_connection(c, MUSTER_GIVE_BACK);
    if (e->err != MUSTER_OK)
        fprintf(stderr, "persistent: %s: %s\n", muster_err_name(e->err), e->text);
    if (e->type == MUSTER_EVENT_STOPPED)
        event_base_loopbreak(base);
}

static void on_term(evutil_socket_t signo, short what, void *worker)
{
    (void)signo, (void)what;
    muster_worker_stop(worker, 0); /* no drain time, because these tasks do not end by themselves */
}

int main(int argc, char **argv)
{
    base = event_base_new();
    struct muster_worker_options options = {.size = sizeof options, .base = base, .hands = 1000, .on_event = on_event};
    struct muster_worker *worker;
    if (argc != 2 || !base || muster_worker_new(&worker, &options) != MUSTER_OK) {
        fprintf(stderr, "usage: persistent QUEUE; MUSTER_URL, if set, says where Redis is\n");
        return 2;
    }
    struct event timer, term;
    event_assign(&timer, base, -1, EV_PERSIST, keep_alive, NULL);
    evsignal_assign(&term, base, SIGTERM, on_term, worker);
    bool is_ok = event_add(&timer, &(struct timeval){.tv_usec = 100 * 1000}) == 0 && event_add(&term, NULL) == 0 &&
                 muster_worker_start(worker) == MUSTER_OK &&
                 muster_worker_serve(worker, argv[1], 0, open_connection, NULL) == MUSTER_OK &&
                 event_base_dispatch(base) == 0;
    muster_worker_free(worker);
    event_base_free(base);
    return is_ok ? 0 : 1;
}
