/* SPDX-License-Identifier: MIT
 *
 * Memory, and descriptors, that the command cannot do without.
 */
#ifndef CLI_NEED_H
#define CLI_NEED_H

/* Returns memory that was just allocated. If it is NULL, the program ends with a line about it. */
void *need(void *memory);

/* Returns a descriptor that was just opened. If it is negative, the program ends with a line that tells errno. */
int need_descriptor(int fd);

#endif
