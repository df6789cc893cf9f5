/* SPDX-License-Identifier: MIT
 *
 * The parameters of a request: those of its query, or of its body.
 */
#ifndef WEB_PARAMS_H
#define WEB_PARAMS_H

#include <stdbool.h>

struct cJSON;
struct evhttp_request;

/* An object of texts; a parameter that is there twice is a list. NULL: one has no `=`, or they are more than 64. To be
 * deleted. */
struct cJSON *params_of_query(const char *query);

/* The object that the body is, in which names are bytes, whether they came so or in base64; an empty body is an empty
 * object. NULL: it is no JSON object, or has what a text of the command cannot have. To be deleted. */
struct cJSON *params_of_body(struct evhttp_request *request);

/* Does the request say that its body is JSON? */
bool params_are_json(struct evhttp_request *request);

#endif
