/* SPDX-License-Identifier: MIT
 *
 * The commands that count what waits in a queue.
 */
#include "protocol/waiting_parts.h"

#include "protocol/keys.h"

void waiting_parts_say(struct command *c, size_t i, char *key, const char *prefix, const char *queue)
{
    static const struct {
        const char *command;
        enum key key;
    } parts[WAITING_PARTS] = {{"LLEN", KEY_QUEUES}, {"ZCARD", KEY_WAITING}, {"ZCARD", KEY_RETURNED}};
    key_of(key, prefix, parts[i].key, queue);
    command_text(c, parts[i].command);
    command_text(c, key);
}
