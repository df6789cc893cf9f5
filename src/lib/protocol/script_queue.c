/* SPDX-License-Identifier: MIT
 *
 * Scripts that concern a queue.
 */
#include "protocol/script_queue.h"

#include "protocol/script_private.h"

void script_queue_call(struct command *c, enum script_id id, const struct script_root *root, const char *queue)
{
    script_begin(c, id, root);
    command_text(c, queue);
}

void script_config(struct command *c, const struct script_root *root, const char *queue, const char *name,
                   const int64_t *value)
{
    script_begin(c, SCRIPT_CONFIG, root);
    command_text(c, queue ? queue : "");
    command_text(c, name);
    if (value)
        command_number(c, *value);
    else
        command_text(c, "");
}
