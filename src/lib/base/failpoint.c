/* SPDX-License-Identifier: MIT
 *
 * Failpoints, in builds for tests only; failpoint.h says what they are. A worker passes them only in the thread of its
 * loop.
 */
#include "base/failpoint.h"

typedef int failpoint_not_empty; /* ISO C wants something in a file */

#ifdef MUSTER_FAILPOINTS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool failpoint_is_set(const char *script, const char *where)
{
    char wanted[64];
    const char *set = getenv("MUSTER_FAILPOINT");
    int len = snprintf(wanted, sizeof wanted, "%s:%s:", script, where);
    return set && strncmp(set, wanted, (size_t)len) == 0;
}

static void hold(void)
{
    const char *file = getenv("MUSTER_FAILPOINT_FILE");
    while (file && access(file, F_OK) == 0)
        usleep(10000);
}

void failpoint_pass(const char *script, const char *where)
{
    static int passed;
    int n;
    char what[8];
    if (!failpoint_is_set(script, where) || sscanf(getenv("MUSTER_FAILPOINT"), "%*[^:]:%*[^:]:%d:%7s", &n, what) != 2)
        return;
    if (strcmp(what, "hold") == 0)
        hold();
    else if (++passed == n)
        raise(strcmp(what, "stop") == 0 ? SIGSTOP : SIGKILL);
}
#endif
