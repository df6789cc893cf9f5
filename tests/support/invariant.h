/* SPDX-License-Identifier: MIT
 *
 * The invariant of the protocol, looked up in the keys of a namespace at one instant (one script):
 *
 *   - no queue that is not paused, nor has as many in work as it may, has both a waiting task or job and a fresh idle
 *     worker with free hands on it, fresh being heard within the last half of its ttl;
 *   - each worker's `held` is what its in-process sets hold, each queue's `running` what all sets of that queue hold;
 *   - no in-process set belongs to a worker that is not registered, or to a queue that its worker does not know;
 *   - each process under a lease has one, and each lease a process; a queue's `due` is not later than what comes first;
 *   - each mark and note is of a process, and its worker carries the flag; the failed list's figures are what is on it;
 *   - each job is in one state, by its record and by all indexes; what it waits for can still be complete, knows of it, and
 *     is all that it waits for; tags, their counts, and the list of tracked jobs are what the records say.
 *
 * Work that a bare LPUSH brought is excepted by the protocol, but not here: do not use it together with this.
 */
#ifndef INVARIANT_H
#define INVARIANT_H

struct redisContext;

/* Fails the test with all that is amiss. */
void invariant_assert(struct redisContext *redis, const char *prefix);

/* One owner: no task waits, runs, is delayed or failed in two places at once. For tests whose tasks all differ. */
void invariant_assert_one_place(struct redisContext *redis, const char *prefix);

#endif
