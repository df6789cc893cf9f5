--[[
  Silences: a stall of Redis is not a death of its workers. Whoever writes the registry first measures how long nobody
  did (P:beat). After a silence longer than half the shortest ttl, dead workers are given time to show that they live.
]]
--- @include "try"

-- The shortest ttl in the namespace, ms; nil when nobody is registered. And the longest.
local function shortest_ttl(P)
  return tonumber((try('ZRANGE', P .. 'ttls', 0, 0, 'WITHSCORES') or {})[2])
end

local function longest_ttl(P)
  return tonumber((try('ZRANGE', P .. 'ttls', -1, -1, 'WITHSCORES') or {})[2]) or 0
end

-- A permanent worker that is silent must not set everybody's pace: its own heartbeat puts it back. Was there one?
local function drop_silent_permanent(P)
  local worker = (try('ZRANGE', P .. 'ttls', 0, 0) or {})[1]
  if worker and redis.call('EXISTS', P .. 'alive:' .. worker) == 0
      and tonumber(try('ZSCORE', P .. 'registry', worker) or 0) == math.huge then
    return redis.call('ZREM', P .. 'ttls', worker)
  end
end

-- Notes a heartbeat now, and the silence before it if there was one. Of two silences that lie close together the
-- later end and the greater length count, never their sum: else a slow lone survivor could put a sweep off for ever.
local function note_beat(P, now, shortest)
  local key = P .. 'beat'
  local beat = try('HMGET', key, 'at', 'ended', 'length')
  if not beat then
    return
  end
  local length = beat[1] and now - beat[1] or 0
  if shortest and length > shortest / 2 then
    if beat[2] and now - beat[2] < longest_ttl(P) + length then
      length = math.max(length, tonumber(beat[3]))
    end
    redis.call('HSET', key, 'at', now, 'ended', now, 'length', length)
  elseif not beat[1] or not shortest or length > shortest / 32 then -- more often would tell nothing
    redis.call('HSET', key, 'at', now)
  end
end

-- Does a worker whose life of ttl ms ended at `ended` still wait for the end of a grace?
local function in_grace(P, now, ended, ttl)
  local beat = try('HMGET', P .. 'beat', 'ended', 'length')
  if not beat then
    return true -- nobody knows: then nobody is robbed
  end
  if not beat[1] or now - beat[1] >= ttl then
    return false
  end
  return now < ended + beat[2] + ttl -- ended is the last heartbeat + ttl, so this is that heartbeat + silence + 2 ttl
end
