/* SPDX-License-Identifier: MIT
 *
 * Writing to standard output and standard error. Nothing here waits in write(2), where a signal would have to end the
 * program, or would be seen only when somebody reads.
 */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct call;

/* Write all of it, however long nobody reads: until a signal asks to end, or one is held back. From then on it waits only
 * for as long as for an answer of Redis, and afterwards not at all. `*done`: how much was written.
 * False: not all, and errno says why; ETIMEDOUT: nobody reads. */
bool stream_write(int fd, const char *data, size_t len, size_t *done);

/* A signal asks to end. For its handler. */
void stream_hurry(void);

/* How long it waits then: --timeout, and at most five seconds where it is the verb's own. */
void stream_set_patience(const struct call *call);

/* Write what goes now, for a handler of signals; stream_ready() has been called before. */
void stream_ready(int fd);
void stream_try(int fd, const char *data, size_t len);

/* A standard stream once more, if it is a pipe or terminal that can be written, such that a write takes what goes now:
 * the stream itself may be others' too. -1: there is none. */
int stream_open(int fd);

/* Write to a standard stream as much as it takes now; `unwaiting` is what stream_open() has made of it. Where there is
 * none, as of a pipe that this user may not open, it is only what a pipe with room takes. Returns as write(2); nothing
 * goes now: EAGAIN. */
ssize_t stream_now(int fd, int unwaiting, const char *data, size_t len);

/* Is there room within this time? */
bool stream_has_room(int fd, int patience_ms);

#endif
