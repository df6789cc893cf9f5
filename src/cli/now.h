/* SPDX-License-Identifier: MIT
 *
 * What time it is, in ms.
 */
#ifndef CLI_NOW_H
#define CLI_NOW_H

#include <stdint.h>

/* By a clock that is never set: for spans. */
int64_t now_ms(void);

/* Unix time. */
int64_t now_unix_ms(void);

#endif
