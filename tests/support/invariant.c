/* SPDX-License-Identifier: MIT
 *
 * The invariant of the protocol. In Lua, because only a script sees all keys at one instant.
 */
#include <stdlib.h>

#include "invariant.h"
#include "raw.h"
#include "testing.h"

static const char script[] =
    "local P, amiss, workers, running, known = KEYS[1], {}, {}, {}, {}\n"
    "local function say(...) amiss[#amiss + 1] = string.format(...) end\n"
    "local function hash(key)\n"
    "  local flat, h = redis.call('HGETALL', key), {}\n"
    "  for i = 1, #flat, 2 do h[flat[i]] = flat[i + 1] end\n"
    "  return h\n"
    "end\n"
    "local function number(text) return tonumber(text or '0') end\n"

    "for _, w in ipairs(redis.call('ZRANGE', P .. ':registry', 0, -1)) do\n"
    "  local h, held = hash(P .. ':worker:' .. w), 0\n"
    "  workers[w] = h\n"
    "  for field in pairs(h) do\n"
    "    local q = string.match(field, '^q:(.*)$')\n"
    "    if q then\n"
    "      local n = redis.call('HLEN', P .. ':processing:' .. w .. ':' .. q)\n"
    "      held, running[q] = held + n, (running[q] or 0) + n\n"
    "      known[P .. ':processing:' .. w .. ':' .. q] = true\n"
    "    end\n"
    "  end\n"
    "  if held ~= number(h.held) then say('%s: held is %s, its sets hold %d', w, h.held or 'nil', held) end\n"
    "end\n"

    "local cursor = '0'\n"
    "repeat\n"
    "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':processing:*', 'COUNT', 1000)\n"
    "  cursor = page[1]\n"
    "  for _, key in ipairs(page[2]) do\n"
    "    if not known[key] then say('%s: nobody knows it', key) end\n"
    "  end\n"
    "until cursor == '0'\n"

    "local function is_free(w, q)\n"
    "  local h, limit = workers[w], 0\n"
    "  if not h or redis.call('PTTL', P .. ':alive:' .. w) < number(h.ttl) / 2 then return false end\n"
    "  limit = number(h['q:' .. q])\n"
    "  if limit > 0 and redis.call('HLEN', P .. ':processing:' .. w .. ':' .. q) >= limit then return false end\n"
    "  return number(h.hands) - number(h.held) > 0\n"
    "end\n"

    "for _, q in ipairs(redis.call('ZRANGE', P .. ':names', 0, -1)) do\n"
    "  local info, n = hash(P .. ':queue:' .. q), redis.call('LLEN', P .. ':queues:' .. q)\n"
    "  if number(info.running) ~= (running[q] or 0) then\n"
    "    say('%s: running is %s, the sets hold %d', q, info.running or 'nil', running[q] or 0)\n"
    "  end\n"
    "  if n > 0 and number(info.paused) == 0 then\n"
    "    for _, w in ipairs(redis.call('ZRANGE', P .. ':idle:' .. q, 0, -1)) do\n"
    "      if is_free(w, q) then say('%s: %d wait, and %s is idle', q, n, w) end\n"
    "    end\n"
    "  end\n"
    "  running[q] = nil\n"
    "end\n"
    "for q, n in pairs(running) do\n"
    "  if n > 0 then say('%s: not in names, but %d run', q, n) end\n"
    "end\n"
    "return table.concat(amiss, '; ')\n";

/* Members of the failed list hold the task behind lengths and texts: "<token>:<n>:<n>:<n>:" and n + n + n bytes. */
static const char places_script[] =
    "local P, places, amiss = KEYS[1], {}, {}\n"
    "local function found(task, key)\n"
    "  if places[task] then amiss[#amiss + 1] = task .. ' is in ' .. places[task] .. ' and in ' .. key end\n"
    "  places[task] = key\n"
    "end\n"
    "local function failed_task(member)\n"
    "  local a, b, c, at = string.match(member, '^[^:]*:(%d+):(%d+):(%d+):()')\n"
    "  return string.sub(member, at + a + b + c)\n"
    "end\n"
    "local kinds = {\n"
    "  queues = function(key) return redis.call('LRANGE', key, 0, -1) end,\n"
    "  processing = function(key) return redis.call('HVALS', key) end,\n"
    "  delayed = function(key) return redis.call('ZRANGE', key, 0, -1) end,\n"
    "  failed = function(key) return redis.call('ZRANGE', key, 0, -1) end,\n"
    "}\n"
    "local cursor, keys = '0', {}\n"
    "repeat\n"
    "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':*', 'COUNT', 1000)\n"
    "  cursor = page[1]\n"
    "  for _, key in ipairs(page[2]) do keys[key] = string.match(string.sub(key, #P + 2), '^%a+') end\n"
    "until cursor == '0'\n"
    "for key, kind in pairs(keys) do\n"
    "  for _, task in ipairs(kinds[kind] and kinds[kind](key) or {}) do\n"
    "    if kind == 'delayed' then task = string.match(task, ':(.*)$') end\n"
    "    if kind == 'failed' then task = failed_task(task) end\n"
    "    found(task, key)\n"
    "  end\n"
    "end\n"
    "return table.concat(amiss, '; ')\n";

static void assert_nothing_amiss(struct redisContext *redis, const char *lua, const char *prefix)
{
    char *amiss = raw_string(redis, "EVAL %s 1 %s", lua, prefix);
    bool good = !*amiss;
    if (!good)
        print_error("amiss: %s\n", amiss);
    free(amiss);
    assert_true(good);
}

void invariant_assert(struct redisContext *redis, const char *prefix)
{
    assert_nothing_amiss(redis, script, prefix);
}

void invariant_assert_one_place(struct redisContext *redis, const char *prefix)
{
    assert_nothing_amiss(redis, places_script, prefix);
}
