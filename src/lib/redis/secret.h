/* SPDX-License-Identifier: MIT
 *
 * Passwords that lie in files, which the URL names.
 */
#ifndef SECRET_H
#define SECRET_H

#include "redis/url.h"

/* Before each login: put what the files have now into the url's passwords, so that they may be changed while programs
 * run. MUSTER_OK, MUSTER_E_NOMEM, or MUSTER_E_INVALID with words in `why`. A file that cannot be read after it could be
 * leaves the password as it is, with one warning until it can be read again. */
int secret_renew(struct url *url, char *why, size_t size);

#endif
