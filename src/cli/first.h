/* SPDX-License-Identifier: MIT
 *
 * Being process 1 of a container, or another process to which orphans fall.
 */
#ifndef FIRST_H
#define FIRST_H

/* Call this before anything else is done. Where no orphans fall to this process it returns at once; otherwise in a
 * child, which is to be the command, and this process ends when that has ended. */
void first_begin(void);

#endif
