/* SPDX-License-Identifier: MIT
 *
 * Whose a handle is: what a process has made is not its child's.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdint.h>

/* The number of this process, never 0. A child has another one, however it was forked. Any thread. No system call. */
uint64_t owner_this(void);

#endif
