/* SPDX-License-Identifier: MIT
 *
 * The end of what a program has printed, as words for people: see tail.c.
 */
#ifndef TAIL_H
#define TAIL_H

#include <stdbool.h>
#include <stddef.h>

/* The words have at most this many bytes. More is kept, because escape sequences do not count. */
#define TAIL_TEXT_MAX 1024
#define TAIL_KEPT 2048

/* Zero is one that nothing was added to. */
struct tail {
    char bytes[TAIL_KEPT];
    size_t n;
    bool is_cut; /* more was added than is kept */
};

void tail_add(struct tail *t, const char *bytes, size_t len);

/* The last lines as UTF-8 without control characters, and without a newline at the end; a line that does not fit is left
 * out, unless it is the last one. Returns how many bytes that is: 0 if nothing but blanks was printed. */
size_t tail_words(const struct tail *t, char out[TAIL_TEXT_MAX + 1]);

#endif
