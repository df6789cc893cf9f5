/* SPDX-License-Identifier: MIT
 *
 * Holds SIGPIPE during a write; sigpipe.h says why.
 */
#include "redis/sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static sigset_t only_sigpipe(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void sigpipe_hold(struct sigpipe *s)
{
    sigset_t set = only_sigpipe();
    pthread_sigmask(SIG_BLOCK, &set, &s->old);
    /* Only a thread that had it blocked before can have an older one pending. That one must stay. */
    sigset_t pending;
    s->was_pending = sigismember(&s->old, SIGPIPE) && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

void sigpipe_release(const struct sigpipe *s, bool may_be_raised)
{
    int saved = errno;
    if (may_be_raised && !s->was_pending) {
        sigset_t set = only_sigpipe();
        const struct timespec now = {0, 0};
        while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &s->old, NULL);
    errno = saved;
}
