/* SPDX-License-Identifier: MIT
 *
 * Keeps SIGPIPE away from the program while hiredis writes: hiredis uses write(2), and a library must not touch the
 * program's signal handlers. The signal is blocked for this thread around the write. If the write raised one, it is
 * taken away.
 */
#ifndef SIGPIPE_H
#define SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
    sigset_t old;
    bool was_pending;
};

void sigpipe_hold(struct sigpipe *s);
/* `may_be_raised`: the write failed, so a SIGPIPE may be pending. */
void sigpipe_release(const struct sigpipe *s, bool may_be_raised);

#endif
