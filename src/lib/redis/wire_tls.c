/* SPDX-License-Identifier: MIT
 *
 * TLS under a wire.
 */
#include "redis/wire_tls.h"

static enum wire_io what_happened(enum tls_result result)
{
    switch (result) {
    case TLS_DONE:
        return WIRE_IO_DONE;
    case TLS_WANTS_READ:
        return WIRE_IO_WAITS_IN;
    case TLS_WANTS_WRITE:
        return WIRE_IO_WAITS_OUT;
    case TLS_CLOSED:
        return WIRE_IO_CLOSED;
    case TLS_FAILED:
        break;
    }
    return WIRE_IO_FAILED;
}

enum wire_io wire_tls_shake(struct tls *t)
{
    return what_happened(tls_shake(t));
}

enum wire_io wire_tls_read(struct tls *t, void *data, size_t size, size_t *n)
{
    *n = 0;
    return what_happened(tls_read(t, data, size, n));
}

enum wire_io wire_tls_write(struct tls *t, const void *data, size_t len, size_t *n)
{
    *n = 0;
    return what_happened(tls_write(t, data, len, n));
}
