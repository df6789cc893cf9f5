/* SPDX-License-Identifier: MIT
 *
 * The worker: one structure, and which file answers for which part of it. Where another file writes into a part too,
 * the member says so.
 *
 *   worker.c            the worker's life: its states; making, running and freeing it
 *   options.c           what the program asked for
 *   tell.c              events and refusals, told to the program; tell_log.c: or to the log, if it does not listen
 *   connection.c        the two connections
 *   registration.c      beginning and ending a life of the id
 *   resume.c            what a former life of the id held
 *   heartbeat.c         the heartbeat and its count; fence.c: the doubt; sweep.c: peers that died
 *   probe.c             the heartbeat of an idle worker in plain commands; lifeline.c: while one has to wait
 *   timer_keeper.c      moving what is due, if this worker keeps the timer; tidy.c: tidying, if it does
 *   ages.c              since when tasks wait, noted by the same one; crons.c: the next times of schedules
 *   share.c             what of a queue is too much for it, or too little, and what moves
 *   serve.c, leave.c    the queues it serves, and serving one no longer
 *   wake.c              messages; readback.c: asking Redis what it holds; accept.c: a process arrives
 *   round.c             a round: the order in which everything below is done
 *   dispatch.c          starting handlers; suspect.c: those that run alone; suspect_call.c: what Redis is told of them;
 *                       limit.c: time limits
 *   turn.c              what ended and what can be taken, in one script call; turn_ends.c: how ends are said
 *   process.c, end.c    the table of processes, and what their end means
 *   process_calls.c     what a program asks of a process and says about it; process_end.c: and how it ends it;
 *                       extend.c: what of that is sent at once
 *   posted.c            what other threads say
 *   too_large.c         what Redis does not let through for its size
 *   marks.c             which processes were cancelled; ended.c: which ones their own commands have ended
 *   calls.c             what other threads have the loop do; own_thread.c: the loop on a thread of its own
 *   follow.c            ends wait for what was handed on before them
 *   produce.c           enqueueing and putting, over the data link or a third connection; produce_calls.c: what the
 *                       program calls for it; posting.c: a task or job on its way
 *   figures.c           what it has counted, for any thread; pulse.c: the program is called from time to time
 *   risk.c              whether this Redis would lose tasks when it is full
 *   stop.c              the wish to stop, the drain, the moment to leave; burst.c: nothing is left to do
 *   executor_*.c        how handlers run: inline, on threads (ring.c: what has begun waits there for one), as child
 *                       processes (command_setup.c: which, spawn.c starts them, output.c reads what they print, child.c
 *                       ends them, lack.c: none can begin now); or that the program takes what there is
 *                       (executor_next.c)
 *   outbox.c            what lies ready for a program with a loop of its own; outbox_item.c: its events and answers
 */
#ifndef WORKER_H
#define WORKER_H

#include <sys/types.h>

#include "base/sized.h"
#include "worker/burst.h"
#include "worker/calls.h"
#include "worker/child.h"
#include "worker/connection.h"
#include "worker/crons.h"
#include "worker/ended.h"
#include "worker/executor.h"
#include "worker/figures.h"
#include "worker/heartbeat.h"
#include "worker/lack.h"
#include "worker/lifeline.h"
#include "worker/marks.h"
#include "worker/outbox.h"
#include "worker/output.h"
#include "worker/own_thread.h"
#include "worker/probe.h"
#include "worker/process.h"
#include "worker/produce.h"
#include "worker/pulse.h"
#include "worker/registration.h"
#include "worker/serve.h"
#include "worker/stop.h"
#include "worker/suspect.h"
#include "worker/tell.h"
#include "worker/timer_keeper.h"
#include "worker/too_large.h"
#include "worker/turn.h"
#include "worker/wake.h"

struct event_base;
struct threads;
struct posted;

/* X(state, name) in the order of a life. */
#define WORKER_STATES(X)                 \
    X(WORKER_NEW, "new")                 \
    X(WORKER_CONNECTING, "connecting")   \
    X(WORKER_REGISTERING, "registering") \
    X(WORKER_WORKING, "working")         \
    X(WORKER_DRAINING, "draining")       \
    X(WORKER_LEAVING, "leaving")         \
    X(WORKER_STOPPED, "stopped")

enum worker_state {
#define STATE_ENUM(name, text) name,
    WORKER_STATES(STATE_ENUM)
#undef STATE_ENUM
};

struct muster_worker {
    /* What the program asked for: options.c, once. */
    char prefix[MUSTER_PREFIX_MAX + 1];
    char id[MUSTER_WORKER_ID_MAX + 1];
    struct script_root root; /* the namespace's. Other threads read it, but for its channels: connection.c */
    uint64_t owner;          /* the process that has made it */
    int ttl_ms;
    int hands;
    int prefetch;       /* how many processes it may hold beyond its hands */
    int n_threads;      /* 0: handlers run in the loop's thread */
    int drain_ms;       /* for a stop that names no time */
    uint64_t max_tasks; /* it stops after this many; 0: no limit */
    int64_t limit_ms;   /* of a handler; 0: none */
    enum muster_outcome on_limit;
    enum muster_on_doubt on_doubt;
    bool permanent;
    bool resume;
    bool in_turn;
    bool tell_ended;
    muster_event_fn *on_event;
    muster_end_fn *on_end; /* NULL: nobody listens */
    void *arg;

    /* Its life: worker.c. */
    struct event_base *base;
    bool owns_base;
    enum worker_state state;
    bool was_started;        /* registered at least once */
    bool was_asked_for_risk; /* Redis was asked what it may lose, and has not failed to answer */
    bool is_running_loop;    /* muster_worker_run() is on the stack */
    bool is_free_due;        /* it is freed as soon as nothing of it is on the stack */
    struct event *reaper;
    int result; /* what muster_worker_run() returns: tell_why() */
    /* Its epoch is empty while the worker is not registered: registration.c. The connection number: connection.c and
     * readback.c. The hands: each call that states them. */
    struct script_caller caller;

    /* Each is its file's. */
    struct connection connection;
    struct registration registration;
    struct resuming resuming;
    struct heartbeat heartbeat;
    struct sweeps sweeps;
    struct tidying tidying;
    struct ages ages;
    struct fence fence;
    struct probe probe;
    struct lifeline lifeline;
    struct timer_keeper keeper;
    struct crons crons;
    struct wake wake;
    struct readback readback;
    struct marks marks;
    struct round round;
    struct turns turns;
    struct too_large too_large;
    struct processes processes;
    struct outputs outputs;
    struct children children;
    struct lack lack;
    struct suspects suspects;
    struct stop stop;
    struct burst burst;
    struct produce produce;
    struct follow follow;
    bool is_data_due; /* extend.c: of a process at least */
    struct pulse pulse;
    struct tell tell;
    struct worker_figures figures;
    struct calls calls;
    struct outbox outbox;
    struct own_thread own_thread;
    struct posted *posted;   /* posted.c */
    struct threads *threads; /* executor_threads.c; NULL: none */

    /* The queues: serve.c; leave.c counts those that are being left. */
    struct served **served;
    size_t n_served;
    size_t n_leaving;
};

static inline size_t process_count(const struct muster_worker *w, unsigned answers)
{
    return processes_that(&w->processes, answers);
}

/* ---- worker.c ---- */
void worker_enter(struct muster_worker *w, enum worker_state state);
/* False in a child of fork(): the worker is the parent's. */
bool worker_is_own(const struct muster_worker *w);
/* It has stopped; no child of it runs. Others call stop_at_once(). */
void worker_stopped(struct muster_worker *w);
/* Runs its own loop until it has stopped or is to be freed. */
void worker_loop(struct muster_worker *w);
/* Nothing of it is on any stack. */
void worker_free_now(struct muster_worker *w);
/* How many processes Redis may put into its hands. */
int worker_capacity(const struct muster_worker *w);

/* ---- risk.c ---- */
/* Ask whether Redis may lose tasks, unless it was asked. */
void risk_look(struct muster_worker *w);

/* ---- options.c ---- */
/* NULL, or what is wrong with the options in words; the URL is apart. */
const char *options_check(const struct muster_worker_options *o);
bool options_want_url(const struct muster_worker_options *o);
int options_make_url(struct url *out, const struct muster_worker_options *o);
void options_set(struct muster_worker *w, const struct muster_worker_options *o, int db);

#endif
