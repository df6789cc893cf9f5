/* SPDX-License-Identifier: MIT
 *
 * Check of a fair queue: each kind of damage to the rounds of what waits is found at its key and at no other, put right,
 * and loses no job.
 */
#include <stdlib.h>

#include "checked.h"
#include "damage.h"
#include "job_look.h"
#include "taken.h"

static void put(struct scene *s, const char *id, const char *key)
{
    job_put(s, "q", JOB_SPEC(.id = id, .key = key));
}

/* Of the key k "a" runs, and "b" and "c" wait in a round each; "d" and "e" have no key. */
static void furnish(struct scene *s)
{
    struct taken taken = {0};
    int64_t one = 1;
    assert_ok(muster_config_set(s->client, "q", "fair", &one));
    put(s, "a", "k");
    assert_ok(take_n(s, "q", 1, 3600000, &taken));
    put(s, "b", "k");
    put(s, "c", "k");
    put(s, "d", NULL);
    put(s, "e", NULL);
}

/* All jobs, by their records. */
static char *all_jobs(struct scene *s)
{
    static const char script[] =
        "local ids = {}\n"
        "for _, id in ipairs({'a', 'b', 'c', 'd', 'e'}) do\n"
        "  if redis.call('EXISTS', KEYS[1] .. ':job:' .. id) == 1 then ids[#ids + 1] = id end\n"
        "end\n"
        "return table.concat(ids, '\\n') .. '\\n'\n";
    return raw_string(s->server->redis, "EVAL %s 1 %s", script, s->prefix);
}

#define ROUND(id) "call('HGET', P .. 'job:" id "', 'round')"

static const struct damage damages[] = {
    {"call('ZREM', P .. 'waiting:q', '!' .. " ROUND("b") " .. member('b'))", "job:b "},
    {"call('DEL', P .. 'waiting:q')", "job:b job:c job:d job:e "},
    {"call('ZADD', P .. 'waiting:q', 4, '!' .. " ROUND("b") " .. member('b'))", "job:b "},
    {"call('ZADD', P .. 'waiting:q', 0, member('b'))", "waiting:q "},
    {"call('ZADD', P .. 'waiting:q', 0, '!0000000000v' .. member('b'))", "waiting:q "},
    {"call('ZADD', P .. 'waiting:q', 0, '!0000000000000000000001ghost')", "waiting:q "},
    {"call('ZADD', P .. 'waiting:q', 0, '!0000000000')", "waiting:q "},
    {"call('HSET', P .. 'job:b', 'round', '0000000000v')", "job:b waiting:q "},
    {"call('HSET', P .. 'job:b', 'round', 'nonsense')", "job:b waiting:q "},
    {"call('HDEL', P .. 'job:b', 'round')", "job:b waiting:q "},
    {"call('HDEL', P .. 'job:d', 'round')", "job:d keyed:q waiting:q "},
    {"call('DEL', P .. 'keyed:q')", "job:a job:b job:c job:d job:e "},
    {"call('ZREM', P .. 'keyed:q', '000w2147483648' .. member('d'))", "job:d "},
    {"call('ZADD', P .. 'keyed:q', 0, '000w214748364800000000001ghost')", "keyed:q "},
    {"call('HSET', P .. 'job:d', 'priority', -5)", "job:d job:d keyed:q "},
    {"call('HSET', P .. 'queue:q', 'fair', 'yes')", "queue:q "},
    {"call('HSET', P .. 'queue:q', 'unfair', 'x') call('ZADD', P .. 'due', 1, 'q')", "queue:q "},
};

static const struct damage_house house = {.furnish = furnish, .inventory = all_jobs};

static void a_fair_queue_is_clean(void **state)
{
    struct scene *s = *state;
    furnish(s);
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {live_test(a_fair_queue_is_clean)};
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), scene_end, argc, argv);
}
