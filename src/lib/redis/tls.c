/* SPDX-License-Identifier: MIT
 *
 * A TLS session. It waits for nothing: each call does what can be done now.
 */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/resolver.h"
#include "redis/tls_private.h"

const char *tls_missing(void)
{
    return NULL;
}

/* OpenSSL asks for our certificate when the server has asked for it. The context's is used. */
static int on_asked(SSL *ssl, void *arg)
{
    struct tls *t = arg;
    (void)ssl;
    t->is_asked = true;
    return 1;
}

/* Whom the certificate must be for. A name is sent along, too, for servers with several certificates. */
static bool expect_name(struct tls *t)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
    if (resolver_is_address(t->name))
        return X509_VERIFY_PARAM_set1_ip_asc(param, t->name);
    SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(t->ssl, t->name) && SSL_set_tlsext_host_name(t->ssl, t->name);
}

/* No certificate has the dot that ends a name. */
static char *name_of(const char *server_name)
{
    size_t len = strlen(server_name);
    return strndup(server_name, len > 1 && server_name[len - 1] == '.' ? len - 1 : len);
}

static bool set_up(struct tls *t, const char *server_name)
{
    t->ssl = SSL_new(t->context->ssl);
    t->name = name_of(server_name);
    if (!t->ssl || !t->name || !SSL_set_app_data(t->ssl, t) || !expect_name(t))
        return false;
    BIO *socket = tls_socket_new(t);
    if (!socket)
        return false;
    SSL_set_bio(t->ssl, socket, socket);
    SSL_set_cert_cb(t->ssl, on_asked, t);
    SSL_set_connect_state(t->ssl);
    snprintf(t->why, sizeof t->why, "no answer to the TLS handshake: does the server speak TLS on this port?");
    return true;
}

int tls_new(struct tls **out, struct tls_context *c, int fd, const char *server_name)
{
    struct tls *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return MUSTER_E_NOMEM;
    t->context = c;
    t->fd = fd;
    bool is_good = set_up(t, server_name);
    ERR_clear_error();
    if (!is_good) {
        tls_free(t);
        return MUSTER_E_NOMEM;
    }
    *out = t;
    return MUSTER_OK;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t->name);
    free(t);
}

/* What a call of OpenSSL came to that did not do it all. */
static enum tls_result result_of(struct tls *t, int returned)
{
    switch (SSL_get_error(t->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        /* Who is refused may see no more than the end. */
        if (SSL_is_init_finished(t->ssl) && (t->is_accepted || !t->is_asked))
            return TLS_CLOSED;
        break;
    }
    if (!t->is_accepted && (*t->bad_cert || t->is_asked))
        tls_context_doubt(t->context);
    tls_words_of_failure(t);
    return TLS_FAILED;
}

enum tls_result tls_shake(struct tls *t)
{
    ERR_clear_error();
    int returned = SSL_do_handshake(t->ssl);
    return returned == 1 ? TLS_DONE : result_of(t, returned);
}

enum tls_result tls_read(struct tls *t, void *data, size_t size, size_t *n)
{
    size_t got = 0, more = 0;
    int returned;
    ERR_clear_error();
    do {
        returned = SSL_read_ex(t->ssl, (char *)data + got, size - got, &more);
        got += returned == 1 ? more : 0;
    } while (returned == 1 && got < size && SSL_has_pending(t->ssl));
    *n = got;
    if (got == 0)
        return result_of(t, returned);
    t->is_accepted = true;
    ERR_clear_error(); /* what ended it, the next call meets again */
    return TLS_DONE;
}

enum tls_result tls_write(struct tls *t, const void *data, size_t len, size_t *n)
{
    *n = 0;
    if (len == 0)
        return TLS_DONE;
    ERR_clear_error();
    int returned = SSL_write_ex(t->ssl, data, len, n);
    return returned == 1 ? TLS_DONE : result_of(t, returned);
}

const char *tls_why(const struct tls *t)
{
    return t->why;
}
