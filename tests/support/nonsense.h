/* SPDX-License-Identifier: MIT
 *
 * Answers that no Redis would give: made from nothing, or of an answer that Redis gave.
 */
#ifndef NONSENSE_H
#define NONSENSE_H

#include <stdio.h>

#include "random.h"

/* What was asked, as a client sends it: parts of it come back in the answers, and make them likelier to be believed. */
struct nonsense {
    struct random random;
    const char *request;
};

/* Any value: of any type, empty, huge, nested, with texts that somebody may look for. */
void nonsense_value(struct nonsense *n, FILE *out);

/* What a script answers: a list that begins with a status, and goes on with anything. */
void nonsense_script(struct nonsense *n, FILE *out);

/* A message to a channel. */
void nonsense_message(struct nonsense *n, const char *channel, FILE *out);

/* The value, which is complete, with one of its parts changed. */
void nonsense_mutate(struct nonsense *n, const char *value, FILE *out);

/* What is no value at all, or says that it is longer than it is. */
void nonsense_protocol(struct nonsense *n, FILE *out);

#endif
