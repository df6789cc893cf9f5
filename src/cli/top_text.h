/* SPDX-License-Identifier: MIT
 *
 * Text in the cells of a terminal, where a character takes none, one or two, and where not every locale has all of them.
 */
#ifndef CLI_TOP_TEXT_H
#define CLI_TOP_TEXT_H

#include <stddef.h>
#include <wchar.h>

/* How many cells a printable text takes. */
size_t top_text_width(const char *text);

/* Write the text into `out`, which has room for `n` characters and the NUL, cut with an ellipsis to `width` cells. What
 * could steer the terminal, turn the direction of writing, or is not in the locale becomes a question mark. Returns how
 * many cells it takes. */
size_t top_text_fit(wchar_t *out, size_t n, const char *text, size_t width);

#endif
