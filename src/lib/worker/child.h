/* SPDX-License-Identifier: MIT
 *
 * A child process that runs a command, and its end: see child.c.
 */
#ifndef CHILD_H
#define CHILD_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event;
struct muster_process;
struct muster_worker;
struct output;

/* What a child was told, the weakest first. */
enum child_told {
    CHILD_NOTHING,
    CHILD_TO_MOVE, /* its task is to go to another worker */
    CHILD_TO_STOP, /* for each other reason */
    CHILD_KILLED
};

/* NULL: it prints where the program does. */
struct outputs_of_child {
    struct output *result, *message;
};

struct child {
    struct muster_process *process;
    pid_t pid;
    int pidfd;
    enum child_told told;
    bool is_denied; /* it, or some of its group, takes no signal of this program, and that was told */
    struct event *exited, *grace;
    volatile int *note; /* of spawn.h. This and the outputs are executor_command.c's */
    struct outputs_of_child outputs;
};

/* Of all children of a worker. */
struct children {
    int64_t reap_before_ms; /* when the worker's end waits for none any more; 0: it has waited for none */
};

/* Watches the child of `p`, which is `pid`, and calls `on_exited` with it when it has exited. NULL: it cannot be watched,
 * and was killed. */
struct child *child_watch(struct muster_process *p, pid_t pid, event_callback_fn on_exited);
void child_free(struct child *c);

/* Tells it, unless it was told as much: SIGTERM, and SIGKILL when `grace_ms` are over; or SIGKILL. */
void child_tell(struct child *c, enum child_told told, int grace_ms);

/* False: it still runs. Otherwise it was waited for; `*status` as of waitpid(), or -1: nobody knows. What is left of the
 * group of a child that was told to end gets SIGKILL before. */
bool child_has_exited(struct child *c, int *status);

/* Kills it, and waits for it, but not for long. */
void child_abandon(struct child *c);

#endif
