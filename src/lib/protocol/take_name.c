/* SPDX-License-Identifier: MIT
 *
 * Makes the names of takes.
 */
#include "protocol/take_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "protocol/keys.h"

void take_name_next(char name[TAKE_NAME_MAX], uint64_t *n)
{
    if (*n == 0)
        snprintf(name, TAKE_NAME_MAX, "%08x%08x", arc4random(), arc4random());
    snprintf(name + TAKE_CALLER_LEN, TAKE_NAME_MAX - TAKE_CALLER_LEN, ":%" PRIu64, ++*n);
}

enum take_called take_name_called(struct muster_bytes message, const char *caller)
{
    const size_t word = strlen(CHANNEL_WORK_OWN), step = 1 + TAKE_CALLER_LEN;
    const char *text = message.data;
    if (message.len <= word || memcmp(text, CHANNEL_WORK_OWN " ", word + 1) != 0)
        return TAKE_CALLS_ALL;
    for (size_t at = word; at + step <= message.len; at += step)
        if (memcmp(text + at + 1, caller, TAKE_CALLER_LEN) == 0)
            return TAKE_CALLS_THIS_ONE;
    return TAKE_CALLS_OTHERS;
}

void take_name_say_left(const char *queue, bool is_tried_again, const char *why)
{
    log_line(
        MUSTER_LOG_WARN,
        "what a take may have taken from the queue '%s' could not be given back; %sit comes back when its lease is "
        "over: %s",
        queue, is_tried_again ? "that is tried again, and " : "", why);
}
