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
-- What a ttl can be, ms. P:ttls may hold anything by hand, and everybody's pace comes from there.
local TTL_LEAST, TTL_MOST = 100, 86400000

-- The shortest ttl in the namespace, ms; nil if nobody is registered.
local function shortest_ttl(P)
  local first = try('ZRANGEBYSCORE', P .. 'ttls', TTL_LEAST, TTL_MOST, 'WITHSCORES', 'LIMIT', 0, 1) or {}
  return first[2] and math.floor(first[2])
end

-- The longest one; 0 if nobody is registered.
local function longest_ttl(P)
  local last = try('ZREVRANGEBYSCORE', P .. 'ttls', TTL_MOST, TTL_LEAST, 'WITHSCORES', 'LIMIT', 0, 1) or {}
  return tonumber(last[2]) or 0
end

-- If the worker with the shortest ttl is a silent permanent one, takes it out: it must not set everybody's pace. Its
-- next heartbeat puts it back. Was there one?
local function drop_silent_permanent(P)
  local worker = (try('ZRANGEBYSCORE', P .. 'ttls', TTL_LEAST, TTL_MOST, 'LIMIT', 0, 1) or {})[1]
  if worker and redis.call('EXISTS', P .. 'alive:' .. worker) == 0
      and tonumber(try('ZSCORE', P .. 'registry', worker) or 0) == math.huge then
    return redis.call('ZREM', P .. 'ttls', worker)
  end
end

-- Notes a heartbeat now, and the silence before it if there was one. If the last one lies ahead, the clock was set
-- back: then nothing is noted, and its time is returned, for ClockBack. If two silences lie close together, the later
-- end and the greater length count, never their sum: otherwise a slow lone survivor could put a sweep off for ever.
local function note_beat(P, now, shortest)
  local key = P .. 'beat'
  local beat = try('HMGET', key, 'at', 'ended', 'length')
  if not beat then
    return
  end
  -- A time that is none does not count, and is written anew.
  local at, ended, before = tonumber(beat[1] or nil), tonumber(beat[2] or nil), tonumber(beat[3] or nil)
  if at and at > now then
    return math.min(at, 2 ^ 53)
  end
  at = at and at > 0 and at or nil
  local length = at and now - at or 0
  if shortest and length > shortest / 2 then
    if ended and ended <= now and now - ended < longest_ttl(P) + length and before and before > length
        and before < now then
      length = before
    end
    redis.call('HSET', key, 'at', now, 'ended', now, 'length', length)
  elseif not at or not shortest or length > shortest / BEAT_AGE_PART then
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
  local silence_ended, length = tonumber(beat[1] or nil), tonumber(beat[2] or nil)
  ttl = math.min(ttl or 0, TTL_MOST)
  if not (silence_ended and length and silence_ended <= now and now - silence_ended < ttl) then
    return false
  end
  return now < ended + length + ttl -- ended is the last heartbeat + ttl, so this is that heartbeat + silence + 2 ttl
end
