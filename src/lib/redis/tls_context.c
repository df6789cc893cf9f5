/* SPDX-License-Identifier: MIT
 *
 * What is trusted, and who we are: made when a connection first needs it, and anew for a later one when the files have
 * changed, or a handshake says that what was read is of no use.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "redis/tls_private.h"

/* Where the reason goes. */
struct words {
    char *text;
    size_t size;
};

static int __attribute__((format(printf, 2, 3))) refuse(const struct words *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, why->size, format, args);
    va_end(args);
    ERR_clear_error();
    return MUSTER_E_INVALID;
}

/* OpenSSL says of a file that it cannot open no more than that. */
static int check_file(const char *option, const char *path, bool *is_folder, const struct words *why)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0) {
        char text[128];
        int wrong = errno;
        if (fd >= 0)
            close(fd);
        return refuse(why, "%s: %s: %s", option, path, strerror_r(wrong, text, sizeof text));
    }
    close(fd);
    *is_folder = S_ISDIR(about.st_mode);
    return MUSTER_OK;
}

/* ---- what has changed since ---- */

static const char *system_path(const char *variable, const char *usual)
{
    const char *path = secure_getenv(variable);
    return path ? path : usual;
}

/* Of what is not there all is 0. What is a link counts as what it leads to. */
static void look_at(struct stat *out, const char *path)
{
    struct stat about = {0};
    memset(out, 0, sizeof *out);
    if (!path || stat(path, &about) != 0)
        return;
    out->st_dev = about.st_dev;
    out->st_ino = about.st_ino;
    out->st_size = about.st_size;
    out->st_mtim = about.st_mtim;
    out->st_ctim = about.st_ctim;
}

static void look_at_all(struct stat out[TLS_FILES], const struct url_tls *o)
{
    bool is_system = !o->ca && !o->is_insecure;
    look_at(&out[0], is_system ? system_path(X509_get_default_cert_file_env(), X509_get_default_cert_file()) : o->ca);
    look_at(&out[1], is_system ? system_path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()) : NULL);
    look_at(&out[2], o->cert);
    look_at(&out[3], o->key);
}

/* ---- reading ---- */

/* Those of the system are read for all contexts together, because they may be hundreds, and take tens of milliseconds:
 * for the first one, and for each after they have changed, or a handshake has failed. */
static struct {
    pthread_mutex_t mutex;
    X509_STORE *all;
    struct stat seen[TLS_SYSTEM_FILES];
    bool is_doubted;
} of_system = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Under the mutex. */
static void read_system(const struct tls_context *c)
{
    X509_STORE_free(of_system.all);
    of_system.all = X509_STORE_new();
    of_system.is_doubted = false;
    memcpy(of_system.seen, c->seen, sizeof of_system.seen);
    if (of_system.all && !X509_STORE_set_default_paths(of_system.all)) {
        X509_STORE_free(of_system.all);
        of_system.all = NULL;
    }
}

static int trust_system(struct tls_context *c)
{
    pthread_mutex_lock(&of_system.mutex);
    if (!of_system.all || of_system.is_doubted || memcmp(of_system.seen, c->seen, sizeof of_system.seen) != 0)
        read_system(c);
    bool is_good = of_system.all != NULL;
    if (is_good)
        SSL_CTX_set1_cert_store(c->ssl, of_system.all);
    pthread_mutex_unlock(&of_system.mutex);
    return is_good ? MUSTER_OK : MUSTER_E_NOMEM;
}

void tls_context_doubt(struct tls_context *c)
{
    c->has_failed = true;
    pthread_mutex_lock(&of_system.mutex);
    of_system.is_doubted = true;
    pthread_mutex_unlock(&of_system.mutex);
}

static int trust(struct tls_context *c, const char *ca, const struct words *why)
{
    bool is_folder = false;
    if (!ca)
        return trust_system(c);
    if (check_file("tls_ca", ca, &is_folder, why) != MUSTER_OK)
        return MUSTER_E_INVALID;
    c->has_ca = true;
    if (is_folder ? SSL_CTX_load_verify_dir(c->ssl, ca) : SSL_CTX_load_verify_file(c->ssl, ca))
        return MUSTER_OK;
    return refuse(why, "tls_ca: %s: there is no certificate in PEM form in it", ca);
}

/* OpenSSL would ask for it on the terminal. */
static int no_passphrase(char *out, int size, int is_for_writing, void *has_been_asked)
{
    (void)out, (void)size, (void)is_for_writing;
    *(bool *)has_been_asked = true;
    return -1;
}

static int refuse_key(const struct url_tls *o, bool is_encrypted, const struct words *why)
{
    int reason = ERR_GET_REASON(ERR_peek_last_error());
    if (is_encrypted)
        return refuse(why, "tls_key: %s: it is encrypted: give a key without a passphrase", o->key);
    if (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH)
        return refuse(why, "tls_key: %s: it is not the key of the certificate %s", o->key, o->cert);
    return refuse(why, "tls_key: %s: there is no key in PEM form in it", o->key);
}

static int show_certificate(struct tls_context *c, const struct url_tls *o, const struct words *why)
{
    bool is_folder, is_encrypted = false;
    if (!o->cert)
        return MUSTER_OK;
    if (check_file("tls_cert", o->cert, &is_folder, why) != MUSTER_OK ||
        check_file("tls_key", o->key, &is_folder, why) != MUSTER_OK)
        return MUSTER_E_INVALID;
    if (!SSL_CTX_use_certificate_chain_file(c->ssl, o->cert))
        return refuse(why, "tls_cert: %s: there is no certificate in PEM form in it", o->cert);
    SSL_CTX_set_default_passwd_cb(c->ssl, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(c->ssl, &is_encrypted);
    int is_good = SSL_CTX_use_PrivateKey_file(c->ssl, o->key, SSL_FILETYPE_PEM) && SSL_CTX_check_private_key(c->ssl);
    SSL_CTX_set_default_passwd_cb_userdata(c->ssl, NULL);
    c->has_cert = is_good;
    return is_good ? MUSTER_OK : refuse_key(o, is_encrypted, why);
}

static int on_verify(int is_good, X509_STORE_CTX *store)
{
    if (!is_good) {
        SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
        tls_words_of_cert(SSL_get_app_data(ssl), store);
    }
    return is_good;
}

static int set_up(struct tls_context *c, const struct url_tls *o, const struct words *why)
{
    c->socket = tls_socket_method();
    c->ssl = SSL_CTX_new(TLS_client_method());
    if (!c->socket || !c->ssl || !SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION))
        return MUSTER_E_NOMEM;
    /* A server that ends without a farewell: Redis' answers tell their own lengths. */
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c->ssl, 1);
    SSL_CTX_set_verify(c->ssl, o->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, on_verify);
    c->is_insecure = o->is_insecure;
    int err = o->is_insecure ? MUSTER_OK : trust(c, o->ca, why);
    return err == MUSTER_OK ? show_certificate(c, o, why) : err;
}

static int make(struct tls_context **out, const struct url_tls *o, bool is_anew, char *why, size_t size)
{
    const struct words words = {why, size};
    *out = NULL;
    snprintf(why, size, "out of memory");
    /* At exit OpenSSL would take itself apart while threads of the program may still use it. */
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL))
        return refuse(&words, "OpenSSL cannot be used: %s", ERR_reason_error_string(ERR_peek_error()));
    struct tls_context *c = calloc(1, sizeof *c);
    if (c)
        look_at_all(c->seen, o);
    int err = c ? set_up(c, o, &words) : MUSTER_E_NOMEM;
    ERR_clear_error();
    if (err != MUSTER_OK) {
        tls_context_free(c);
        return err;
    }
    if (o->is_insecure && !is_anew)
        log_line(MUSTER_LOG_WARN, "tls_insecure: the server's certificate is not verified: whoever is in between can "
                                  "read and change everything");
    *out = c;
    return MUSTER_OK;
}

int tls_context_new(struct tls_context **out, const struct url_tls *o, char *why, size_t size)
{
    return make(out, o, false, why, size);
}

static bool is_of_use(const struct tls_context *c, const struct url_tls *o)
{
    struct stat now[TLS_FILES];
    look_at_all(now, o);
    return !c->has_failed && memcmp(now, c->seen, sizeof now) == 0;
}

/* While files are being replaced, a key may be older than its certificate. */
int tls_context_renew(struct tls_context **c, const struct url_tls *o, char *why, size_t size)
{
    struct tls_context *made;
    if (*c && is_of_use(*c, o))
        return MUSTER_OK;
    int err = make(&made, o, *c, why, size);
    if (err == MUSTER_OK) {
        tls_context_free(*c);
        *c = made;
    } else if (*c && !(*c)->is_told) {
        log_line(MUSTER_LOG_WARN, "what TLS needs cannot be read again; what it was before is used until it can: %s",
                 why);
        (*c)->is_told = true;
    }
    return *c ? MUSTER_OK : err;
}

void tls_context_free(struct tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ssl);
    BIO_meth_free(c->socket);
    free(c);
}
