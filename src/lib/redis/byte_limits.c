/* SPDX-License-Identifier: MIT
 *
 * CONFIG GET of the limits at which Redis closes a connection.
 */
#include "redis/byte_limits.h"

#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"

#define QUERY "client-query-buffer-limit"
#define BULK "proto-max-bulk-len"
#define OUTPUT "client-output-buffer-limit"
#define CLIENTS "maxmemory-clients"

void byte_limits_ask(struct command *c)
{
    command_words(c, (const char *const[]){"CONFIG", "GET", QUERY, BULK, OUTPUT, CLIENTS, NULL});
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* "normal <hard> <soft> <seconds> slave ..." */
static void read_output(struct byte_limits *b, const char *text)
{
    static const char normal[] = "normal ";
    const char *at = text ? strstr(text, normal) : NULL;
    char *end = NULL;
    if (!at)
        return;
    b->answer_hard = strtoull(at + sizeof normal - 1, &end, 10);
    b->answer = lower(b->answer_hard, strtoull(end, NULL, 10));
}

/* With a bound for all clients together the largest one goes, whatever it has. */
static bool is_client_bound(const struct redisReply *reply)
{
    const struct redisReply *value = reply_field(reply, CLIENTS);
    return value && !reply_is(value, "0");
}

void byte_limits_hear(struct byte_limits *b, const struct redisReply *reply)
{
    *b = (struct byte_limits){.how = reply ? BYTE_LIMITS_SECRET : BYTE_LIMITS_UNASKED};
    if (!reply_field(reply, QUERY) || !reply_field(reply, OUTPUT))
        return;
    b->query = reply_count(reply_field(reply, QUERY));
    b->request = lower(b->query, reply_count(reply_field(reply, BULK)));
    read_output(b, reply_text(reply_field(reply, OUTPUT)));
    b->how = is_client_bound(reply) ? BYTE_LIMITS_SECRET : BYTE_LIMITS_KNOWN;
}

int byte_limits_call(struct byte_limits *b, struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    struct redisReply *reply;
    byte_limits_ask(&c);
    int err = redis_call(r, &c, &reply);
    command_clear(&c);
    *b = (struct byte_limits){.how = redis_is_unanswered(err) ? BYTE_LIMITS_UNASKED : BYTE_LIMITS_SECRET};
    if (err == MUSTER_OK)
        byte_limits_hear(b, reply);
    redis_reply_free(reply);
    return redis_is_unanswered(err) ? err : MUSTER_OK;
}

/* What stands around the bytes counts as well, and so does the room that Redis keeps for more: so half of them. */
bool byte_limits_may_end(const struct byte_limits *b, enum byte_limits_way way, uint64_t n_bytes)
{
    const uint64_t limit = way == BYTE_LIMITS_REQUEST ? b->request : b->answer;
    return b->how == BYTE_LIMITS_SECRET || (b->how == BYTE_LIMITS_KNOWN && limit > 0 && n_bytes >= limit / 2);
}

bool byte_limits_must_end(const struct byte_limits *b, uint64_t n_bytes)
{
    return b->answer_hard > 0 && n_bytes > b->answer_hard;
}
