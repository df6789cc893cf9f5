/* SPDX-License-Identifier: MIT
 *
 * The invariant of the protocol, checked in the keys of a namespace at one instant (one script):
 *
 *   - No queue has both a waiting task or job and a fresh idle worker with free hands, unless it is paused or has as
 *     many in work as it may. A worker is fresh if it was heard within the last half of its ttl.
 *   - Each worker's `held` is what its in-process sets hold, and each queue's `running` what all sets of that queue
 *     hold.
 *   - No in-process set belongs to a worker that is not registered, or to a queue that its worker does not know.
 *   - Each process under a lease has one lease, and each lease a process. A queue's `due` is not later than the first
 *     thing that is due.
 *   - Each mark and note belongs to a process, and its worker carries the flag. The failed list's figures are right.
 *   - Each job is in one state, by its record and by all indexes. Each job that it waits for can still be complete and
 *     knows of it, and there are no others. Tags, their counts, and the list of tracked jobs are what the records say.
 *
 * The protocol excepts work that came by a bare LPUSH; this check does not. Do not use both in one test.
 */
#ifndef INVARIANT_H
#define INVARIANT_H

struct redisContext;

/* Fails the test with all that is amiss. */
void invariant_assert(struct redisContext *redis, const char *prefix);

/* One owner: no task waits, runs, is delayed or failed in two places at once. For tests whose tasks all differ. */
void invariant_assert_one_place(struct redisContext *redis, const char *prefix);

#endif
