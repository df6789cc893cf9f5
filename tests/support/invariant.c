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

    "for _, q in ipairs(redis.call('ZRANGE', P .. ':names', 0, -1)) do\n"
    "  local set, leases = P .. ':processing:.lease:' .. q, P .. ':leases:' .. q\n"
    "  local n, entries = redis.call('HLEN', set), redis.call('ZCARD', leases)\n"
    "  for _, token in ipairs(redis.call('ZRANGE', leases, 0, -1)) do\n"
    "    if redis.call('HEXISTS', set, token) == 0 then say('%s: the lease %s is of nothing', q, token) end\n"
    "  end\n"
    "  if n ~= entries then say('%s: %d under leases, but %d leases', q, n, entries) end\n"
    "end\n"

    "local cursor = '0'\n"
    "repeat\n"
    "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':processing:*', 'COUNT', 1000)\n"
    "  cursor = page[1]\n"
    "  for _, key in ipairs(page[2]) do\n"
    "    local q = string.match(string.sub(key, #P + 2), '^processing:%.lease:(.*)$')\n"
    "    if q then running[q] = (running[q] or 0) + redis.call('HLEN', key)\n"
    "    elseif not known[key] then say('%s: nobody knows it', key) end\n"
    "  end\n"
    "until cursor == '0'\n"

    "local function is_free(w, q)\n"
    "  local h, limit = workers[w], 0\n"
    "  if not h or redis.call('PTTL', P .. ':alive:' .. w) < number(h.ttl) / 2 then return false end\n"
    "  limit = number(h['q:' .. q])\n"
    "  if not limit then return false end\n"
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
    "  for _, kind in ipairs({'delayed', 'leases'}) do\n"
    "    local at = redis.call('ZRANGE', P .. ':' .. kind .. ':' .. q, 0, 0, 'WITHSCORES')[2]\n"
    "    if at and (not info.due or number(info.due) > number(at)) then\n"
    "      say('%s: due is %s, the first of %s %s', q, info.due or 'nil', kind, at)\n"
    "    end\n"
    "  end\n"
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

/* A worker with marks or notes carries the flag, and each of them is of a process; for leases too. */
static const char marks_script[] =
    "local P, amiss = KEYS[1], {}\n"
    "local function say(...) amiss[#amiss + 1] = string.format(...) end\n"
    "local holders = redis.call('ZRANGE', P .. ':registry', 0, -1)\n"
    "holders[#holders + 1] = '.lease'\n"
    "for _, w in ipairs(holders) do\n"
    "  local queues, flag = {}, redis.call('HGET', P .. ':worker:' .. w, 'flag')\n"
    "  for _, field in ipairs(redis.call('HKEYS', P .. ':worker:' .. w)) do\n"
    "    queues[#queues + 1] = string.match(field, '^q:(.*)$')\n"
    "  end\n"
    "  if w == '.lease' then queues = redis.call('ZRANGE', P .. ':names', 0, -1) end\n"
    "  for _, kind in ipairs({':marks:', ':notes:'}) do\n"
    "    for _, token in ipairs(redis.call('HKEYS', P .. kind .. w)) do\n"
    "      local found = 0\n"
    "      for _, q in ipairs(queues) do\n"
    "        found = found + redis.call('HEXISTS', P .. ':processing:' .. w .. ':' .. q, token)\n"
    "      end\n"
    "      if found ~= 1 then say('%s%s: %s is of no process', kind, w, token) end\n"
    "      if not flag and w ~= '.lease' then say('%s%s: no flag', kind, w) end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return table.concat(amiss, '; ')\n";

/* P:failures tells what is on the failed list: entries by group, and all their bytes. */
static const char failures_script[] =
    "local P, amiss = KEYS[1], {}\n"
    "for _, q in ipairs(redis.call('ZRANGE', P .. ':names', 0, -1)) do\n"
    "  local found, said = {}, redis.call('HGETALL', P .. ':failures:' .. q)\n"
    "  for _, member in ipairs(redis.call('ZRANGE', P .. ':failed:' .. q, 0, -1)) do\n"
    "    local a, b, at = string.match(member, '^[^:]*:(%d+):(%d+):%d+:()')\n"
    "    local group = 'g:' .. string.sub(member, at + a, at + a + b - 1)\n"
    "    found[group], found.bytes = (found[group] or 0) + 1, (found.bytes or 0) + #member\n"
    "  end\n"
    "  for i = 1, #said, 2 do\n"
    "    if (found[said[i]] or 0) ~= tonumber(said[i + 1]) then\n"
    "      amiss[#amiss + 1] = q .. ': ' .. said[i] .. ' is ' .. said[i + 1] .. ', not ' .. (found[said[i]] or 0)\n"
    "    end\n"
    "    found[said[i]] = nil\n"
    "  end\n"
    "  for group, n in pairs(found) do amiss[#amiss + 1] = q .. ': ' .. group .. ' is not there, but ' .. n end\n"
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
    assert_nothing_amiss(redis, marks_script, prefix);
    assert_nothing_amiss(redis, failures_script, prefix);
}

void invariant_assert_one_place(struct redisContext *redis, const char *prefix)
{
    assert_nothing_amiss(redis, places_script, prefix);
}
