/* SPDX-License-Identifier: MIT
 *
 * The script `turn` has a straight way for the commonest call, and a long one that can do everything and carries on
 * from what the straight one has done. Here random calls are made in random states, each by the script as it is, and by
 * the same script without its straight way: the answers, the messages and all keys must be equal.
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "script_ways.h"

#define STATES 6000
#define STRAIGHT_MIN (STATES / 5)
#define CARRIED_ON_MIN (STATES / 20)

/* A state, which a seed decides. Half of them have a usual queue; of the others, little is as it should be. w1 holds up
 * to four tasks, a to d. Nothing expires while the test looks. */
static const char make_state[] =
    "local P, seed = KEYS[1], tonumber(ARGV[1])\n"
    "math.randomseed(seed)\n"
    "local function chance(percent) return math.random(100) <= percent end\n"
    "local function one_of(...) return (select(math.random(select('#', ...)), ...)) end\n"
    "local function set(...) redis.call('HSET', ...) end\n"
    "local is_odd, queue = chance(50), P .. 'queue:q'\n"
    "local function odd(percent) return is_odd and chance(percent) end\n"
    "set(queue, 'named', '1') redis.call('ZADD', P .. 'names', 5, 'q')\n"
    "if chance(80) then set(queue, 'running', tostring(math.random(0, 9))) end\n"
    "if chance(80) then set(queue, 'out', tostring(math.random(0, 9))) end\n"
    "if odd(10) then set(queue, one_of('running', 'out'), one_of('-1', 'x', '1e15', '1.5', '')) end\n"
    "for _, field in ipairs({'paused', 'jobs', 'returned', 'big', 'due', 'listen', 'broadcast', 'max_running', 'rate'})"
    " do\n"
    "  local value = field == 'listen' and '99999999999999' or field == 'max_running' and one_of('0', '4', 'x')\n"
    "    or field == 'rate' and one_of('1', '10', 'x') or field == 'due' and one_of('1', '99999999999999', 'x') or "
    "'1'\n"
    "  if odd(field == 'max_running' and 15 or 5) then set(queue, field, value, 'rate_ms', '1000') end\n"
    "end\n"
    "if odd(3) then redis.call('DEL', queue) redis.call('SET', queue, 'text') end\n"
    "for i = 1, one_of(0, 0, 1, 1, 2, 30) do\n"
    "  redis.call('LPUSH', P .. 'queues:q', chance(5) and string.rep('l', one_of(16384, 16385)) or 'waits' .. i)\n"
    "end\n"
    "if chance(20) then redis.call('LPUSH', P .. 'queues:r', 'r') end\n"
    "if odd(3) then redis.call('DEL', P .. 'queues:q') redis.call('SET', P .. 'queues:q', 'text') end\n"
    "local token = one_of(false, '00000000001', '1hvvvvvvvvv', odd(50) and 'no token' or '00000000002')\n"
    "if token then redis.call('SET', P .. 'token', token) end\n"
    "if odd(5) then redis.call('DEL', P .. 'token') redis.call('LPUSH', P .. 'token', 'x') end\n"
    "local held = 0\n"
    "for _, last in ipairs({'a', 'b', 'c', 'd'}) do\n"
    "  if chance(90) then held = held + 1 set(P .. 'processing:w1:q', '0000000000' .. last, 'task ' .. last) end\n"
    "end\n"
    "if odd(5) then redis.call('DEL', P .. 'processing:w1:q') redis.call('SET', P .. 'processing:w1:q', 'text') end\n"
    "set(P .. 'worker:w1', 'epoch', '00000000001', 'conn', '7', 'hands', 4 + seed % 3, 'held', held, 'ttl', '60000',\n"
    "  'q:q', '0', 'q:r', '0')\n"
    "if odd(10) then set(P .. 'worker:w1', 'held', one_of('x', '-1', '1.5', '', '9')) end\n"
    "if odd(10) then set(P .. 'worker:w1', 'flag', one_of('marks', '1')) end\n"
    "for i = 1, 2 do\n"
    "  if chance(40) then redis.call('ZADD', P .. 'idle:q', math.random(0, 999) * 8e12 + i, 'w' .. i) end\n"
    "end\n"
    "set(P .. 'worker:w2', 'epoch', '00000000002', 'hands', '2', 'held', '0', 'ttl', '80000000', 'q:q', '0')\n"
    "redis.call('SET', P .. 'alive:w2', '1', 'PX', 70000000)\n"
    "if odd(5) then redis.call('DEL', P .. 'idle:q') redis.call('SET', P .. 'idle:q', 'text') end\n";

/* Whoever goes the straight way to its end says ECHO; whoever goes on from what was done there, PING. */
static char *as_it_is(void)
{
    char *text = ways_replaced(ways_clock_stopped(SCRIPT_TURN), "      return result\n",
                               "      redis.call('ECHO', '') return result\n");
    return ways_replaced(text, "local rare\n", "if counted then redis.call('PING') end local rare\n");
}

static char *without_the_straight_way(void)
{
    return ways_replaced(ways_clock_stopped(SCRIPT_TURN), "local settings = is_usual and ",
                         "local settings = false and ");
}

static void add(struct ways_call *c, const char *word)
{
    c->argv[c->argc++] = word;
}

static void add_ends(struct ways_call *c, struct random *r, const char *queue)
{
    static const char *const tokens[] = {"0000000000a", "0000000000b", "0000000000c", "0000000000d", "0000000000e"};
    static const char *const numbers[] = {"0", "1", "2", "3"};
    size_t n = 1 + random_below(r, 3), first = random_below(r, random_chance(r, 90) ? 2 : 3);
    add(c, random_chance(r, 95) ? "finish" : "back");
    add(c, queue);
    add(c, numbers[n]);
    for (size_t i = 0; i < n; i++)
        add(c, tokens[first + i]);
}

/* Every part comes from the seed, so both ways get the same. */
static void make_call(struct ways_call *c, uint64_t seed)
{
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "6"};
    struct random r = random_from(seed);
    size_t n_queues = random_chance(&r, 75) ? 1 : random_below(&r, 3);
    *c = (struct ways_call){.state = make_state, .seed = seed, .is_full = random_chance(&r, 10)};
    add(c, "w1");
    add(c, random_chance(&r, 97) ? "00000000001" : "00000000009");
    add(c, random_chance(&r, 97) ? "7" : "6");
    add(c, numbers[random_chance(&r, 95) ? 4 + seed % 3 : 3]);
    add(c, n_queues == 0 ? "0" : random_chance(&r, 10) ? "0" : random_chance(&r, 50) ? "1" : "200");
    add(c, random_chance(&r, 95) ? "0" : "1");
    add(c, numbers[n_queues]);
    for (size_t i = 0; i < n_queues; i++) {
        add(c, i == 0 ? "q" : "r");
        add(c, random_chance(&r, 95) ? "0" : "4");
    }
    for (size_t n = random_below(&r, 10); n > 1; n -= 7 < n ? 7 : n)
        add_ends(c, &r, random_chance(&r, 95) ? "q" : "r");
}

static void both_ways_do_the_same(void **state)
{
    struct scene *s = *state;
    struct acting_worker ear = {0};
    char *ways[] = {as_it_is(), without_the_straight_way()};
    uint64_t first = random_seed(1);
    struct ways_call c;
    ways_open_ear(&ear, s);
    int64_t straight = redis_server_calls(s->server, "echo"), carried_on = redis_server_calls(s->server, "ping");
    for (uint64_t seed = first; seed < first + STATES; seed++) {
        make_call(&c, seed);
        ways_compare(s, &ear, ways, &c);
    }
    straight = redis_server_calls(s->server, "echo") - straight;
    carried_on =
        redis_server_calls(s->server, "ping") - carried_on - 2 * STATES; /* the ear's own: two for each state */
    printf("%ld calls went straight, %ld went on from there\n", (long)straight, (long)carried_on);
    assert_true(straight >= STRAIGHT_MIN);
    assert_true(carried_on >= CARRIED_ON_MIN);
    raw_do(s->server->redis, "FLUSHALL");
    redisFree(ear.ear);
    free(ways[0]);
    free(ways[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(both_ways_do_the_same)};
    return scene_run(tests, argc, argv);
}
