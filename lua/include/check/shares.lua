--[[
  Shares: do the hands of a queue, the moves that are reserved there, and what workers' records count of these agree?
  And has a queue that shares evenly been uneven for longer than it may be?
]]
--- @include "finds"
--- @include "moves"
--- @include "silence"
--- @include "whole"
--- @include "clock"

-- No time of this lies further ahead: a ttl is a day at most.
local SHARE_AHEAD_MS = 2 * 86400000

local function is_share_time(text)
  local at = whole(text)
  return at and at <= now_ms() + SHARE_AHEAD_MS
end

-- What the registered workers' records say of the queue: {name, epoch, limit, own, coming, going}, each. Nil: a record
-- of a wrong type, so nobody knows. A worker without a record is a find of its own.
local function share_records(P, queue)
  local records = {}
  local workers = try('ZRANGE', P .. 'registry', 0, -1)
  if not workers then
    return nil
  end
  for _, worker in ipairs(workers) do
    local w = try('HMGET', P .. 'worker:' .. worker, 'epoch', 'q:' .. queue, 's:' .. queue, 'i:' .. queue,
      'o:' .. queue)
    if not w then
      return nil
    end
    if w[1] then
      records[#records + 1] = {name = worker, epoch = w[1], limit = whole(w[2]), own = whole(w[3]) or 0, coming = w[4],
        going = w[5]}
    end
  end
  return records
end

local function set_or_remove(key, field, n)
  if n > 0 then
    redis.call('HSET', key, field, n)
  else
    redis.call('HDEL', key, field)
  end
end

local function look_at_hands(check, key, records, says)
  local hands = 0
  for _, w in ipairs(records) do
    hands = hands + w.own
  end
  if hands ~= (says and whole(says) or not says and 0) then
    note_find(check, key, 'says that ' .. (says or 'no') .. ' hands serve it, but those of its workers are ' .. hands,
      function()
        set_or_remove(key, 'hands', hands)
        return 'set it right'
      end)
  end
end

-- Times and counters that are none.
local function look_at_share_fields(check, key)
  local fields = redis.call('HMGET', key, 'joined', 'lack', 'over', 'moved')
  for i, field in ipairs({'joined', 'lack', 'over', 'moved'}) do
    local is_right = field == 'moved' and whole(fields[i]) or is_share_time(fields[i])
    if fields[i] and not is_right then
      note_find(check, key, "has '" .. string.sub(fields[i], 1, 40) .. "' for '" .. field .. "', which cannot be",
        function()
          redis.call('HDEL', key, field)
          return 'removed it'
        end)
    end
  end
end

-- Is a life over? A record of a wrong type may be of any life.
local function is_life_over(P, worker, epoch)
  local found = redis.pcall('HGET', P .. 'worker:' .. worker, 'epoch')
  return type(found) ~= 'table' and found ~= epoch
end

-- Would somebody have removed reservations that lapsed more than a ttl ago, and seen to it that the queue is even?
local function is_looked_after(P, queue, settings, records)
  local beat, now = try('HMGET', P .. 'beat', 'ended') or {}, now_ms()
  if (whole(settings[1]) or 0) == 0 or settings[2] or now - (whole(beat[1]) or 0) < 2 * longest_ttl(P)
      or redis.call('EXISTS', P .. 'suspects:' .. queue) == 1 then
    return false
  end
  for _, w in ipairs(records) do
    if w.limit and redis.call('EXISTS', P .. 'alive:' .. w.name) == 1 then
      return true
    end
  end
  return false
end

local function note_moves(check, queue, members, what)
  if #members > 0 then
    note_find(check, check.P .. 'moves:' .. queue, 'has ' .. plural(#members, 'reservation') .. ' ' .. what, function()
      for _, member in ipairs(members) do
        redis.call('ZREM', check.P .. 'moves:' .. queue, member)
      end
      return 'removed'
    end)
  end
end

-- A life that is to give something up takes its reservations along when it ends. That of one who is to get something
-- may be over: its reservations end with what moves, or lapse. Returns what the others are for each life:
-- life -> {coming, going, whether one of its reservations was a find}.
local function look_at_moves(check, queue, lapsed_before)
  local P, odd, gone, old, counts = check.P, {}, {}, {}, {}
  local function count(life, i, is_find)
    local c = counts[life] or {0, 0, false}
    c[i], c[3], counts[life] = c[i] + (is_find and 0 or 1), c[3] or is_find, c
  end
  local flat = redis.call('ZRANGE', P .. 'moves:' .. queue, 0, -1, 'WITHSCORES')
  for i = 1, #flat, 2 do
    local parts = parse_move(flat[i])
    local list = not parts and odd or is_life_over(P, parts[3], parts[2]) and gone
      or tonumber(flat[i + 1]) < lapsed_before and old or nil
    if list then
      list[#list + 1] = flat[i]
    end
    if parts then
      count(parts[2] .. ':' .. parts[3], 2, list ~= nil)
      count(parts[4] .. ':' .. parts[5], 1, list ~= nil)
    end
  end
  note_moves(check, queue, odd, 'of another form')
  note_moves(check, queue, gone, 'of lives that are over')
  note_moves(check, queue, old, 'that should have lapsed long ago')
  return counts
end

-- What the records count of the reservations. A record that counts one which was a find goes with that find.
local function look_at_counts(check, queue, records, counts)
  for _, w in ipairs(records) do
    local key, c = check.P .. 'worker:' .. w.name, counts[w.epoch .. ':' .. w.name] or {0, 0, false}
    local says = {w.coming, w.going}
    for i, field in ipairs({'i:' .. queue, 'o:' .. queue}) do
      local is_right = c[i] == (says[i] and whole(says[i]) or not says[i] and 0)
      if not is_right and not c[3] then
        note_find(check, key, "says '" .. string.sub(field, 1, 2) .. "' " .. string.sub(says[i] or '0', 1, 40)
          .. " for the queue '" .. queue .. "', but " .. c[i] .. ' are reserved', function()
          set_or_remove(key, field, c[i])
          return 'set it right'
        end)
      elseif not is_right and check.repair then
        set_or_remove(key, field, c[i])
      end
    end
  end
end

-- When the first one lapses: if the field says later, nobody removes it in time. An earlier time does no harm.
local function look_at_lapse(check, key, queue)
  local says = redis.call('HGET', key, 'moves')
  local first = tonumber(redis.call('ZRANGE', check.P .. 'moves:' .. queue, 0, 0, 'WITHSCORES')[2])
  local at = says and whole(says)
  if (first and not (at and at <= first)) or (says and not first) then
    note_find(check, key, "says 'moves' " .. string.sub(says or 'never', 1, 40) .. ', but the first reservation lapses '
      .. (first and 'at ' .. string.format('%.0f', first) or 'never'), function()
      if first then
        redis.call('HSET', key, 'moves', string.format('%.0f', first))
      else
        redis.call('HDEL', key, 'moves')
      end
      return 'set it right'
    end)
  end
end

-- Those that are to get more serve the queue.
local function look_at_gaps(check, queue)
  local gaps, strangers = check.P .. 'gaps:' .. queue, {}
  for _, worker in ipairs(redis.call('ZRANGE', gaps, 0, -1)) do
    local limit = redis.pcall('HGET', check.P .. 'worker:' .. worker, 'q:' .. queue)
    if not limit or limit == '-' then
      strangers[#strangers + 1] = worker
    end
  end
  if #strangers > 0 then
    note_find(check, gaps, 'names ' .. plural(#strangers, 'worker') .. ', as ' .. string.sub(strangers[1], 1, 100)
      .. ', not serving this queue', function()
      for _, worker in ipairs(strangers) do
        redis.call('ZREM', gaps, worker)
      end
      return 'removed'
    end)
  end
end

-- Of the queue's live workers, one that holds less than its least and can get more, and the one that holds most beyond
-- its least: {name, holds, least}, each.
local function find_uneven(P, queue, records)
  local runs, hands, getter, giver = 0, 0, nil, nil
  for _, w in ipairs(records) do
    w.holds = try('HLEN', P .. 'processing:' .. w.name .. ':' .. queue) or 0
    runs, hands = runs + w.holds, hands + w.own
  end
  for _, w in ipairs(records) do
    w.least = math.floor(runs * w.own / math.max(hands, 1))
    if w.limit and w.holds ~= w.least and redis.call('EXISTS', P .. 'alive:' .. w.name) == 1 then
      local f = redis.call('HMGET', P .. 'worker:' .. w.name, 'hands', 'held', 'counts')
      local free = (whole(f[1]) or 0) - (whole(f[2]) or 0)
      free = w.limit > 0 and math.min(free, w.limit - w.holds) or free
      local can_get = w.holds < w.least and free > 0 and (whole(f[3]) or math.huge) <= now_ms()
      getter = getter or can_get and w or nil
      giver = w.holds > w.least and (not giver or w.holds - w.least > giver.holds - giver.least) and w or giver
    end
  end
  return getter, giver
end

-- Somebody lacks something, and somebody has more than his least; both are there, and nothing is on its way. The time
-- `lack` begins anew as long as anybody above his most still offers something.
local function look_at_balance(check, queue, settings, records)
  local P, lack, ttl = check.P, whole(settings[3]), longest_ttl(check.P)
  local since = lack and now_ms() - lack or 0
  if since <= ttl + 3 * math.ceil(ttl / HEARTBEATS_PER_TTL) or redis.call('EXISTS', P .. 'moves:' .. queue,
    P .. 'queues:' .. queue, P .. 'waiting:' .. queue, P .. 'returned:' .. queue) > 0 then
    return
  end
  local getter, giver = find_uneven(P, queue, records)
  if getter and giver then
    note_find(check, P .. 'queue:' .. queue, 'has been shared unevenly for ' .. math.floor(since / 1000) .. " s: '"
      .. getter.name .. "' holds " .. getter.holds .. ' of at least ' .. getter.least .. ", and '" .. giver.name
      .. "' holds " .. giver.holds .. ' of at least ' .. giver.least
      .. ' and gives none; does its handler stay (muster_process_stay, --on-move stay), or does it run a suspect?')
  end
end

-- All of it. Without `counts_hands` a worker's record was a find, and the hands may look wrong only because of that.
local function look_at_shares(check, queue, counts_hands)
  local P, key = check.P, check.P .. 'queue:' .. queue
  local records = try('ZCARD', P .. 'moves:' .. queue) and try('ZCARD', P .. 'gaps:' .. queue)
    and share_records(P, queue)
  if not records then
    return
  end
  local settings = redis.call('HMGET', key, 'share', 'paused', 'lack', 'hands')
  if counts_hands then
    look_at_hands(check, key, records, settings[4])
  end
  look_at_share_fields(check, key)
  local is_watched = is_looked_after(P, queue, settings, records)
  local counts = look_at_moves(check, queue, is_watched and now_ms() - longest_ttl(P) or -math.huge)
  if counts_hands then
    look_at_counts(check, queue, records, counts)
  end
  look_at_lapse(check, key, queue)
  look_at_gaps(check, queue)
  if is_watched then
    look_at_balance(check, queue, settings, records)
  end
end
