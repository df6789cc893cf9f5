/* SPDX-License-Identifier: MIT
 *
 * Certificates, and the server's side of TLS on one end of a pair of sockets, in the test's own process.
 */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>

struct tls_id {
    EVP_PKEY *key;
    X509 *cert;
};

struct tls_id_about {
    const char *name;          /* the common name */
    const char *alt_names;     /* as OpenSSL's configuration has it: "DNS:a,IP:127.0.0.1"; NULL: none */
    const struct tls_id *by;   /* who signs; NULL: itself */
    int from_days, until_days; /* from now; 0, 0: valid for a day */
    bool is_ca;
};

struct tls_id tls_peer_id(const struct tls_id_about *about);
void tls_peer_id_free(struct tls_id *id);
/* As PEM files. */
void tls_peer_write_cert(const struct tls_id *id, const char *path);
void tls_peer_write_key(const struct tls_id *id, const char *path, const char *passphrase);

struct tls_peer {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
    char asked_name[256]; /* what the client sent as the server's name; "" if none */
};

struct tls_peer_about {
    const struct tls_id *id;
    const struct tls_id *client_ca; /* the client must show a certificate by it; NULL: none is asked for */
    int version;                    /* the only one; 0: any */
};

/* Make a pair of sockets, both non-blocking; the client's end is the result. */
int tls_peer_new(struct tls_peer *p, const struct tls_peer_about *about);
void tls_peer_free(struct tls_peer *p);

#endif
