--[[
  share: a worker that holds more or less than its share of a queue asks for what mends it. If it holds too much, moves
  are reserved to those who hold too little. If it holds too little, that is noted for the others.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
    ARGV[4] queue     ARGV[5] "1": the answer to an earlier call was lost
    ARGV[6] how many reservations are given up, k
    ARGV[7...] these k reservations; then the tokens of processes that may move, the first ones first
  Returns {E_GONE} or {E_STATE}, or {E_REDIS, key} for a key of the wrong type: nothing was changed. Or {0, ask, ms,
  moves...}:
    ask    1: ask again with the next heartbeat, although the figures may be the same: time alone may mend it
    ms     how long a handler may take to give back
    moves  reservations (see the include `moves`) of processes that must move now; those of a lost answer are among them
  Reservations that lapsed are removed first, whosever they are, at most 100 in a call. Nothing is reserved while work
  waits, or if the queue is paused or does not share.
  Writes P:moves, P:gaps, the counts of what moves in the records of both workers, and the queue's fields `moves`,
  `lack` and `over`. Publishes nothing. O(moves log n).
]]
--- @include "owner"
--- @include "moves"
--- @include "silence"
--- @include "try"
--- @include "types"
--- @include "whole"
--- @include "clock"

local P, worker, queue = KEYS[1], ARGV[1], ARGV[4]
local status, record = check_owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local key, moves, gaps = P .. 'queue:' .. queue, P .. 'moves:' .. queue, P .. 'gaps:' .. queue
local settings = try('HMGET', key, 'share', 'paused', 'running', 'hands', 'share_moves', 'share_ms', 'lack', 'over',
  'joined', 'moves')
if not settings or not has_type('ZCARD', moves) or not has_type('ZCARD', gaps)
    or not has_type('ZCARD', P .. 'leases:' .. queue)
    or not has_type('HLEN', P .. 'processing:' .. worker .. ':' .. queue) then
  return {E_REDIS, damaged}
end
local SHARE, PAUSED, RUNNING, HANDS, MOST_MOVES, MOVE_MS, LACK, OVER, JOINED, LAPSES = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local now, ttl = now_ms(), tonumber(record[5])
local pace = math.ceil((shortest_ttl(P) or ttl) / HEARTBEATS_PER_TTL)
local result = {0, 0, whole(settings[MOVE_MS]) or SETTING_SHARE_MS}

redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
local first_token = 7 + tonumber(ARGV[6])
for i = 7, first_token - 1 do
  give_up_move(P, queue, ARGV[i])
end
local LAPSED_MAX = 100
for _, move in ipairs(redis.call('ZRANGEBYSCORE', moves, '-inf', now, 'LIMIT', 0, LAPSED_MAX)) do
  give_up_move(P, queue, move)
end

-- The tokens on offer. What a lost answer has reserved is said again; the worker offers the same once more.
local tokens, AGAIN_MAX = {}, 10000
local is_reserved = {}
for _, move in ipairs(ARGV[5] == '1' and redis.call('ZRANGE', moves, 0, AGAIN_MAX - 1) or {}) do
  local parts = parse_move(move)
  if parts and parts[2] == ARGV[2] and parts[3] == worker then
    is_reserved[parts[1]] = move
  end
end
for i = first_token, #ARGV do
  local move = is_reserved[ARGV[i]]
  if move then
    result[#result + 1] = move
  else
    tokens[#tokens + 1] = ARGV[i]
  end
end

-- The shares are made of how many run in workers' hands, and of all the hands that serve the queue.
local runs, hands = (whole(settings[RUNNING]) or 0) - has_type('ZCARD', P .. 'leases:' .. queue),
  whole(settings[HANDS]) or 0
local is_on = (whole(settings[SHARE]) or 0) > 0 and not settings[PAUSED] and hands > 0
  and redis.call('EXISTS', P .. 'queues:' .. queue, P .. 'waiting:' .. queue, P .. 'returned:' .. queue) == 0

-- What a worker holds of the queue, with what is on its way to it and without what is on its way from it; between which
-- numbers its share lies; and how many hands are left. Nil if it does not serve the queue.
local function balance_of(name)
  local w = redis.pcall('HMGET', P .. 'worker:' .. name, 'epoch', 'ttl', 'hands', 'held', 'counts', 'q:' .. queue,
    's:' .. queue, 'i:' .. queue, 'o:' .. queue)
  local mine = redis.pcall('HLEN', P .. 'processing:' .. name .. ':' .. queue)
  local own, limit, coming = whole(w[7]), whole(w[6]), whole(w[8]) or 0
  if not w[1] or not own or not limit or type(mine) ~= 'number' then
    return nil
  end
  local free = (whole(w[3]) or 0) - (whole(w[4]) or 0)
  return {name = name, epoch = w[1], ttl = whole(w[2]) or math.huge, holds = mine + coming - (whole(w[9]) or 0),
    least = math.floor(runs * own / hands), most = math.ceil(runs * own / hands),
    free = (limit > 0 and math.min(free, limit - mine) or free) - coming,
    counts = (whole(w[5]) or math.huge) <= now}
end

local function is_fresh(b)
  return redis.call('PTTL', P .. 'alive:' .. b.name) * 2 >= b.ttl
end

-- A worker's entry among the gaps: how much it holds beyond its least, so the largest gap is the first.
local function note_gap(b, may_get_more)
  if b.counts and b.free > 0 and (b.holds < b.least or (may_get_more and b.holds < b.most)) then
    redis.call('ZADD', gaps, b.holds - b.least, b.name)
  else
    redis.call('ZREM', gaps, b.name)
  end
end

local most_moves = whole(settings[MOST_MOVES]) or 0
local room = is_on and most_moves > 0 and most_moves - redis.call('ZCARD', moves) or math.huge
local lapses = now + result[3] + ttl
local next_token = 1

local function reserve(from, to)
  local move = table.concat({tokens[next_token], from.epoch, from.name, to.epoch, to.name}, ':')
  redis.call('ZADD', moves, lapses, move)
  try('HINCRBY', P .. 'worker:' .. from.name, 'o:' .. queue, 1) -- a count that is none stays: a check finds it
  try('HINCRBY', P .. 'worker:' .. to.name, 'i:' .. queue, 1)
  from.holds, to.holds, to.free = from.holds - 1, to.holds + 1, to.free - 1
  room, next_token = room - 1, next_token + 1
  result[#result + 1] = move
end

-- How many `from` should give to `to`. A worker above its most gives to any that is below its own; one that is at its
-- most only to who is below its least, and only if nobody else does (`gives_all`). So as few as possible move.
local function surplus(from, to, gives_all)
  local below = to.holds < to.least
  local n = from.holds - (below and gives_all and from.least or from.most)
  return math.min(n, (below and to.least or to.most) - to.holds)
end

-- Gives to the gaps, the largest one first. Each worker is looked at again, because its entry may be old.
local LOOKS_MAX = 100
local function give(from, gives_all, may_get_more)
  for _ = 1, LOOKS_MAX do
    local name = redis.call('ZRANGE', gaps, 0, 0)[1]
    local to = name and balance_of(name)
    if not name or name == from.name then
      return
    elseif not to or not is_fresh(to) then
      redis.call('ZREM', gaps, name)
    else
      local n = math.min(surplus(from, to, gives_all), to.free, room, #tokens - next_token + 1)
      for _ = 1, n do
        reserve(from, to)
      end
      note_gap(to, may_get_more)
      if n <= 0 and redis.call('ZRANGE', gaps, 0, 0)[1] == name then
        return
      end
    end
  end
end

local me = is_on and balance_of(worker)
if me then
  local lack, joined = whole(settings[LACK]), whole(settings[JOINED]) or 0
  local may_get_more = (whole(settings[OVER]) or 0) > now
  -- Those who are above their most have had a heartbeat since then, and gave first.
  local gives_all = lack and now >= lack + pace and now >= joined + 2 * pace
  note_gap(me, may_get_more)
  if me.holds > me.least then
    give(me, gives_all, may_get_more)
  end
  -- `lack`: somebody lacks something. `over`: somebody has too much, and nobody lacks anything; for how long that is to
  -- be said, so that those who may hold one more say so.
  local is_lacking = redis.call('ZCOUNT', gaps, '-inf', '(0') > 0
  local is_over = me.holds > me.most
  -- Since when nobody who is above his most has had more to give.
  local is_giving = is_over and tokens[next_token] ~= nil
  if is_lacking and (is_giving or not lack) then
    redis.call('HSET', key, 'lack', string.format('%.0f', now))
  elseif settings[LACK] and not is_lacking then
    redis.call('HDEL', key, 'lack')
  end
  if is_over and not is_lacking and now >= joined + pace then
    redis.call('HSET', key, 'over', string.format('%.0f', now + HEARTBEATS_PER_TTL * pace))
  end
  local is_short = me.holds < me.least and not me.counts
  result[2] = (is_over or is_short or (is_lacking and me.holds > me.least)) and 1 or 0
else
  redis.call('ZREM', gaps, worker)
end
local first_lapse = redis.call('ZRANGE', moves, 0, 0, 'WITHSCORES')[2]
if first_lapse and first_lapse ~= settings[LAPSES] then
  redis.call('HSET', key, 'moves', first_lapse)
end
return result
