/* SPDX-License-Identifier: MIT
 *
 * "Did you mean": the name that a misspelt word resembles most.
 */
#ifndef CLI_SIMILAR_H
#define CLI_SIMILAR_H

#include <stddef.h>

/* The most similar of `n` names, or NULL if none is similar. */
const char *similar_find(const char *word, const char *const *names, size_t n);

#endif
