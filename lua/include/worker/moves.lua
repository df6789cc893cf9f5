--[[
  Moves: a process of a queue that shares evenly is to go from one worker to another. P:moves:<q> has a member for each,
  "<token>:<epoch>:<from>:<epoch of to>:<to>", by the time at which it lapses. The records of both workers count what is
  on its way: `o:<q>` from the worker, `i:<q>` to it. A record of another life counts nothing of it.
]]
--- @include "try"

-- {token, epoch, from, epoch of to, to}; nil for what is no move.
local function parse_move(move)
  local parts = {string.match(move, '^([^:]+):([^:]+):([^:]+):([^:]+):([^:]+)$')}
  return parts[1] and parts or nil
end

local function count_down_move(P, worker, epoch, field)
  if try('HGET', P .. 'worker:' .. worker, 'epoch') == epoch then
    try('HINCRBY', P .. 'worker:' .. worker, field, -1)
  end
end

-- The reservation is over. Returns {token, epoch, from, epoch of to, to}; nil if it is none, or was over before.
local function give_up_move(P, queue, move)
  local parts = parse_move(move)
  if not parts or try('ZREM', P .. 'moves:' .. queue, move) ~= 1 then
    return nil
  end
  if redis.call('EXISTS', P .. 'moves:' .. queue) == 0 then
    try('HDEL', P .. 'queue:' .. queue, 'moves')
  end
  count_down_move(P, parts[3], parts[2], 'o:' .. queue)
  count_down_move(P, parts[5], parts[4], 'i:' .. queue)
  return parts
end

-- The hands that serve a queue are so many more, or fewer.
local function count_hands(P, queue, by)
  if by ~= 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'hands', by)
  end
end

-- A worker neither gives nor gets any more in this life: its reservations are over. `n`: what its record has counted of
-- them; 0: none, and nothing is looked for.
local function give_up_moves_of(P, queue, worker, epoch, n)
  if (tonumber(n or nil) or 0) <= 0 then
    return
  end
  for _, move in ipairs(try('ZRANGE', P .. 'moves:' .. queue, 0, -1) or {}) do
    local parts = parse_move(move)
    if parts and ((parts[2] == epoch and parts[3] == worker) or (parts[4] == epoch and parts[5] == worker)) then
      give_up_move(P, queue, move)
    end
  end
end

-- A worker serves a queue no longer. `own`: how many hands it had there; `n`: how many processes it was to give away,
-- and to get if its record stays. Of a record that goes, what is on its way to it finds another life, and goes where
-- anything goes that is given back.
local function leave_shares(P, worker, epoch, queue, own, n)
  count_hands(P, queue, -(tonumber(own or nil) or 0))
  try('ZREM', P .. 'gaps:' .. queue, worker)
  give_up_moves_of(P, queue, worker, epoch, n)
end
