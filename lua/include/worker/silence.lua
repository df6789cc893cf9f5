--[[
  Silences: a stall of Redis is not a death of its workers. A script that writes the registry first measures for how
  long nobody did (P:beat). After a silence longer than half the shortest ttl, dead workers get time to show that they
  live.
]]
--- @include "try"

-- A worker's heartbeats: this many in the shortest ttl.
local HEARTBEATS_PER_TTL = 3
-- P:beat is written again after this part of the shortest ttl: to write it more often would tell nothing.
local BEAT_AGE_PART = 32

-- The shortest ttl in the namespace, ms; nil if nobody is registered.
local function shortest_ttl(P)
  return tonumber((try('ZRANGE', P .. 'ttls', 0, 0, 'WITHSCORES') or {})[2])
end

-- The longest one; 0 if nobody is registered.
local function longest_ttl(P)
  return tonumber((try('ZRANGE', P .. 'ttls', -1, -1, 'WITHSCORES') or {})[2]) or 0
end

-- If the worker with the shortest ttl is a silent permanent one, takes it out: it must not set everybody's pace. Its
-- next heartbeat puts it back. Was there one?
local function drop_silent_permanent(P)
  local worker = (try('ZRANGE', P .. 'ttls', 0, 0) or {})[1]
  if worker and redis.call('EXISTS', P .. 'alive:' .. worker) == 0
      and tonumber(try('ZSCORE', P .. 'registry', worker) or 0) == math.huge then
    return redis.call('ZREM', P .. 'ttls', worker)
  end
end

-- Notes a heartbeat now, and the silence before it if there was one. If two silences lie close together, the later end
-- and the greater length count, never their sum: otherwise a slow lone survivor could put a sweep off for ever.
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
  elseif not beat[1] or not shortest or length > shortest / BEAT_AGE_PART then
    redis.call('HSET', key, 'at', now)
  end
end

-- The worker's life ended at `ended`: does a silence still give it time?
local function in_grace(P, now, ended, worker)
  -- Its entry in P:ttls may be lost: without a ttl it would have no grace.
  local ttl = tonumber(try('ZSCORE', P .. 'ttls', worker) or try('HGET', P .. 'worker:' .. worker, 'ttl') or 0)
  local beat = try('HMGET', P .. 'beat', 'ended', 'length')
  if not beat then
    return true -- nobody knows whether there was a silence: then nobody loses its tasks
  end
  if not beat[1] or now - beat[1] >= ttl then
    return false
  end
  return now < ended + beat[2] + ttl -- ended is the last heartbeat + ttl, so this is that heartbeat + silence + 2 ttl
end
