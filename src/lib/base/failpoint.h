/* SPDX-License-Identifier: MIT
 *
 * Failpoints: in builds for tests a program can be told to die or to stand still at a named point of a script call.
 *
 *     MUSTER_FAILPOINT=SCRIPT:WHERE:N:WHAT     as turn:after_send:3:kill
 *
 * WHERE is before_send, after_send (its bytes are with the kernel), before_reply (the answer has been read, nobody has
 * seen it) or after_reply; at the N-th time; WHAT is kill (SIGKILL) or stop (SIGSTOP). In other builds there is
 * nothing.
 */
#ifndef FAILPOINT_H
#define FAILPOINT_H

#ifdef MUSTER_FAILPOINTS
/* Counts one more passing, and acts if it is the one. */
void failpoint_pass(const char *script, const char *where);
/* Is a point of this script and place asked for? */
int failpoint_is_set(const char *script, const char *where);
#else
#define failpoint_pass(script, where) ((void)0)
#define failpoint_is_set(script, where) 0
#endif

#endif
