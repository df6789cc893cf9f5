/* SPDX-License-Identifier: MIT
 *
 * TLS under a wire: as wire_socket.h, over a session. What failed, tls_why() says.
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include "redis/tls.h"
#include "redis/wire_socket.h"

enum wire_io wire_tls_shake(struct tls *t);
enum wire_io wire_tls_read(struct tls *t, void *data, size_t size, size_t *n);
enum wire_io wire_tls_write(struct tls *t, const void *data, size_t len, size_t *n);

#endif
