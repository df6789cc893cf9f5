/* SPDX-License-Identifier: MIT
 *
 * A namespace with something of everything, for calls of any script: workers that live and that died, tasks and jobs in
 * every state. It is made once, kept, and restored before each call, which costs far less than to make it again.
 */
#ifndef SCRIPT_WORLD_H
#define SCRIPT_WORLD_H

#include "script_call.h"

/*
 * In queue "q", worker "w" holds a cancelled process, one with a note, a third one and a job, and has failed one. Two
 * processes are under leases, one of them with a note, and a job. Some tasks wait, and one is due. "dead" died holding
 * a task and a job. There is a job in each state, named after it; "depends" waits for the one that "w" holds, "after"
 * for the failed one. Of the key "k" one job is under a lease and others wait. "queued-1" is under a lease too, and the
 * schedule "queued" of queue "p" waits for its end. A task and a job have come back, in the home of a life that
 * is over.
 */
struct script_world {
    struct scene *s;
    struct acting_worker w, dead, heir;
    char cancelled[12], held[12], leased[12], held_job[12], leased_job[12], keyed_job[12], made_job[12];
    char process[24]; /* the id of the task under a lease */
};

void script_world_make(struct script_world *world, struct scene *s);
/* The same, and q is fair and has a limit for each key. */
void script_world_make_fair(struct script_world *world, struct scene *s);

/* States that a call may need besides: the lease of `leased` has lapsed; "w" keeps the timer, and "heir" is idle and
 * hears. */
void script_world_lapse(struct script_world *world);
void script_world_keep_timer(struct script_world *world);
/* Jobs wait for "old" by a set, as in the oldest layout, and a part of them is moved. */
void script_world_grow_old(struct script_world *world);
/* "heir" has hands for all that waits in q. */
void script_world_serve(struct script_world *world);
/* The queue q shares evenly, and another worker lacks something. */
void script_world_share(struct script_world *world);
/* What scripts do in steps is half done: "batch" is being cancelled, jobs are let go and cancelled, and somebody is to
 * look at what is held and at what has no round. */
void script_world_stop_halfway(struct script_world *world);
/* All workers are dead. */
void script_world_die(struct script_world *world);
/* The job "leased" has come back, and is in a home. */
void script_world_return(struct script_world *world);

/* Keeps it as it is now; restore brings all keys back to that, with their times to live. */
void script_world_keep(struct script_world *world);
void script_world_restore(struct script_world *world);

/* Leaves nothing on the server. */
void script_world_end(struct script_world *world);

/* All tasks, wherever they are, and all jobs that are not complete, where their records say. A key of a wrong type
 * holds no tasks, but it may hold jobs. */
int64_t script_world_count(struct script_world *world);

/* The same in Lua, for scripts of tests: copy_all(from, to), of databases; count_all(P), P with its colon. */
extern const char script_world_lua_copy[], script_world_lua_count[];

#endif
