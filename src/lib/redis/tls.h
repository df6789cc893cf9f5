/* SPDX-License-Identifier: MIT
 *
 * TLS on a socket, on the client's side. A build without OpenSSL has tls_none.c in place of tls.c.
 */
#ifndef TLS_H
#define TLS_H

#include "redis/url.h"

struct tls_context; /* what the connections of one owner share, one after the other */
struct tls;         /* one session on one socket; one thread at a time */

enum tls_result {
    TLS_DONE,
    TLS_WANTS_READ, /* the same call again, when the socket is ready for it */
    TLS_WANTS_WRITE,
    TLS_CLOSED, /* by the server */
    TLS_FAILED  /* tls_why() says how; the session is of no more use */
};

/* Why there is no TLS, in a static string; NULL: there is. */
const char *tls_missing(void);

/* MUSTER_OK, MUSTER_E_NOMEM, or MUSTER_E_INVALID with words in `why`. Reads the files that `o` names, and warns if
 * nothing will be verified. Takes some milliseconds: make it when it is needed. */
int tls_context_new(struct tls_context **out, const struct url_tls *o, char *why, size_t size);
/* Before each connection, after the sessions of those before: `*c` is made, if it is NULL; or made anew, if its files
 * have changed since, or a handshake has failed for what may be their fault: they are renewed while a program runs. If
 * they cannot be read again, it stays as it is, with a warning. */
int tls_context_renew(struct tls_context **c, const struct url_tls *o, char *why, size_t size);
/* After its sessions. */
void tls_context_free(struct tls_context *c);

/* The fd stays the caller's, connected and non-blocking. `server_name`: whose certificate it must be, a name or an
 * address; `tls_server_name` of the URL is for the caller to put there. MUSTER_OK or MUSTER_E_NOMEM. */
int tls_new(struct tls **out, struct tls_context *c, int fd, const char *server_name);
/* Sends nothing: it may come after the fd is closed. */
void tls_free(struct tls *t);

enum tls_result tls_shake(struct tls *t);
/* If it is done with less than `size` bytes, the socket shows whether there is more. If it is done with `size`, there
 * may be more in the session while the socket has none: read again before waiting. */
enum tls_result tls_read(struct tls *t, void *data, size_t size, size_t *n);
/* Of less than `len` bytes if `*n` says so. After TLS_WANTS_... the same bytes come again, perhaps from elsewhere and
 * with more after them. Raises no SIGPIPE. */
enum tls_result tls_write(struct tls *t, const void *data, size_t len, size_t *n);
/* One clear line: why it failed. While tls_shake() waits, what may be the matter if no answer comes. */
const char *tls_why(const struct tls *t);

#endif
