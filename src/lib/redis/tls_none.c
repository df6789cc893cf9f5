/* SPDX-License-Identifier: MIT
 *
 * A build without TLS says so.
 */
#include "redis/tls.h"

const char *tls_missing(void)
{
    return "rediss:// needs TLS, which this build of muster does not have: build it with libssl-dev, or use a TLS "
           "tunnel and redis://";
}
