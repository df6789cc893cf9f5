/* SPDX-License-Identifier: MIT
 *
 * A Redis that sends little in one answer.
 */
#include "limited.h"

#include "raw.h"

void limited_set(struct scene *s, const char *limit)
{
    raw_do(s->server->redis, "CONFIG SET client-output-buffer-limit %s", limit);
}

int limited_end(void **state)
{
    limited_set(*state, "normal 0 0 0");
    return scene_end(state);
}
