/* SPDX-License-Identifier: MIT
 *
 * TLS under a wire: as wire_socket.h, over a session. OpenSSL writes with write(2), also where it reads, so SIGPIPE is
 * held each time.
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include "redis/tls.h"
#include "redis/wire_socket.h"

enum wire_io wire_tls_shake(struct tls *t);
enum wire_io wire_tls_read(struct tls *t, void *data, size_t size, size_t *n);
enum wire_io wire_tls_write(struct tls *t, const void *data, size_t len, size_t *n);
/* Says goodbye, if that does not have to be waited for. NULL is allowed. */
void wire_tls_free(struct tls *t);

#endif
