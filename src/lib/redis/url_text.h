/* SPDX-License-Identifier: MIT
 *
 * The parts of a URL's text. A reason ("why") is a static string; one of them is told apart by its address.
 */
#ifndef URL_TEXT_H
#define URL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

extern const char url_text_no_memory[];

/* A part with %XX decoded, the caller's. On a failure it is NULL, and `*why` is the reason: `wrong` if a % is wrong or
 * stands for NUL. */
char *url_text_decode(const char *text, size_t len, const char *wrong, const char **why);
/* The decimal number that the whole text is, from 0 to max; -1 if it is none. */
long url_text_number(const char *text, size_t len, long max);

/* May this be a host, a name or an address without brackets? Not longer than URL_HOST_MAX, and without characters that
 * no host can have. */
bool url_text_is_host(const char *text, size_t len);

#endif
