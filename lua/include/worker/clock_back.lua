--[[
  The server's clock was set back, or a server with an earlier one has taken over: P:beat was written at a time that is
  still to come. Then all that was to end by that clock ends too late: a worker that has died would count as alive for
  as long as the step. No life can be longer than its ttl; so lives are cut to it. Whoever lives renews his in time.
]]
--- @include "silence"
--- @include "try"
--- @include "whole"

-- At most so many workers, queues and lists are looked at in one script.
local ClockBack = {most = 1000}

-- Of P:beat, if it lies ahead; or nil.
function ClockBack.noticed(P, now)
  local at = tonumber((try('HMGET', P .. 'beat', 'at') or {})[1] or nil)
  return at and at > now and math.min(at, 2 ^ 53) or nil
end

-- Cuts a life to its ttl. Was it longer?
function ClockBack.cut_life(P, worker, ends, now)
  local key = P .. 'worker:' .. worker
  local record = try('HMGET', key, 'ttl', 'counts') or {}
  local ttl = math.min(whole(record[1]) or 0, TTL_MOST)
  if ttl < 1 then
    return false
  end
  if (tonumber(record[2] or nil) or 0) > now + ttl then
    try('HSET', key, 'counts', string.format('%.0f', now + ttl))
  end
  local was_longer = redis.call('PEXPIRE', P .. 'alive:' .. worker, ttl, 'LT') == 1
  if ends > now + ttl and ends < math.huge then
    redis.call('ZADD', P .. 'registry', 'XX', now + ttl, worker)
    was_longer = true
  end
  return was_longer
end

-- Those that end last first. True if there may be more.
function ClockBack.cut_lives(P, now)
  local n_cut = 0
  local lives = try('ZREVRANGEBYSCORE', P .. 'registry', '+inf', '(' .. now, 'WITHSCORES', 'LIMIT', 0, ClockBack.most)
  for i = 1, #(lives or {}), 2 do
    if ClockBack.cut_life(P, lives[i], tonumber(lives[i + 1]), now) then
      n_cut = n_cut + 1
    end
  end
  return n_cut > 0 and #lives == 2 * ClockBack.most
end

-- Whatever was to go on at once, or after a short pause, would wait as long as the step: so what is to be let go is due
-- as much sooner, and each queue is looked at now. What has a time of its own there keeps it.
function ClockBack.look_again(P, now, step)
  for _, member in ipairs(try('ZRANGEBYSCORE', P .. 'ended', '(' .. now, '+inf', 'LIMIT', 0, ClockBack.most) or {}) do
    redis.call('ZINCRBY', P .. 'ended', -step, member)
  end
  for _, queue in ipairs(try('ZRANGEBYSCORE', P .. 'due', '(' .. now, '+inf', 'LIMIT', 0, ClockBack.most) or {}) do
    if queue == '' or try('HSET', P .. 'queue:' .. queue, 'due', now) then
      redis.call('ZADD', P .. 'due', now, queue)
    end
  end
end

-- Puts right what the step has put off. As long as lives are left to cut, `at` of P:beat stays as it is, so that the
-- next call goes on. `was` says up to when what goes by the clock comes late.
function ClockBack.set_right(P, now, at, shortest)
  local beat = P .. 'beat'
  redis.call('HDEL', beat, '-') -- needs no memory, so that a full Redis allows the others
  local times = redis.call('HMGET', beat, 'was', 'ended')
  if (tonumber(times[2] or nil) or 0) > now then
    redis.call('HDEL', beat, 'ended', 'length', 'seen') -- a silence that is still to come is none
  end
  redis.call('HSET', beat, 'was', string.format('%.0f', math.max(at, math.min(tonumber(times[1] or nil) or 0, 2 ^ 53))))
  if shortest and redis.call('PTTL', P .. 'timer') > shortest then
    redis.call('PEXPIRE', P .. 'timer', shortest)
  end
  ClockBack.look_again(P, now, at - now)
  if not ClockBack.cut_lives(P, now) then
    redis.call('HSET', beat, 'at', now)
  end
end

-- The same, if the clock was set back.
function ClockBack.look(P, now)
  local at = ClockBack.noticed(P, now)
  if at then
    ClockBack.set_right(P, now, at, shortest_ttl(P))
  end
end
