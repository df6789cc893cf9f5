/* SPDX-License-Identifier: MIT
 *
 * Keys are on the curve P-256, because they are made in no time.
 */
#include "tls_peer.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testing.h"

#define DAY_S 86400L

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(cert, e, -1), 1);
    X509_EXTENSION_free(e);
}

static void set_validity(X509 *cert, const struct tls_id_about *about)
{
    bool is_default = about->from_days == 0 && about->until_days == 0;
    X509_gmtime_adj(X509_getm_notBefore(cert), is_default ? -3600 : about->from_days * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(cert), is_default ? DAY_S : about->until_days * DAY_S);
}

struct tls_id tls_peer_id(const struct tls_id_about *about)
{
    static long serial = 1;
    struct tls_id id = {.key = EVP_EC_gen("P-256"), .cert = X509_new()};
    assert_true(id.key && id.cert);
    X509 *issuer = about->by ? about->by->cert : id.cert;
    X509_set_version(id.cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(id.cert), serial++);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(id.cert), "CN", MBSTRING_UTF8, (const unsigned char *)about->name,
                               -1, -1, 0);
    X509_set_issuer_name(id.cert, X509_get_subject_name(issuer));
    X509_set_pubkey(id.cert, id.key);
    set_validity(id.cert, about);
    if (about->is_ca)
        add_extension(id.cert, issuer, NID_basic_constraints, "critical,CA:TRUE");
    if (about->alt_names)
        add_extension(id.cert, issuer, NID_subject_alt_name, about->alt_names);
    assert_true(X509_sign(id.cert, about->by ? about->by->key : id.key, EVP_sha256()) > 0);
    return id;
}

void tls_peer_id_free(struct tls_id *id)
{
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
    *id = (struct tls_id){0};
}

void tls_peer_write_cert(const struct tls_id *id, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, id->cert), 1);
    assert_int_equal(fclose(f), 0);
}

void tls_peer_write_key(const struct tls_id *id, const char *path, const char *passphrase)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, id->key, passphrase ? EVP_aes_256_cbc() : NULL, NULL, 0, NULL,
                                          (void *)(uintptr_t)passphrase),
                     1);
    assert_int_equal(fclose(f), 0);
}

static int on_server_name(SSL *ssl, int *alert, void *arg)
{
    struct tls_peer *p = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    snprintf(p->asked_name, sizeof p->asked_name, "%s", name ? name : "");
    return SSL_TLSEXT_ERR_OK;
}

static void set_up(struct tls_peer *p, const struct tls_peer_about *about)
{
    p->context = SSL_CTX_new(TLS_server_method());
    assert_non_null(p->context);
    SSL_CTX_set_security_level(p->context, 0); /* old versions, too */
    SSL_CTX_set_min_proto_version(p->context, about->version);
    SSL_CTX_set_max_proto_version(p->context, about->version);
    assert_int_equal(SSL_CTX_use_certificate(p->context, about->id->cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(p->context, about->id->key), 1);
    SSL_CTX_set_tlsext_servername_callback(p->context, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(p->context, p);
    if (about->client_ca) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(p->context), about->client_ca->cert);
        SSL_CTX_set_verify(p->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
}

int tls_peer_new(struct tls_peer *p, const struct tls_peer_about *about)
{
    int fds[2];
    *p = (struct tls_peer){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    p->fd = fds[0];
    set_up(p, about);
    p->ssl = SSL_new(p->context);
    assert_non_null(p->ssl);
    assert_int_equal(SSL_set_fd(p->ssl, p->fd), 1);
    SSL_set_accept_state(p->ssl);
    return fds[1];
}

void tls_peer_free(struct tls_peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->context);
    if (p->fd >= 0)
        close(p->fd);
    *p = (struct tls_peer){.fd = -1};
}
