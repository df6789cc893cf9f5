--[[
  check_keys: has each of these keys its type, and a time to live if it needs one?
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": repair what can be
    ARGV[2...] for each key: the part of its name after the root; its type, "" for a key of unknown kind; its time to
      live, ms, 0: it needs none; and what cannot be looked at while it has another type, "": nothing
  Returns {0, 0, then for each find: its key, what is wrong, 1 if it was repaired}. A key that is not there is no find.
  Looks at the lists of jobs that are let go, too: does P:ended name each, and does somebody go on? And at P:timer and
  P:beat: is the keeper a registered worker, and are the times possible?
  Repairs times to live, P:ended, the time when somebody goes on, P:timer and P:beat. Publishes to the worker that gets
  the timer. O(keys).
]]
--- @include "finds"
--- @include "set_due"
--- @include "heirs"
--- @include "clock_back"
--- @include "clock"

local P, args = KEYS[1], ARGV
local check = new_check(P, ARGV[1])

local function look(key, wanted, ttl_ms, unseen)
  local found = redis.call('TYPE', key).ok
  if found == 'none' then
    return
  elseif wanted == '' then
    note_find(check, key, 'is of no kind that this release knows; look at it, and move it away with RENAME')
  elseif found ~= wanted then
    note_find(check, key, 'has the wrong type ' .. found .. ' instead of ' .. wanted
      .. (unseen ~= '' and ', so ' .. unseen .. ' could not be looked at' or '')
      .. '; look at it, and move it away with RENAME')
  elseif ttl_ms > 0 and redis.call('PTTL', key) == -1 then
    note_find(check, key, 'has no time to live, and would stay for ever', function()
      redis.call('PEXPIRE', key, ttl_ms)
      return 'gave it ' .. ttl_ms / 1000 .. ' s'
    end)
  end
end

-- A queue's `due` makes somebody go on. That of the list's first job will do.
local function let_go_on(list)
  local member = (redis.call('ZRANGE', list, 0, 0))[1]
  local id = member and string.match(member, '^[^\n]*') -- its kind may follow
  local queue = id and try('HGET', P .. 'job:' .. id, 'queue')
  if queue and try('HLEN', P .. 'queue:' .. queue) then
    note_due(P, queue, now_ms())
  end
end

-- A worker goes on as soon as somebody may. How long it may hold up the timer, no setting tells.
local LATE_MS = 60000
-- How late is a list, s, which a worker should have gone on with? Nil: it is not, or there is only the next take.
local function lateness_of(at_ms)
  local late_ms = now_ms() - tonumber(at_ms)
  return late_ms > LATE_MS and try('GET', P .. 'timer') and math.floor(late_ms / 1000)
end

local function look_at_list(list, member)
  local at_ms = try('ZSCORE', P .. 'ended', member)
  if at_ms == false then
    note_find(check, list, 'has jobs to let go, but nobody will', function()
      redis.call('ZADD', P .. 'ended', now_ms(), member)
      let_go_on(list)
      return 'noted it'
    end)
  elseif at_ms and tonumber(at_ms) < now_ms() and #(try('ZRANGE', P .. 'due', 0, 0) or {true}) == 0 then
    note_find(check, P .. 'due', 'has no queue, but ' .. list .. ' has jobs to let go', function()
      let_go_on(list)
      return 'set it right'
    end)
  elseif at_ms and lateness_of(at_ms) then
    note_find(check, list, 'has had jobs to let go for ' .. lateness_of(at_ms) .. ' s, but the worker that keeps the '
      .. 'timer does not', function()
      let_go_on(list)
      tell_timer(P)
      return 'told it'
    end)
  end
end

-- While such a worker is said to keep the timer, nobody does. How long it may be said, no ttl tells.
local HEIRS_MAX = 10
local function look_at_timer(key)
  local keeper, left = try('GET', key), redis.call('PTTL', key)
  local record = P .. 'worker:' .. (keeper or '')
  local is_nobody = keeper and redis.call('EXISTS', record) == 0 and try('ZSCORE', P .. 'registry', keeper) == false
  local ttl = keeper and tonumber(try('HGET', record, 'ttl') or nil)
  local what = is_nobody and "names the worker '" .. keeper .. "', which is not registered"
    or ttl and left > ttl and "is kept by '" .. keeper .. "' for longer than its ttl"
  if what then
    note_find(check, key, what .. ', so that nobody may look at what is due', function()
      redis.call('DEL', key)
      local heirs = try('ZREVRANGE', P .. 'registry', 0, HEIRS_MAX - 1) or {}
      return hand_on_timer(P, '', heirs) and 'handed it to a worker' or 'removed it'
    end)
  end
end

-- The clock may have been set back a little; a time that is far ahead was written by hand, but for that of the last
-- heartbeat.
local AHEAD_MS, BACK_MS = 60000, 1000
local function look_at_beat(key)
  local fields = {'at', 'ended', 'length'}
  local at = ClockBack.noticed(P, now_ms())
  if at and at > now_ms() + BACK_MS then
    note_find(check, key, string.format('lies %.0f ms ahead: the clock of Redis was set back, and lives of workers may'
      .. ' last as much longer', at - now_ms()), function()
      ClockBack.look(P, now_ms())
      return 'cut them to their ttl'
    end)
  end
  for i, value in ipairs(try('HMGET', key, unpack(fields)) or {}) do
    local n = tonumber(value or nil)
    local is_sound = n and n >= 0 and (n <= now_ms() + AHEAD_MS or (i == 1 and at))
    if value and not is_sound then
      note_find(check, key, "has '" .. string.sub(value, 1, 40) .. "' for " .. fields[i]
        .. (i == 3 and ', which is no length of time' or ', which is no time that has been'), function()
        redis.call('HDEL', key, fields[i])
        return 'removed it'
      end)
    end
  end
end

local function look_closely(name, key)
  if name == 'timer' then
    look_at_timer(key)
  elseif name == 'beat' then
    look_at_beat(key)
  end
end

for i = 2, #args, 4 do
  local key, is_list = P .. args[i], string.sub(args[i], 1, 6) == 'freed:' and args[i + 1] == 'zset'
  look(key, args[i + 1], tonumber(args[i + 2]), args[i + 3])
  look_closely(args[i], key)
  if is_list and (try('ZCARD', key) or 0) > 0 then
    look_at_list(key, string.sub(args[i], 7))
  end
end
return check.answer
