/* SPDX-License-Identifier: MIT
 *
 * Child processes of a test: each dies with the test program, whatever ends that, and is waited for by its pid.
 *
 * The caller decides what a child does. The child must leave with _exit(). An assert that fails in it aborts it,
 * instead of jumping into its copy of the test runner.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Fork; 0 in the child. */
pid_t child_fork(void);

/* Does the child end before the deadline? Then `*status` is its wait status, and it is reaped. */
bool child_has_ended(pid_t pid, int deadline_ms, int *status);

/* Wait for the end of the child, at most until the deadline. Returns its wait status. */
int child_reap(pid_t pid, int deadline_ms);

/* SIGKILL and reap, then set to 0. A child that is 0 already is left alone. */
void child_kill(pid_t *pid);

#endif
