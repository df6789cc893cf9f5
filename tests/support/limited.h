/* SPDX-License-Identifier: MIT
 *
 * A Redis that sends little in one answer.
 */
#ifndef LIMITED_H
#define LIMITED_H

#include "scene.h"

/* Its client-output-buffer-limit, such as "normal 1mb 0 0"; "normal 0 0 0": none. */
void limited_set(struct scene *s, const char *limit);

/* A case that leaves none behind. */
#define limited_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, limited_end)
int limited_end(void **state);

#endif
