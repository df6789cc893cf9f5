/* SPDX-License-Identifier: MIT
 *
 * Writes down the format of a namespace that has none. Another program may have been first, with another one.
 */
#include "async/async_claim.h"

#include "base/format.h"
#include "protocol/keys.h"

void async_claim_say(struct command *c, char *key, const char *prefix)
{
    key_of(key, prefix, KEY_FORMAT, "");
    command_words(c, (const char *const[]){"SET", key, FORMAT_VERSION, "NX", "GET", NULL});
}

int async_claim_hear(const struct redisReply *reply, const char *prefix, char *why, size_t size)
{
    int err = reply_err(reply);
    if (reply_kind(reply) == REPLY_ERROR)
        reply_refusal_words(why, size, reply_text(reply));
    if (err != MUSTER_OK || reply_kind(reply) != REPLY_TEXT || reply_is(reply, FORMAT_VERSION))
        return err;
    format_refusal(why, size, prefix, reply_text(reply));
    return MUSTER_E_FORMAT;
}
