/* SPDX-License-Identifier: MIT
 *
 * Requests that are answered by a look at Redis, and wait for one if the last is too old, or from before a change.
 */
#ifndef WEB_FRESH_H
#define WEB_FRESH_H

struct evhttp_request;
struct fresh;
struct http;
struct look;
struct sight;

/* Called on the loop: answer the request by this. */
typedef void fresh_fn(void *arg, struct evhttp_request *request, const struct sight *sight);

struct fresh *fresh_new(struct http *http, struct look *look, fresh_fn *fn, void *arg);
/* All who wait are told that the server ends. */
void fresh_end(struct fresh *f);
void fresh_free(struct fresh *f);

/* Answer it now, or when the next look is there. */
void fresh_ask(struct fresh *f, struct evhttp_request *request);

/* Something was changed: only a look that begins from now on is told. */
void fresh_note_change(struct fresh *f);

/* There is a look. */
void fresh_tell(struct fresh *f, const struct sight *sight);

/* Whoever has waited too long is told so. To be called every now and then. */
void fresh_sweep(struct fresh *f);

#endif
