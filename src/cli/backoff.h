/* SPDX-License-Identifier: MIT
 *
 * A job's backoff as an option has it: `10s`, always so long; `10s..1h`, doubled with each retry, up to an hour; `10s..`,
 * doubled without end. `,jitter=20%` behind any of these takes off a random part of up to so much.
 */
#ifndef CLI_BACKOFF_H
#define CLI_BACKOFF_H

#include <muster/job.h>
#include <stdbool.h>

/* Returns false if the text is no backoff. */
bool backoff_read(const char *text, struct muster_backoff *out);

/* A `check` of an option. */
const char *backoff_check(const char *text);

/* Returns `out`. */
#define BACKOFF_TEXT_SIZE 80
const char *backoff_text(char out[BACKOFF_TEXT_SIZE], const struct muster_backoff *backoff);

#endif
