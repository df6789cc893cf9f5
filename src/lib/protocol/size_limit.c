/* SPDX-License-Identifier: MIT
 *
 * Words for what is too large. Workers and takers of leases say the same.
 */
#include "protocol/size_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protocol/names.h"

void size_limit_words(char words[SIZE_LIMIT_WORDS], const char *what, uint64_t n_bytes)
{
    snprintf(words, SIZE_LIMIT_WORDS, "its %s of %" PRIu64 " bytes is more than this Redis lets through in one %s",
             what, n_bytes,
             strcmp(what, "result") == 0 ? "request (proto-max-bulk-len, client-query-buffer-limit)"
                                         : "answer (client-output-buffer-limit)");
}

void size_limit_line(char line[SIZE_LIMIT_LINE], const char *process, const char *words)
{
    snprintf(line, SIZE_LIMIT_LINE, "%s: %s; it fails, group %s", process, words, FAILURE_GROUP_TOO_LARGE);
}
