/* SPDX-License-Identifier: MIT
 *
 * From a URL's text to what it says.
 */
#ifndef URL_PARSE_H
#define URL_PARSE_H

#include "redis/url.h"

/* Why it is refused, or NULL. `out` is empty before; on a failure it holds what was read, to be cleared. */
const char *url_parse_text(struct url *out, const char *text);
/* What cannot be beside what else, whatever an option adds: why, or NULL. */
const char *url_parse_conflict(const struct url *url);

#endif
