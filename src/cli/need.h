/* SPDX-License-Identifier: MIT
 *
 * Memory that the command cannot do without.
 */
#ifndef CLI_NEED_H
#define CLI_NEED_H

/* Returns memory that was just allocated. If it is NULL, the program ends with a line about it. */
void *need(void *memory);

#endif
