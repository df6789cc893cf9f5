/* SPDX-License-Identifier: MIT
 *
 * A job's backoff as text: `10s` waits 10 seconds before each retry; `10s..1h` doubles the wait with each retry, up to
 * an hour; `10s..` doubles it without limit. A suffix `,jitter=20%` shortens each wait by a random part of up to 20%.
 */
#ifndef CLI_BACKOFF_H
#define CLI_BACKOFF_H

#include <muster/job.h>
#include <stdbool.h>

/* Returns false if the text is no backoff. */
bool backoff_read(const char *text, struct muster_backoff *out);

/* A `check` of an option, see struct opt. */
const char *backoff_check(const char *text);

/* The backoff in that form. Returns `out`. */
#define BACKOFF_TEXT_SIZE 80
const char *backoff_text(char out[BACKOFF_TEXT_SIZE], const struct muster_backoff *backoff);

#endif
