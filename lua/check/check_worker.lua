--[[
  check_worker: do the keys of one worker agree with each other?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be     ARGV[2] worker     ARGV[3] "1": count what it holds
  Returns {0, its epoch, 0 if it is not registered, then for each find: its key, what is wrong, 1 if it was repaired}.
  A key of the wrong type is a find of its own: what does not depend on it is looked at.
  Repairs the registry, P:ttls, the liveness key, the flag, own ends, the count `held` and what it states for shares. A
  worker whose record lacks what no script can do without is retired.
  Publishes to the workers that get tasks, and to those who listen. O(queues it serves, and what goes back).
]]
--- @include "retire"
--- @include "clock_back"
--- @include "counts"
--- @include "drawn"
--- @include "finds"
--- @include "whole"
--- @include "clock"

local P, worker = KEYS[1], ARGV[2]
local check = new_check(P, ARGV[1])
local key, alive, registry, ttls = P .. 'worker:' .. worker, P .. 'alive:' .. worker, P .. 'registry', P .. 'ttls'
local record = try('HGETALL', key)
if not record then
  return check.answer
end
-- Nil: the key has a wrong type, so nobody knows.
local ends, pace, liveness = try('ZSCORE', registry, worker), try('ZSCORE', ttls, worker), try('GET', alive)
local left = redis.call('PTTL', alive)
local queues, w = queues_of(record), {}
for i = 1, #record, 2 do
  w[record[i]] = record[i + 1]
end

-- A script may have 200 names at once, so these are fields.
local look_at = {}

local function remove_from(zset)
  note_find(check, zset, "names the worker '" .. worker .. "', which has no record", function()
    redis.call('ZREM', zset, worker)
    return 'removed it'
  end)
end

local function look_for_remains()
  if ends then
    remove_from(registry)
  end
  if pace then
    remove_from(ttls)
  end
  if liveness then
    note_find(check, alive, 'is the liveness key of a worker that has no record', function()
      redis.call('DEL', alive)
      return 'removed it'
    end)
  end
end

-- The first field that no script can do without, and that is missing or wrong.
local function bad_field()
  for _, field in ipairs({'conn', 'ttl', 'hands'}) do
    if not whole(w[field]) then
      return field
    end
  end
  if whole(w.ttl) < TTL_LEAST or whole(w.ttl) > TTL_MOST then
    return 'ttl' -- each heartbeat is refused
  end
  if not w.epoch or not drawn_number(w.epoch, highest_drawn(P)) then
    return 'epoch'
  end
  for _, queue in ipairs(queues) do
    local limit = w['q:' .. queue]
    if limit ~= '-' and not tonumber(limit) then
      return 'q:' .. queue
    end
  end
  return not w.nonce and 'nonce' or nil
end

-- The times in the registry and in P:ttls. A worker that is not known to live gets a life that ends now.
function look_at.registry()
  local permanent = w.permanent == '1'
  local is_endless = ends and tonumber(ends) == math.huge or false
  if ends ~= nil and (not ends or is_endless ~= permanent) then
    local what = not ends and 'is a worker that is not in ' .. registry .. ', so that nobody sees it die'
      or permanent and 'is a permanent worker whose life ends, by ' .. registry
      or 'is no permanent worker, but its life has no end in ' .. registry
    note_find(check, key, what, function()
      redis.call('ZADD', registry, permanent and '+inf' or now_ms() + math.max(left, 0), worker)
      return 'put it there'
    end)
  end
  -- A permanent worker may be missing there: while it is silent, it must not set everybody's pace.
  if (pace == false and not permanent) or (pace and tonumber(pace) ~= tonumber(w.ttl)) then
    note_find(check, key, 'has a ttl that is not the one in ' .. ttls, function()
      redis.call('ZADD', ttls, w.ttl, worker)
      return 'put it there'
    end)
  end
end

-- More would be seen of a life only if the clock was set back: a heartbeat gives it a ttl. So much a clock may be off.
local SLACK_MS = 100
function look_at.length()
  local most = now_ms() + w.ttl + SLACK_MS
  local registered = tonumber(try('ZSCORE', registry, worker) or 0)
  local until_ms = math.max(now_ms() + left, registered < math.huge and registered or 0)
  if until_ms > most then
    note_find(check, alive, string.format('lasts %.0f ms longer, with a ttl of %s ms: the clock of Redis was set back,'
      .. ' and nobody would see its worker die', until_ms - now_ms(), w.ttl), function()
      ClockBack.cut_life(P, worker, registered, now_ms())
      return 'cut it to the ttl'
    end)
  end
end

function look_at.liveness()
  if liveness and liveness ~= w.epoch then
    note_find(check, alive, 'holds another epoch than the record', function()
      redis.call('SET', alive, w.epoch, 'KEEPTTL')
      return "set to the record's"
    end)
  end
  if liveness and left == -1 then
    note_find(check, alive, 'has no time to live, so that its worker would never die', function()
      redis.call('PEXPIRE', alive, w.ttl)
      return 'gave it the ttl'
    end)
  end
end

-- Has the worker a process with one of these tokens?
local function is_any_held(tokens)
  for _, token in ipairs(tokens) do
    for _, queue in ipairs(queues) do
      local set = P .. 'processing:' .. worker .. ':' .. queue
      if try('HEXISTS', set, token) == 1 or try('HEXISTS', set, 'j' .. token) == 1 then
        return true
      end
    end
  end
end

function look_at.flag()
  if w.flag or not (is_any_held(try('HKEYS', P .. 'marks:' .. worker) or {})
      or is_any_held(try('HKEYS', P .. 'notes:' .. worker) or {})) then
    return
  end
  note_find(check, key, 'has marks or notes, but no flag that makes its ends look for them', function()
    set_flag(P, worker, FLAG_MARKS)
    return 'set it'
  end)
end

-- What commands have ended of their own: processes that were drawn, and that it does not hold any more.
function look_at.own_ends()
  for field, letter in pairs(w) do
    local token = string.match(field, '^e:(.*)$')
    if token and (not drawn_number(token, highest_drawn(P)) or not string.find(letter, '^[fbrx]%d*$')
        or is_any_held({token})) then
      note_find(check, key, "says that a command has ended '" .. token .. "', which cannot be", function()
        redis.call('HDEL', key, field)
        return 'removed'
      end)
    end
  end
end

-- A worker of a release that did not share says nothing of it, and is not damaged: it gives nothing, and gets nothing.
local function is_of_older_release()
  for _, queue in ipairs(queues) do
    if w['s:' .. queue] then
      return false
    end
  end
  return not w.counts
end

-- From when on it may be given what others hold too much of: a ttl after its start, and a ttl is a day at most.
local COUNTS_AHEAD_MS = 2 * 86400000
function look_at.counts()
  local at = whole(w.counts)
  if not at or at > now_ms() + COUNTS_AHEAD_MS then
    note_find(check, key, "has no valid 'counts', so it would be given nothing to share", function()
      redis.call('HSET', key, 'counts', string.format('%.0f', (whole(w.started) or now_ms()) + w.ttl))
      return 'set it right'
    end)
  end
end

-- How many hands it has for each queue that it serves, and nothing of one that it has left.
function look_at.shares()
  for _, queue in ipairs(queues) do
    local limit, field = tonumber(w['q:' .. queue]), 's:' .. queue
    if limit and not whole(w[field]) then
      note_find(check, key, "does not say how many hands it has for the queue '" .. queue .. "'", function()
        redis.call('HSET', key, field, limit > 0 and math.min(limit, w.hands) or w.hands)
        return 'set to what it can hold'
      end)
    elseif not limit and (w[field] or w['i:' .. queue] or w['o:' .. queue]) then
      note_find(check, key, "still has hands or moves for the queue '" .. queue .. "', which it has left", function()
        redis.call('HDEL', key, field, 'i:' .. queue, 'o:' .. queue)
        return 'removed'
      end)
    end
  end
end

function look_at.count()
  local held = count_held(P, worker, queues)
  if held and held ~= whole(w.held) then
    note_find(check, key, 'says that it holds ' .. string.sub(w.held or 'nothing', 1, 40) .. ', but its sets hold '
      .. held, function()
      redis.call('HSET', key, 'held', held)
      return 'set it right'
    end)
  end
end

if #record == 0 then
  look_for_remains()
  return check.answer
end
local bad = bad_field()
if bad then
  note_find(check, key, "is a record without a valid '" .. bad .. "'", function()
    local given_back, obstacle = retire(P, worker)
    return given_back and 'ended this life, and gave ' .. plural(given_back, 'task') .. ' back', obstacle
  end)
  return check.answer
end
look_at.registry()
if try('ZSCORE', registry, worker) then
  check.answer[2] = w.epoch
end
look_at.liveness()
look_at.length()
look_at.flag()
look_at.own_ends()
if not is_of_older_release() then
  look_at.counts()
  look_at.shares()
end
if ARGV[3] == '1' then
  look_at.count()
end
return check.answer
