/* SPDX-License-Identifier: MIT
 *
 * The invariant of the protocol. In Lua, because only a script sees all keys at one instant.
 */
#include <stdio.h>
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
    "  for field, value in pairs(h) do\n"
    "    local q = string.match(field, '^r:(.*)$')\n"
    "    for home in string.gmatch(q and value or '', '%S+') do\n"
    "      running[q] = (running[q] or 0) + redis.call('HLEN', P .. ':home:' .. home .. ':' .. q)\n"
    "    end\n"
    "    q = string.match(field, '^q:(.*)$')\n"
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
    "  local info = hash(P .. ':queue:' .. q)\n"
    "  local n = redis.call('LLEN', P .. ':queues:' .. q) + redis.call('ZCARD', P .. ':waiting:' .. q)\n"
    "  local most = number(info.max_running)\n"
    "  n = n + redis.call('ZCOUNT', P .. ':returned:' .. q, 0, '+inf')\n"
    "  local is_soon = info.due and number(info.due) <= redis.call('TIME')[1] * 1000\n"
    "  if number(info.running) ~= (running[q] or 0) then\n"
    "    say('%s: running is %s, the sets hold %d', q, info.running or 'nil', running[q] or 0)\n"
    "  end\n"
    "  if n > 0 and not is_soon and number(info.paused) == 0 and (most == 0 or number(info.running) < most) then\n"
    "    for _, w in ipairs(redis.call('ZRANGE', P .. ':idle:' .. q, 0, -1)) do\n"
    "      if is_free(w, q) then say('%s: %d wait, and %s is idle', q, n, w) end\n"
    "    end\n"
    "  end\n"
    "  running[q] = nil\n"
    "  for _, kind in ipairs({'delayed', 'leases', 'scheduled', 'recurring'}) do\n"
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

/* What came back lies in its home, and what lies in a home came back, or is to be taken up. */
static const char back_script[] =
    "local P, amiss, mine, returned = KEYS[1], {}, {}, {}\n"
    "local function say(...) amiss[#amiss + 1] = string.format(...) end\n"
    "local function each_key(pattern, f)\n"
    "  local cursor = '0'\n"
    "  repeat\n"
    "    local page = redis.call('SCAN', cursor, 'MATCH', P .. pattern, 'COUNT', 1000)\n"
    "    cursor = page[1]\n"
    "    for _, key in ipairs(page[2]) do f(key) end\n"
    "  until cursor == '0'\n"
    "end\n"
    "for _, w in ipairs(redis.call('ZRANGE', P .. ':registry', 0, -1)) do\n"
    "  local flat = redis.call('HGETALL', P .. ':worker:' .. w)\n"
    "  for i = 1, #flat, 2 do\n"
    "    local q = string.match(flat[i], '^r:(.*)$')\n"
    "    for home in string.gmatch(q and flat[i + 1] or '', '%S+') do mine[P .. ':home:' .. home .. ':' .. q] = true "
    "end\n"
    "  end\n"
    "end\n"
    "each_key(':home:*', function(key)\n"
    "  local home, q = string.match(string.sub(key, #P + 7), '^([^:]*):(.*)$')\n"
    "  for _, field in ipairs(mine[key] and {} or redis.call('HKEYS', key)) do\n"
    "    returned[q] = (returned[q] or 0) + 1\n"
    "    if not redis.call('ZSCORE', P .. ':returned:' .. q, field .. ':' .. home) then\n"
    "      say('%s: %s would never come out', key, field)\n"
    "    end\n"
    "  end\n"
    "end)\n"
    "each_key(':returned:*', function(key)\n"
    "  local q, n = string.sub(key, #P + 11), redis.call('ZCARD', key)\n"
    "  if n ~= (returned[q] or 0) then say('%s: %d came back, %d lie at home', q, n, returned[q] or 0) end\n"
    "  if redis.call('HEXISTS', P .. ':queue:' .. q, 'returned') == 0 then say('%s: nobody knows what came back', q) "
    "end\n"
    "end)\n"
    "return table.concat(amiss, '; ')\n";

/* Members of the failed list hold the task after lengths and texts: "<token>:<n>:<n>:<n>:" and n + n + n bytes. */
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
    "  home = function(key) return redis.call('HVALS', key) end,\n"
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
    "  local sets, flag = {}, redis.call('HGET', P .. ':worker:' .. w, 'flag')\n"
    "  for _, q in ipairs(redis.call('ZRANGE', P .. ':names', 0, -1)) do\n"
    "    sets[#sets + 1] = P .. ':processing:' .. w .. ':' .. q\n"
    "    for home in string.gmatch(redis.call('HGET', P .. ':worker:' .. w, 'r:' .. q) or '', '%S+') do\n"
    "      sets[#sets + 1] = P .. ':home:' .. home .. ':' .. q\n"
    "    end\n"
    "  end\n"
    "  for _, kind in ipairs({':marks:', ':notes:'}) do\n"
    "    for _, token in ipairs(redis.call('HKEYS', P .. kind .. w)) do\n"
    "      local found = 0\n"
    "      for _, set in ipairs(sets) do\n"
    "        found = found + redis.call('HEXISTS', set, token) + redis.call('HEXISTS', set, 'j' .. token)\n"
    "      end\n"
    "      if found ~= 1 then say('%s%s: %s is of no process', kind, w, token) end\n"
    "      if not flag and w ~= '.lease' then say('%s%s: no flag', kind, w) end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return table.concat(amiss, '; ')\n";

/* P:failures tells what is on the failed list: entries by group, those that are jobs, and all their bytes. */
static const char failures_script[] =
    "local P, amiss = KEYS[1], {}\n"
    "for _, q in ipairs(redis.call('ZRANGE', P .. ':names', 0, -1)) do\n"
    "  local found, said = {}, redis.call('HGETALL', P .. ':failures:' .. q)\n"
    "  for _, member in ipairs(redis.call('ZRANGE', P .. ':failed:' .. q, 0, -1)) do\n"
    "    local a, b, at = string.match(member, '^[^:]*:(%d+):(%d+):%d+:()')\n"
    "    local group = 'g:' .. string.sub(member, at + a, at + a + b - 1)\n"
    "    found[group], found.bytes = (found[group] or 0) + 1, (found.bytes or 0) + #member\n"
    "    if string.find(member, '^j%w+:') and string.find(member, ':') == 13 then\n"
    "      found.jobs = (found.jobs or 0) + 1\n"
    "    end\n"
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

/* Each job is in one state by its record and by all indexes, and what others say of it agrees. First what both parts
 * know: jobs by their ids, and the keys by their kinds. */
static const char jobs_head[] =
    "local P, amiss, jobs, kinds = KEYS[1] .. ':', {}, {}, {}\n"
    "local function say(...) amiss[#amiss + 1] = string.format(...) end\n"
    "local cursor = '0'\n"
    "repeat\n"
    "  local page = redis.call('SCAN', cursor, 'MATCH', P .. '*', 'COUNT', 10000)\n"
    "  cursor = page[1]\n"
    "  for _, key in ipairs(page[2]) do\n"
    "    local kind, rest = string.match(string.sub(key, #P + 1), '^(%a+):(.*)$')\n"
    "    if kind then kinds[kind] = kinds[kind] or {}; kinds[kind][rest] = key end\n"
    "  end\n"
    "until cursor == '0'\n"
    "local function each(kind) return pairs(kinds[kind] or {}) end\n"
    "for id, key in each('job') do\n"
    "  local flat, job = redis.call('HGETALL', key), {}\n"
    "  for i = 1, #flat, 2 do job[flat[i]] = flat[i + 1] end\n"
    "  jobs[id] = job\n"
    "end\n"
    "local states = {'scheduled', 'depends', 'waiting', 'running', 'complete', 'recurring'}\n"
    "local scored = {scheduled = 'due', waiting = 'priority', recurring = 'due'}\n";

/* From the records to the indexes, */
static const char job_records_script[] =
    "for id, job in pairs(jobs) do\n"
    "  local q, state, place = job.queue or '?', job.state or '?', job.place or '?'\n"
    "  local is_somewhere = state == 'failed'\n"
    "  for _, one in ipairs(states) do\n"
    "    is_somewhere = is_somewhere or one == state\n"
    "    local score = redis.call('ZSCORE', P .. one .. ':' .. q, place .. id)\n"
    "    if (score and true or false) ~= (one == state) then\n"
    "      say('%s is %s, %s in the index of %s', id, state, score and 'but' or 'not', one)\n"
    "    elseif score and scored[one] and tonumber(score) ~= tonumber(job[scored[one]] or 0) then\n"
    "      say('%s: %s is %s, by its record %s', id, scored[one], score, job[scored[one]] or 'nil')\n"
    "    end\n"
    "  end\n"
    "  if not is_somewhere then say('%s is %s', id, state) end\n"
    "  if (job.entry ~= nil) ~= (state == 'failed') then say('%s is %s, entry %s', id, state, job.entry or 'nil') end\n"
    "  if (job.worker ~= nil) ~= (state == 'running') or (job.token ~= nil) ~= (state == 'running') then\n"
    "    say('%s is %s, but of %s, %s', id, state, job.worker or 'nobody', job.token or 'nothing')\n"
    "  end\n"
    "  local held = redis.call('HGET', P .. 'processing:' .. (job.worker or '') .. ':' .. q, 'j' .. (job.token or "
    "''))\n"
    "  for rest, key in each('home') do\n"
    "    held = held or redis.call('HGET', key, 'j' .. (job.token or ''))\n"
    "  end\n"
    "  if state == 'running' and held ~= id then\n"
    "    say('%s runs, but %s has it not', id, job.worker or 'nobody')\n"
    "  end\n"
    "  if (redis.call('SCARD', P .. 'dependencies:' .. id) > 0) ~= (state == 'depends') then\n"
    "    say('%s is %s, and has %d dependencies', id, state, redis.call('SCARD', P .. 'dependencies:' .. id))\n"
    "  end\n"
    "  for tag in string.gmatch(job.tags or '', '[^\\n]+') do\n"
    "    if not redis.call('ZSCORE', P .. 'tag:' .. tag, id) then say('%s: not found by %s', id, tag) end\n"
    "  end\n"
    "  if (job.tracked ~= nil) ~= (redis.call('ZSCORE', P .. 'tracked', id) ~= false) then say('%s: tracked?', id) "
    "end\n"
    "  if not (job.unique or (kinds.history or {})[id]) then say('%s has no history', id) end\n"
    "  if not redis.call('ZSCORE', P .. 'names', q) then say('%s is in %s, which is not in names', id, q) end\n"
    "end\n"
    "return table.concat(amiss, '; ')\n";

/* and back. */
static const char job_indexes_script[] =
    "for _, state in ipairs(states) do\n"
    "  for q, key in each(state) do\n"
    "    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do\n"
    "      local job = jobs[string.sub(member, 12)]\n"
    "      if not job or job.state ~= state or job.queue ~= q or job.place ~= string.sub(member, 1, 11) then\n"
    "        say('%s: %s, which is elsewhere', key, member)\n"
    "      end\n"
    "    end\n"
    "    if state == 'waiting' and redis.call('HGET', P .. 'queue:' .. q, 'jobs') ~= '1' then\n"
    "      say('%s: jobs wait, but no flag', q)\n"
    "    end\n"
    "    if state == 'scheduled' or state == 'recurring' then\n"
    "      local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]\n"
    "      local due = redis.call('ZSCORE', P .. 'due', q)\n"
    "      if not due or tonumber(due) > tonumber(first) then say('%s: %s, timer %s', key, first, due or 'nil') end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "for q, key in each('failed') do\n"
    "  local entries = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')\n"
    "  for i = 1, #entries, 2 do\n"
    "    local a, b, c, at = string.match(entries[i], '^j%w+:(%d+):(%d+):(%d+):()')\n"
    "    local id = at and string.sub(entries[i], at + a + b + c)\n"
    "    local job = id and jobs[id]\n"
    "    if id and not (job and job.state == 'failed' and job.queue == q\n"
    "        and tonumber(job.entry) == tonumber(entries[i + 1])) then\n"
    "      say('%s: %s, which is elsewhere', key, entries[i])\n"
    "    end\n"
    "  end\n"
    "end\n"
    "for rest, key in each('processing') do\n"
    "  local flat, holder = redis.call('HGETALL', key), string.match(rest, '^[^:]*')\n"
    "  for i = 1, #flat, 2 do\n"
    "    local job = jobs[flat[i + 1]]\n"
    "    if #flat[i] == 12 and not (job and 'j' .. (job.token or '') == flat[i] and job.worker == holder) then\n"
    "      say('%s: %s is %s, which is elsewhere', key, flat[i], flat[i + 1])\n"
    "    end\n"
    "  end\n"
    "end\n"
    "for id, key in each('dependencies') do\n"
    "  for _, on in ipairs(redis.call('SMEMBERS', key)) do\n"
    "    if not redis.call('ZSCORE', P .. 'dependents:' .. on, id) then say('%s waits for %s one way', id, on) "
    "end\n"
    "    if not jobs[on] or jobs[on].state == 'complete' or jobs[on].state == 'recurring' then\n"
    "      say('%s waits for %s in vain', id, on)\n"
    "    end\n"
    "  end\n"
    "end\n"
    "for on, key in each('dependents') do\n"
    "  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do\n"
    "    if redis.call('SISMEMBER', P .. 'dependencies:' .. id, on) == 0 then say('%s is waited for by %s', on, id) "
    "end\n"
    "  end\n"
    "end\n"
    "for id, key in each('history') do if not jobs[id] then say('%s: no job', key) end end\n"
    "for tag, key in each('tag') do\n"
    "  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do\n"
    "    if not string.find('\\n' .. (jobs[id] and jobs[id].tags or '') .. '\\n', '\\n' .. tag .. '\\n', 1, true) "
    "then\n"
    "      say('%s: %s has it not', key, id)\n"
    "    end\n"
    "  end\n"
    "  if tonumber(redis.call('ZSCORE', P .. 'tags', tag) or 0) ~= redis.call('ZCARD', key) then say('%s: count', key) "
    "end\n"
    "end\n"
    "for _, tag in ipairs(redis.call('ZRANGE', P .. 'tags', 0, -1)) do\n"
    "  if not (kinds.tag or {})[tag] then say('nothing has the tag %s', tag) end\n"
    "end\n"
    "for _, id in ipairs(redis.call('ZRANGE', P .. 'tracked', 0, -1)) do\n"
    "  if not jobs[id] then say('%s is tracked, but is none', id) end\n"
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

static void assert_jobs(struct redisContext *redis, const char *part, const char *prefix)
{
    char lua[8192];
    snprintf(lua, sizeof lua, "%s%s", jobs_head, part);
    assert_nothing_amiss(redis, lua, prefix);
}

void invariant_assert(struct redisContext *redis, const char *prefix)
{
    assert_nothing_amiss(redis, script, prefix);
    assert_nothing_amiss(redis, back_script, prefix);
    assert_nothing_amiss(redis, marks_script, prefix);
    assert_nothing_amiss(redis, failures_script, prefix);
    assert_jobs(redis, job_records_script, prefix);
    assert_jobs(redis, job_indexes_script, prefix);
}

void invariant_assert_one_place(struct redisContext *redis, const char *prefix)
{
    assert_nothing_amiss(redis, places_script, prefix);
}
