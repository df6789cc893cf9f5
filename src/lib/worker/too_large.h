/* SPDX-License-Identifier: MIT
 *
 * What this Redis does not let through for its size: see too_large.c.
 */
#ifndef TOO_LARGE_H
#define TOO_LARGE_H

#include "protocol/size_limit.h"
#include "redis/byte_limits.h"
#include "worker/process.h"

struct too_large {
    bool has_broken;           /* a process may have ended a connection, since Redis was asked */
    size_t together;           /* so many ended a connection together, or one of them did; 0: none */
    uint64_t n_bytes;          /* these have, as far as they were fetched since, one by one */
    bool has_told;             /* that together they are too large */
    bool waits;                /* for memory: a process may be put off */
    struct byte_limits limits; /* of the last connection */
};

/* First on a new connection: ask for what may have ended the one before. */
void too_large_ask(struct muster_worker *w);

/* How many tasks a call with these ends may ask for, if it usually may for `most`. */
int too_large_take_most(struct muster_worker *w, struct muster_process *const *ends, size_t n_ends, int most);
/* These ends went in one call, which had this error. True: one of them brings no result any more, but has failed. */
bool too_large_end(struct muster_process *const *ends, size_t n_ends, int err);

/* So many bytes of this are too large, and it fails: the program is told; its failure says so; both. Only the last two
 * write into the process, which must have ended. */
void too_large_tell(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes);
void too_large_set_failure(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes);
void too_large_give_up(struct muster_process *p, enum size_limit_thing thing, uint64_t n_bytes);
/* A request of so many bytes had no answer, and is counted in `n_breaks` if it was alone on this link. True: this Redis does
 * not let it through. */
bool too_large_request(struct muster_worker *w, const struct link *link, size_t n_bytes, unsigned *n_breaks);
/* What it is had no answer. */
void too_large_note_break(struct muster_process *p);
/* No other process here has bytes. */
bool too_large_has_all_memory(const struct muster_worker *w);
/* There is no memory for it here. True: that may be for its size alone, so it is to be fetched again. */
bool too_large_note_no_memory(struct muster_process *p);
/* It has ended so many connections that its length is asked for first. */
bool too_large_must_measure(const struct muster_process *p);
/* So long it is. True: it has failed. Otherwise it is to be fetched. */
bool too_large_task(struct muster_process *p, uint64_t n_bytes);
/* It was fetched: for its result is counted anew. */
void too_large_fetched(struct muster_process *p);

#endif
