/* SPDX-License-Identifier: MIT
 *
 * Settings: which values count. By hand anything can be written there; lua/include/base/whole.lua has the same rule.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>

#include "redis/reply.h"

/* At most fifteen digits, and nothing else. */
bool config_is_number(const struct redisReply *value);

#endif
