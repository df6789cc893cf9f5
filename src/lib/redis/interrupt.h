/* SPDX-License-Identifier: MIT
 *
 * An interrupt: another thread, or a signal handler, asks one that waits to wait no longer. It is kept until somebody
 * takes it, so none is lost, however late the wait begins. Several before that are one.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

struct interrupt {
    atomic_int is_raised;
    int fd; /* an eventfd, readable when it is raised, and maybe once more after that */
};

/* MUSTER_OK, or E_NOMEM: there is no descriptor left. interrupt_close() is allowed also then. */
int interrupt_open(struct interrupt *i);
void interrupt_close(struct interrupt *i);

/* Any thread, any signal handler; errno stays. */
void interrupt_raise(struct interrupt *i);

/* Was it raised? Then it is not any more. */
bool interrupt_take(struct interrupt *i);

/* Wait until the descriptor `fd` is ready for `events`, or the interrupt is raised; for at most `ms`. fd -1: for the
 * interrupt alone. `*ready` is what `fd` is ready for. False: the time is over. After true anybody who waits for the
 * interrupt must look whether it is raised. */
bool interrupt_wait(struct interrupt *i, int fd, short events, int ms, short *ready);

#endif
