/* SPDX-License-Identifier: MIT
 *
 * What a wire has to send: bytes, in the order in which they were said.
 */
#ifndef WIRE_OUT_H
#define WIRE_OUT_H

#include "redis/command.h"

struct wire_out {
    char *bytes; /* to be sent: from `sent` to `len`; what was said last begins at `last` */
    size_t len, sent, last, cap;
};

void wire_out_clear(struct wire_out *o);

/* Add a command, or the bytes of one. E_NOMEM: nothing has happened. */
int wire_out_command(struct wire_out *o, const struct command *c);
int wire_out_bytes(struct wire_out *o, const struct muster_bytes *parts, size_t n);

/* So many bytes are sent. */
void wire_out_forget(struct wire_out *o, size_t n);

#endif
