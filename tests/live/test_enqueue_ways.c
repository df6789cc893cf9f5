/* SPDX-License-Identifier: MIT
 *
 * The script `enqueue` has a straight way for the commonest call, and a long one that can do everything. Both must do
 * the same. Here random calls are made in random states, each by the script as it is, and by the same script without
 * its straight way: the answers, the messages and all keys must be equal.
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "script_ways.h"

#define STATES 6000
#define STRAIGHT_MIN (STATES / 10)
#define UNDONE_MIN (STATES / 100)
#define TASK_MAX 16385

/* A state, which a seed decides. Half of them have a usual queue; of the others, little is as it should be. Nothing
 * expires while the test looks. Nobody hears w3's channel. */
static const char make_state[] =
    "local P = KEYS[1]\n"
    "math.randomseed(tonumber(ARGV[1]))\n"
    "local function chance(percent) return math.random(100) <= percent end\n"
    "local function one_of(...) return (select(math.random(select('#', ...)), ...)) end\n"
    "local function set(...) redis.call('HSET', ...) end\n"
    "local is_odd, queue = chance(50), P .. 'queue:q'\n"
    "local function odd(percent) return is_odd and chance(percent) end\n"
    "if odd(3) then redis.call('SET', queue, 'text') else\n"
    "  if not odd(20) then set(queue, 'named', '1') redis.call('ZADD', P .. 'names', 5, 'q') end\n"
    "  if chance(80) then set(queue, 'running', tostring(math.random(0, 9))) end\n"
    "  if chance(80) then set(queue, 'out', tostring(math.random(0, 9))) end\n"
    "  if odd(10) then set(queue, one_of('running', 'out'), one_of('-1', 'x', '1e15', '1.5', '')) end\n"
    "  for _, field in ipairs({'paused', 'jobs', 'returned', 'big', 'listen', 'broadcast', 'max_running', 'rate'}) do\n"
    "    local value = field == 'listen' and '99999999999999' or field == 'max_running' and one_of('0', '4', 'x')\n"
    "      or field == 'rate' and one_of('1', '10', 'x') or '1'\n"
    "    if odd(field == 'max_running' and 20 or 7) then set(queue, field, value, 'rate_ms', '1000') end\n"
    "  end\n"
    "end\n"
    "for i = 1, odd(15) and math.random(3) or 0 do redis.call('LPUSH', P .. 'queues:q', 'waits' .. i) end\n"
    "if odd(3) then redis.call('SET', P .. 'queues:q', 'text') end\n"
    "if chance(50) then redis.call('SET', P .. 'timer', 'w1 0') end\n"
    "local token = one_of(false, '00000000001', '1hvvvvvvvvv', odd(50) and 'no token' or '00000000002')\n"
    "if token then redis.call('SET', P .. 'token', token) end\n"
    "if odd(3) then redis.call('DEL', P .. 'token') redis.call('LPUSH', P .. 'token', 'x') end\n"
    "local turned = math.random(3)\n"
    "for i = 1, chance(90) and math.random(3) or 0 do\n"
    "  local w = 'w' .. (i + turned) % 3 + 1\n"
    "  local record, hands = P .. 'worker:' .. w, one_of(1, 1, 2, 3, 20)\n"
    "  local held = chance(60) and 0 or math.random(0, hands)\n"
    "  local level = chance(80) and math.floor(held * 1000 / hands) or math.random(0, 999)\n"
    "  redis.call('ZADD', P .. 'idle:q', level * 8e12 + math.random(1, 1e9), w)\n"
    "  set(record, 'epoch', '0000000000' .. i, 'ttl', '80000000', 'hands', hands, 'held', held, 'q:q', '0')\n"
    "  if odd(10) then set(record, one_of('hands', 'held', 'ttl', 'q:q'), one_of('x', '-1', '1.5', '', '1')) end\n"
    "  if odd(10) then set(record, 'q:q', math.random(2)) end\n"
    "  if odd(10) then redis.call('HDEL', record, one_of('hands', 'held', 'ttl', 'q:q', 'epoch')) end\n"
    "  if odd(2) then redis.call('SET', record, 'text') end\n"
    "  local left = odd(20) and one_of(0, 30000000) or 70000000\n"
    "  if left > 0 then redis.call('SET', P .. 'alive:' .. w, '1', 'PX', left) end\n"
    "  local processes = P .. 'processing:' .. w .. ':q'\n"
    "  if odd(5) then redis.call('SET', processes, 'text') elseif chance(30) then set(processes, 'f', 'g') end\n"
    "end\n"
    "if odd(3) then redis.call('SET', P .. 'idle:q', 'text') end\n";

/* Whoever goes the straight way to its end says ECHO; whoever must undo it, PING. */
static char *as_it_is(void)
{
    char *text = ways_replaced(ways_clock_stopped(SCRIPT_ENQUEUE), "        return 0\n",
                               "        redis.call('ECHO', '') return 0\n");
    return ways_replaced(text, "      first = redis.pcall('ZRANGE'",
                         "      redis.call('PING') first = redis.pcall('ZRANGE'");
}

static char *without_the_straight_way(void)
{
    return ways_replaced(ways_clock_stopped(SCRIPT_ENQUEUE), "if is_usual and ", "if false and ");
}

/* Every part comes from the seed, so both ways get the same. `task` has room for TASK_MAX + 1 bytes. */
static void make_call(struct ways_call *c, char *task, uint64_t seed)
{
    static const size_t lens[] = {0, 1, 5, 5, 5, 5, 16384, 16385};
    static const char *const numbers[] = {"0", "1", "2", "3"};
    struct random r = random_from(seed);
    size_t len = lens[random_below(&r, sizeof lens / sizeof *lens)];
    *c = (struct ways_call){.state = make_state, .seed = seed};
    const char *front = random_chance(&r, 10) ? "1" : "0", *request = random_chance(&r, 10) ? "request" : "";
    size_t n = random_chance(&r, 80) ? 1 : random_below(&r, 4);
    const char *head[] = {"q", front, request, "0", numbers[n]};
    c->is_full = random_chance(&r, 10);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        c->argv[c->argc++] = head[i];
    memset(task, 't', len);
    task[len] = '\0';
    for (size_t i = 0; i < n; i++)
        c->argv[c->argc++] = task;
}

static void both_ways_do_the_same(void **state)
{
    struct scene *s = *state;
    struct acting_worker ear = {0};
    char *ways[] = {as_it_is(), without_the_straight_way()};
    uint64_t first = random_seed(1);
    static char task[TASK_MAX + 1];
    struct ways_call c;
    ways_open_ear(&ear, s);
    int64_t straight = redis_server_calls(s->server, "echo"), undone = redis_server_calls(s->server, "ping");
    for (uint64_t seed = first; seed < first + STATES; seed++) {
        make_call(&c, task, seed);
        ways_compare(s, &ear, ways, &c);
    }
    /* The ear's own PINGs are two for each state. */
    assert_true(redis_server_calls(s->server, "echo") - straight >= STRAIGHT_MIN);
    assert_true(redis_server_calls(s->server, "ping") - undone >= 2 * STATES + UNDONE_MIN);
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
