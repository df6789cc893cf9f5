/* SPDX-License-Identifier: MIT
 *
 * Reads what the scripts write as "<length>:<length>:...", followed by parts of these lengths. Any program may have
 * written it, so nothing is trusted: a part that is not there is refused.
 */
#ifndef FRAME_H
#define FRAME_H

#include <muster/client.h>

/* Each reads from the beginning of `rest` and moves `rest` on. 0, or -1 if it is malformed. */
int frame_length(struct muster_bytes *rest, size_t *len);
int frame_part(struct muster_bytes *rest, size_t len, struct muster_bytes *part);
/* A part that ends before the next colon; the colon is skipped. */
int frame_field(struct muster_bytes *rest, struct muster_bytes *field);

/* A copy with a NUL. -1: it does not fit, or is no text. */
int frame_text(char *out, size_t size, struct muster_bytes part);

#endif
