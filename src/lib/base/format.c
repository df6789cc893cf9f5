/* SPDX-License-Identifier: MIT
 *
 * What to tell people whose namespace has another layout.
 */
#include "base/format.h"

#include <muster/version.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OR_FOUND(format) || strcmp(found, format) == 0

void format_refusal(char *out, size_t size, const char *prefix, const char *found)
{
    bool can_upgrade = strcmp(found, FORMAT_OLDEST) == 0 FORMATS_ALIKE(OR_FOUND);
    if (strcmp(found, FORMAT_UPGRADING) == 0 FORMATS_UPGRADING_BEFORE(OR_FOUND))
        snprintf(out, size,
                 "an upgrade of the namespace '%s' has begun and is not done: `muster upgrade` goes on with it",
                 prefix);
    else
        snprintf(out, size,
                 "the namespace '%s' is written in format %.20s; this is muster %s, which reads format %s: %s", prefix,
                 found, MUSTER_VERSION, FORMAT_VERSION,
                 can_upgrade ? "stop the workers and producers of the older release, then run `muster upgrade`"
                             : "use a release of muster that knows this format, or another prefix");
}

void format_refuse_type(char *out, size_t size, const char *key)
{
    snprintf(out, size, "the key '%s' has a wrong type: " FORMAT_MENDING, key);
}
