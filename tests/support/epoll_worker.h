/* SPDX-License-Identifier: MIT
 *
 * A worker as a program has it that knows no libevent: with the option own_thread, a descriptor in an epoll of the
 * program's own, and muster_worker_next(). It keeps an account of every process: what it was, how it was ended, and
 * what was told about it.
 */
#ifndef EPOLL_WORKER_H
#define EPOLL_WORKER_H

#include <muster/worker.h>
#include <stdatomic.h>

#include "scene.h"

#define EPOLL_WORKER_EVENTS (MUSTER_EVENT_LEFT_OUT + 1)

/* A process: the user pointer of each. */
struct account {
    struct muster_process *process;  /* NULL once it was ended */
    char task[32], id[512], job[64]; /* job: "" for a task */
    uint64_t token;
    int reason; /* what the last MUSTER_EVENT_STOP has said */
    int n_ended, n_uncounted, err;
    char how[32]; /* the text of MUSTER_EVENT_ENDED */
};

struct epoll_worker {
    struct muster_worker *worker;
    int epoll;
    struct account **accounts; /* in the order in which they came */
    size_t n, n_held;
    int events[EPOLL_WORKER_EVENTS];
    int n_answers, answer_err, stop_err;
    char answer_job[64];
    void *answer_user;
    uint64_t answer_waiting;
};

/* What worker; 0 for the library's defaults. */
struct epoll_spec {
    const char *id, *url;
    int ttl_ms, hands, prefetch, drain_ms, limit_ms;
    int tell_nothing; /* without tell_ended */
    struct muster_worker_options more;
};

/* Make it and start it. The caller frees it before the scene ends. */
struct epoll_worker *epoll_worker_new(struct scene *s, const struct epoll_spec *spec);
/* The same, serving "q" without a handler, and wait until it is idle. */
struct epoll_worker *epoll_worker_idle(struct scene *s, const struct epoll_spec *spec);
void epoll_worker_free(struct epoll_worker *e);

/* Wait for the descriptor for at most `ms`, and take what there is. Returns how many items. */
size_t epoll_worker_turn(struct epoll_worker *e, int ms);
/* End one that it holds; all. */
void epoll_worker_end(struct epoll_worker *e, struct account *a, enum muster_outcome outcome);
void epoll_worker_end_all(struct epoll_worker *e, enum muster_outcome outcome);
/* Wait until it holds n processes; has had n in all; n of these events; an event of either kind for each ended one. */
void epoll_worker_await_held(struct epoll_worker *e, size_t n);
void epoll_worker_await_taken(struct epoll_worker *e, size_t n);
void epoll_worker_await_events(struct epoll_worker *e, enum muster_event_type type, int n);
void epoll_worker_await_answers(struct epoll_worker *e, int n);
void epoll_worker_await_settled(struct epoll_worker *e);
/* How many of its processes were told so. */
int epoll_worker_count_ended(const struct epoll_worker *e);
int epoll_worker_count_uncounted(const struct epoll_worker *e);
/* Stop it, and wait for that. */
void epoll_worker_stop(struct epoll_worker *e, int drain_ms);

#endif
