/* SPDX-License-Identifier: MIT
 *
 * What the server says of itself, for all who view: asked for at most once in five seconds, and if it is refused, once in
 * a minute.
 */
#ifndef WEB_ENGINE_H
#define WEB_ENGINE_H

#include <stdint.h>

struct cJSON;
struct muster_client;

/* Begins as all zeros. */
struct engine {
    int64_t due_ms, at_ms, cpu_ms;
};

/* An object of figures, or {"error", "message"}; to be deleted. NULL: it is not due, or nobody knows just now. May wait
 * for Redis. */
struct cJSON *engine_look(struct engine *e, struct muster_client *client);

#endif
