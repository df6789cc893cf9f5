/* SPDX-License-Identifier: MIT
 *
 * Keeps SIGPIPE away from the program while hiredis writes: it uses write(2), and a library must not touch the
 * program's signal handlers. Blocked for this thread around the write; one that this write raised is swallowed.
 */
#ifndef SIGPIPE_H
#define SIGPIPE_H

#include <signal.h>

struct sigpipe {
    sigset_t old;
    int was_pending;
};

void sigpipe_hold(struct sigpipe *s);
/* `broken`: the write failed, so a SIGPIPE may be pending. */
void sigpipe_release(const struct sigpipe *s, int broken);

#endif
