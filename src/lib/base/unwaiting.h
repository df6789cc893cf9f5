/* SPDX-License-Identifier: MIT
 *
 * Writing to a descriptor that others have, too, without waiting for its reader.
 */
#ifndef UNWAITING_H
#define UNWAITING_H

/* Opens once more what `fd` is, a pipe or terminal that can be written, such that a write takes what goes now. The
 * descriptor itself cannot be told so: it is others' as well, who would then fail. To be closed; -1: there is none, or a
 * write does not wait. */
int unwaiting_open(int fd);

#endif
