/* SPDX-License-Identifier: MIT
 *
 * The socket as OpenSSL sees it. OpenSSL's own would raise SIGPIPE.
 */
#include <errno.h>
#include <sys/socket.h>

#include "redis/tls_private.h"

static int on_write(BIO *bio, const char *data, size_t len, size_t *n)
{
    struct tls *t = BIO_get_data(bio);
    ssize_t sent;
    BIO_clear_retry_flags(bio);
    do
        sent = send(t->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        *n = (size_t)sent;
        return 1;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        BIO_set_retry_write(bio);
    else
        t->io_errno = errno;
    return -1;
}

static int on_read(BIO *bio, char *data, size_t size, size_t *n)
{
    struct tls *t = BIO_get_data(bio);
    ssize_t received;
    BIO_clear_retry_flags(bio);
    do
        received = recv(t->fd, data, size, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    if (received > 0) {
        *n = (size_t)received;
        return 1;
    }
    if (received == 0)
        t->is_at_end = true;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
        BIO_set_retry_read(bio);
    else
        t->io_errno = errno;
    return received == 0 ? 0 : -1;
}

static long on_ctrl(BIO *bio, int what, long number, void *arg)
{
    const struct tls *t = BIO_get_data(bio);
    (void)number, (void)arg;
    if (what == BIO_CTRL_EOF)
        return t->is_at_end;
    return what == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_socket_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "muster's socket");
    if (method && BIO_meth_set_write_ex(method, on_write) && BIO_meth_set_read_ex(method, on_read) &&
        BIO_meth_set_ctrl(method, on_ctrl))
        return method;
    BIO_meth_free(method);
    return NULL;
}

BIO *tls_socket_new(struct tls *t)
{
    BIO *bio = BIO_new(t->context->socket);
    if (!bio)
        return NULL;
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    return bio;
}
