/* SPDX-License-Identifier: MIT
 *
 * Check of jobs of a key: each kind of damage to what is held, and to the list of a key's jobs, is found at its key and
 * at no other, put right, and loses no job.
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

/* Of the key k "a" runs, and "b" and "c" are held; of l "d" waits, and "e" is held. */
static void furnish(struct scene *s)
{
    struct taken taken = {0};
    int64_t one = 1;
    assert_ok(muster_config_set(s->client, "q", "max_running_per_key", &one));
    put(s, "a", "k");
    put(s, "b", "k");
    put(s, "c", "k");
    assert_ok(take_n(s, "q", 1, 3600000, &taken));
    put(s, "d", "l");
    put(s, "e", "l");
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

static const struct damage damages[] = {
    {"call('ZREM', P .. 'held:q', member('b'))", "job:b "},
    {"call('DEL', P .. 'held:q')", "job:b job:c job:e "},
    {"call('ZADD', P .. 'held:q', 4, member('b'))", "job:b "},
    {"call('ZADD', P .. 'held:q', 4, member('d'))", "held:q "},
    {"call('ZADD', P .. 'held:q', 4, '00000000001ghost')", "held:q "},
    {"call('DEL', P .. 'keyed:q')", "job:a job:b job:c job:d job:e "},
    {"call('ZREM', P .. 'keyed:q', call('ZRANGE', P .. 'keyed:q', 0, 0)[1])", "job:b "},
    {"call('ZADD', P .. 'keyed:q', 7, call('ZRANGE', P .. 'keyed:q', 0, 0)[1])", "job:b "},
    {"call('ZADD', P .. 'keyed:q', 0, 'nonsense')", "keyed:q "},
    {"call('ZADD', P .. 'keyed:q', 0, '001kr000000000000000000001ghost')", "keyed:q "},
    {"call('ZADD', P .. 'keyed:q', 0, '001zh214748364800000000001ghost')", "keyed:q keyed:q "},
    {"call('HDEL', P .. 'job:b', 'key')", "job:b keyed:q "},
    {"call('HSET', P .. 'job:a', 'key', 'other')", "job:a keyed:q "},
    {"call('HSET', P .. 'job:b', 'priority', -5)", "job:b job:b keyed:q "},
    {"call('HSET', P .. 'job:b', 'state', 'waiting')", "job:b job:b held:q keyed:q "},
    {"call('HSET', P .. 'queue:q', 'max_running_per_key', 2)", "keyed:q keyed:q "},
    {"call('HDEL', P .. 'queue:q', 'max_running_per_key')", "keyed:q keyed:q "},
    {"call('HSET', P .. 'queue:q', 'unhold', 'x') call('ZADD', P .. 'due', 1, 'q')", "queue:q "},
};

static const struct damage_house house = {.furnish = furnish, .inventory = all_jobs};

static void what_is_held_is_clean(void **state)
{
    struct scene *s = *state;
    furnish(s);
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {live_test(what_is_held_is_clean)};
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), scene_end, argc, argv);
}
