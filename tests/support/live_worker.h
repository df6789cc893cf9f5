/* SPDX-License-Identifier: MIT
 *
 * A worker under test, on the loop of a scene. It writes down what happens to it, and its handlers answer as the test
 * says. With MUSTER_LATER it holds its processes until the test ends them.
 *
 * When it is told to stop a process it gives it back, as a good handler does, unless it is `stubborn` or the test hears
 * its events.
 *
 * With the environment variable MUSTER_TEST_FOREIGN, or if it is `by_next`, a worker that has neither threads nor
 * contexts that are handed in is one on a foreign loop: its own is on a thread of the library, and the scene's loop
 * watches its descriptor, and calls handlers and on_event with what muster_worker_next() hands out.
 */
#ifndef LIVE_WORKER_H
#define LIVE_WORKER_H

#include <muster/worker.h>

#include "scene.h"

#define SPEC_QUEUES_MAX 4

struct live_worker;

/*
 * What worker to make; zero means the library's default. `url` defaults to the server's.
 *
 *   more      options that have no member of their own here
 *   handler   instead of live_worker_handle(); its argument is the live worker
 *   command   instead of a handler
 *   by_next   its loop is a foreign one
 *   on_event  hears each event once it is written down
 *   arg       for these two
 */
struct worker_spec {
    const char *id, *url;
    int ttl_ms, hands, prefetch, drain_ms;
    enum muster_outcome answer;
    bool stubborn;
    int retry_ms;
    struct {
        const char *name;
        int hands;
    } queues[SPEC_QUEUES_MAX];
    struct redisAsyncContext *data, *subscription;
    struct muster_worker_options more;
    muster_handler_fn *handler;
    const char *const *command;
    bool by_next;
    void (*on_event)(struct live_worker *w, const struct muster_event *e);
    void *arg;
};

struct live_worker {
    struct live_worker *next;
    struct worker_spec spec;
    struct muster_worker *worker;
    struct journal *journal;
    struct event_base *base;
    struct event *foreign; /* the descriptor; NULL: it lives on the base itself */
    struct muster_process **held;
    size_t n_held;
    bool has_stopped;
    int stop_err;
};

/* Make it, start it, and serve the queues of the spec. Owned by the scene. */
struct live_worker *live_worker_new(struct scene *s, const struct worker_spec *spec);

/* The same, and wait until it has started and is idle on all its queues. */
struct live_worker *live_worker_idle(struct scene *s, const struct worker_spec *spec);

/* Serve one more queue, or one again that it has left, as those of its spec. */
int live_worker_serve(struct live_worker *w, const char *queue, int hands);

/* End the process that it has held longest. */
void live_worker_end(struct live_worker *w, enum muster_outcome outcome);

/* End this one of those that it holds. */
void live_worker_end_one(struct live_worker *w, struct muster_process *p, enum muster_outcome outcome);

/* From now on its handlers answer this; what it holds is ended so too. */
void live_worker_answer(struct live_worker *w, enum muster_outcome outcome);

/* Stop it, and wait until it has stopped. */
void live_worker_stop(struct scene *s, struct live_worker *w, int drain_ms);

/* Wait until it has had so many more heartbeats. */
void live_worker_await_beats(struct scene *s, const struct live_worker *w, uint64_t n);

/* Free it now instead of at the end of the scene. */
void live_worker_free(struct scene *s, struct live_worker *w);

/* For handlers of a test's own: keep the process until it is ended, and let it go again. False: it is not held. */
void live_worker_hold(struct live_worker *w, struct muster_process *p);
bool live_worker_let_go(struct live_worker *w, struct muster_process *p);

/* The pieces for a test that makes the worker itself. `arg` is a struct live_worker *. */
enum muster_outcome live_worker_handle(struct muster_process *p, void *arg);
void live_worker_note(struct muster_worker *w, const struct muster_event *e, void *arg);

#endif
