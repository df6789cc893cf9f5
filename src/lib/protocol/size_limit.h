/* SPDX-License-Identifier: MIT
 *
 * What is given up because Redis does not let it through for its size.
 */
#ifndef SIZE_LIMIT_H
#define SIZE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* After so many connections that ended while nothing else was under way. */
#define SIZE_LIMIT_BREAKS 2

#define SIZE_LIMIT_WORDS 256
/* Why it fails. `what` it has so many bytes of: "task", "record", "result". */
void size_limit_words(char words[SIZE_LIMIT_WORDS], const char *what, uint64_t n_bytes);

/* The name of a process, and these words: for people. */
#define SIZE_LIMIT_LINE 768
void size_limit_line(char line[SIZE_LIMIT_LINE], const char *process, const char *words);

#endif
