/* SPDX-License-Identifier: MIT
 *
 * Values of JSON as those of options, for all who take them: put --json-lines, and the API of muster web.
 */
#ifndef CLI_JSON_VALUE_H
#define CLI_JSON_VALUE_H

#include "opt.h"

struct cJSON;

#define JSON_NUMBER_SIZE 32

/*
 * The text that the command line would have for this option; `o` NULL: for an operand. A number is written to `number`.
 * NULL: it can be none, and `*why` says what it must be. A number may lose digits when it is read, so no name is made of
 * one, and none is taken that has lost some.
 */
const char *json_value_text(const struct opt *o, const struct cJSON *value, char number[JSON_NUMBER_SIZE],
                            const char **why);

/* The name of a member that is in the object more than once; NULL: there is none. */
const char *json_value_twice(const struct cJSON *object);

#endif
