/* SPDX-License-Identifier: MIT
 *
 * Why TLS failed, in one line that names the thing and the next step. What is told of a certificate was written by
 * whoever is at the other end.
 */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/words.h"
#include "redis/tls_private.h"

#define NAMES_MAX 200

/* Append, as far as there is room. */
static void __attribute__((format(printf, 3, 4))) add(char *out, size_t size, const char *format, ...)
{
    size_t len = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + len, size - len, format, args);
    va_end(args);
}

static void add_address(char *out, size_t size, const ASN1_OCTET_STRING *bytes)
{
    const unsigned char *b = ASN1_STRING_get0_data(bytes);
    int len = ASN1_STRING_length(bytes);
    if (len == 4)
        add(out, size, "%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
    for (int i = 0; len == 16 && i < 16; i += 2)
        add(out, size, "%s%x", i > 0 ? ":" : "", b[i] << 8 | b[i + 1]);
}

static void common_name(const X509_NAME *of, char *out, size_t size)
{
    int at = X509_NAME_get_index_by_NID(of, NID_commonName, -1);
    const ASN1_STRING *name = at < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(of, at));
    *out = '\0';
    if (name)
        add(out, size, "%.*s", ASN1_STRING_length(name), ASN1_STRING_get0_data(name));
    if (!*out)
        add(out, size, "nobody");
}

/* Whom a certificate is for. */
static void names_of(const X509 *cert, char *out, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    *out = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        const char *comma = *out ? ", " : "";
        if (name->type == GEN_DNS)
            add(out, size, "%s%.*s", comma, ASN1_STRING_length(name->d.dNSName),
                ASN1_STRING_get0_data(name->d.dNSName));
        if (name->type == GEN_IPADD) {
            add(out, size, "%s", comma);
            add_address(out, size, name->d.iPAddress);
        }
    }
    GENERAL_NAMES_free(names);
    if (!*out)
        common_name(X509_get_subject_name(cert), out, size);
}

static const char *time_text(const ASN1_TIME *t, char *out, size_t size)
{
    struct tm tm;
    if (!ASN1_TIME_to_tm(t, &tm) || strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        snprintf(out, size, "a time that cannot be read");
    return out;
}

static const char *of_unknown_ca(const struct tls *t, const X509 *cert, bool is_self_signed)
{
    char name[NAMES_MAX];
    common_name(X509_get_issuer_name(cert), name, sizeof name);
    if (t->context->has_ca)
        return words_say("the server's certificate is signed by '%s', which is not in tls_ca", name);
    if (is_self_signed)
        return words_say("the server's certificate is signed by itself, '%s': give it by tls_ca", name);
    return words_say("the server's certificate is signed by '%s', which is not known here: give that CA by tls_ca",
                     name);
}

static const char *of_time(const X509 *cert, bool is_over, int depth)
{
    char when[40], name[NAMES_MAX];
    const char *whose = depth == 0 ? "the server's certificate" : "the certificate of the server's CA";
    names_of(cert, name, sizeof name);
    if (is_over)
        return words_say("%s (%s) has expired, on %s: it must be renewed", whose, name,
                         time_text(X509_get0_notAfter(cert), when, sizeof when));
    return words_say("%s (%s) is not valid before %s: is the clock of this machine right?", whose, name,
                     time_text(X509_get0_notBefore(cert), when, sizeof when));
}

static const char *of_name(const struct tls *t, const X509 *cert)
{
    char names[NAMES_MAX];
    names_of(cert, names, sizeof names);
    return words_say("the server's certificate is for %s, not for %s: connect by that name, or set tls_server_name",
                     names, t->name);
}

void tls_words_of_cert(struct tls *t, X509_STORE_CTX *store)
{
    int wrong = X509_STORE_CTX_get_error(store);
    const X509 *cert = X509_STORE_CTX_get_current_cert(store);
    const char *text;
    switch (cert ? wrong : X509_V_ERR_UNSPECIFIED) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        text = of_name(t, cert);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        text = of_time(cert, wrong == X509_V_ERR_CERT_HAS_EXPIRED, X509_STORE_CTX_get_error_depth(store));
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        text = of_unknown_ca(t, cert, wrong == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
        break;
    default:
        text = words_say("the server's certificate is not accepted: %s", X509_verify_cert_error_string(wrong));
    }
    snprintf(t->bad_cert, sizeof t->bad_cert, "%s", text);
}

/* What the server says of our certificate is an alert; so is what it says of anything else. */
static const char *of_refusal(const struct tls *t, int reason)
{
    switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        if (t->is_asked && !t->context->has_cert)
            return "the server asks for a client certificate: give tls_cert and tls_key";
        break;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the server does not know the CA of the client certificate in tls_cert";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "the server says that the client certificate in tls_cert has expired";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
        return "the server has no TLS 1.2 or newer";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
        return words_say("the server does not know the name %s: set tls_server_name", t->name);
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
        if (!SSL_is_init_finished(t->ssl))
            return "the server does not speak TLS on this port: use redis://, or its port for TLS";
        break;
    }
    return NULL;
}

static const char *of_break(const struct tls *t)
{
    char text[128];
    if (t->is_asked && !t->is_accepted && !t->context->has_cert)
        return "the server asks for a client certificate: give tls_cert and tls_key";
    if (t->is_asked && !t->is_accepted)
        return "the server has ended the connection instead of accepting the client certificate in tls_cert";
    if (t->io_errno)
        return words_say("%s", strerror_r(t->io_errno, text, sizeof text));
    if (!SSL_is_init_finished(t->ssl))
        return "the server has ended the TLS handshake: does it speak TLS on this port?";
    return "the server has closed the connection";
}

void tls_words_of_failure(struct tls *t)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    const char *text = of_refusal(t, reason), *its_words = ERR_reason_error_string(error);
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && *t->bad_cert)
        text = t->bad_cert;
    else if (!text && (error == 0 || t->io_errno || t->is_at_end))
        text = of_break(t);
    if (text)
        snprintf(t->why, sizeof t->why, "%s", text);
    else
        snprintf(t->why, sizeof t->why, "TLS failed: %s", its_words ? its_words : "OpenSSL does not say why");
    ERR_clear_error();
}
