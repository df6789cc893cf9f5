/* SPDX-License-Identifier: MIT
 *
 * What the files of TLS share. They alone know OpenSSL.
 */
#ifndef TLS_PRIVATE_H
#define TLS_PRIVATE_H

#include <openssl/ssl.h>
#include <sys/stat.h>

#include "redis/tls.h"

#define TLS_WHY_MAX 400
#define TLS_FILES 4
#define TLS_SYSTEM_FILES 2 /* the first of them */

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *socket;
    bool is_insecure;
    bool has_cert;
    bool has_ca;                 /* one that the URL names */
    struct stat seen[TLS_FILES]; /* its files, before they were read */
    bool has_failed;             /* a handshake, maybe for what they hold */
    bool is_told;                /* that they cannot be read again */
};

struct tls {
    SSL *ssl;
    struct tls_context *context;
    int fd;
    int io_errno;     /* of the last failure to send or receive; 0: none */
    bool is_at_end;   /* the server has closed its side */
    bool is_asked;    /* the server has asked for a client certificate */
    bool is_accepted; /* the server has answered something inside the session, so it does not refuse us */
    char *name;
    char bad_cert[TLS_WHY_MAX]; /* why the server's certificate is not accepted */
    char why[TLS_WHY_MAX];
};

/* A handshake has failed, maybe for what was read: it is read again for the next connection. */
void tls_context_doubt(struct tls_context *c);

BIO_METHOD *tls_socket_method(void);
BIO *tls_socket_new(struct tls *t);

/* In bad_cert: what is wrong with the certificate that is being verified. */
void tls_words_of_cert(struct tls *t, X509_STORE_CTX *store);
/* In why: how a call of OpenSSL failed. Empties the thread's queue of errors. */
void tls_words_of_failure(struct tls *t);

#endif
