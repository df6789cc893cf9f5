/* SPDX-License-Identifier: MIT
 *
 * Draws `muster top`.
 */
#ifndef CLI_TOP_DRAW_H
#define CLI_TOP_DRAW_H

#include "top.h"

void top_draw(struct top *t);

#endif
