/* SPDX-License-Identifier: MIT
 *
 * The one list of what can be asked for under /api that needs Redis. What the loop answers of what it knows is in
 * server.c.
 */
#ifndef WEB_ROUTES_H
#define WEB_ROUTES_H

#include "ask.h"

enum routes_found { ROUTES_FOUND, ROUTES_NO_PATH, ROUTES_NO_METHOD };

/* The route for a path, without a query, as it came; `stars` receives the names in it, decoded, to be freed. */
enum routes_found routes_find(const char *method, const char *path, const struct route **route,
                              char *stars[ASK_STARS_MAX]);

#endif
