/* SPDX-License-Identifier: MIT
 *
 * A job's spec as an object of JSON: its members are named as the options of `muster put`, besides `data`.
 */
#ifndef CLI_PUT_JSON_H
#define CLI_PUT_JSON_H

#include "put_lines.h"

struct cJSON;

/* A spec that was read. Small, because a request may have a million of them. */
struct put_json {
    struct put_spec spec;
    struct cJSON *object;
    void **parts; /* what of it is not in the object: numbers as texts, lists of texts */
    size_t n_parts;
};

/* Read one. True if it was refused: then `*why` says why, to be freed. In either case put_json_clear() must be called. */
bool put_json_read(struct put_json *j, const struct call *like, struct muster_bytes line, char **why);
void put_json_clear(struct put_json *j);

/* Is this option of the whole call, and no member of a line? All others are members, and not given with the call. */
bool put_json_is_of_a_call(const char *name);

#endif
