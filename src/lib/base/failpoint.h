/* SPDX-License-Identifier: MIT
 *
 * Failpoints: a build for tests can tell a program to die or to stand still at a named point of a script call.
 *
 *     MUSTER_FAILPOINT=SCRIPT:WHERE:N:WHAT     as turn:after_send:3:kill
 *
 * WHERE is one of
 *   before_send
 *   after_send     the kernel has the bytes
 *   before_reply   the answer has been read, and nothing has been done with it
 *   after_reply
 * It happens at the N-th passing. WHAT is kill (SIGKILL) or stop (SIGSTOP). Or it is hold: then each passing stands still
 * for as long as there is the file MUSTER_FAILPOINT_FILE, and other threads go on. In other builds there are no failpoints.
 */
#ifndef FAILPOINT_H
#define FAILPOINT_H

#include <stdbool.h>

#ifdef MUSTER_FAILPOINTS
/* Count one more passing, and act if it is the N-th. */
void failpoint_pass(const char *script, const char *where);
/* Does MUSTER_FAILPOINT name this point of this script? */
bool failpoint_is_set(const char *script, const char *where);
#else
#define failpoint_pass(script, where) ((void)0)
#define failpoint_is_set(script, where) false
#endif

#endif
