/* SPDX-License-Identifier: MIT
 *
 * A build without TLS says so. No session is ever made, so that what needs one is never called.
 */
#include <stdio.h>

#include "redis/tls.h"

const char *tls_missing(void)
{
    return "rediss:// needs TLS, which this build of muster does not have: build it with libssl-dev, or use a TLS "
           "tunnel and redis://";
}

int tls_context_new(struct tls_context **out, const struct url_tls *o, char *why, size_t size)
{
    (void)o;
    *out = NULL;
    snprintf(why, size, "%s", tls_missing());
    return MUSTER_E_INVALID;
}

int tls_context_renew(struct tls_context **c, const struct url_tls *o, char *why, size_t size)
{
    return tls_context_new(c, o, why, size);
}

void tls_context_free(struct tls_context *c)
{
    (void)c;
}

int tls_new(struct tls **out, struct tls_context *c, int fd, const char *server_name)
{
    (void)c, (void)fd, (void)server_name;
    *out = NULL;
    return MUSTER_E_INVALID;
}

void tls_free(struct tls *t)
{
    (void)t;
}

enum tls_result tls_shake(struct tls *t)
{
    (void)t;
    return TLS_FAILED;
}

enum tls_result tls_read(struct tls *t, void *data, size_t size, size_t *n)
{
    (void)t, (void)data, (void)size, (void)n;
    return TLS_FAILED;
}

enum tls_result tls_write(struct tls *t, const void *data, size_t len, size_t *n)
{
    (void)t, (void)data, (void)len, (void)n;
    return TLS_FAILED;
}

const char *tls_why(const struct tls *t)
{
    (void)t;
    return tls_missing();
}
