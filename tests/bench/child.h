/* SPDX-License-Identifier: MIT
 *
 * Child processes. A child keeps only the standard streams and one descriptor of its parent open, and dies with its
 * parent, however that ends.
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

/* The descriptor of a child's end of the pipe. */
#define CHILD_FD 3

/* A child that runs `fn` and ends with status 0 when that returns. `*to_child`, if not NULL, gets the writing end of a
 * pipe that the child reads from CHILD_FD. */
pid_t child_start(void (*fn)(void *arg), void *arg, int *to_child);

/* SIGKILL, and wait. */
void child_kill(pid_t pid);

/* Wait until it ends by itself; fail() if that is not with status 0. */
void child_wait(pid_t pid);

/* fail() if a child has ended in another way than with status 0. */
void child_check(void);

/* Kill all there are. Safe in a signal handler. */
void child_kill_all(void);

#endif
