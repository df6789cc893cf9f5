--[[
  When something of a queue becomes ready by itself: the earliest such time stands in the field `due` of the queue's
  settings, for takes and heartbeats, and in P:due, where it is for the one worker that keeps the timer (P:timer).
]]
--- @include "announce"
--- @include "try"

-- Whoever keeps the timer is told when something is due earlier than all he knows of.
local function tell_timer(P)
  local keeper = try('GET', P .. 'timer')
  local epoch = keeper and try('HGET', P .. 'worker:' .. keeper, 'epoch')
  if epoch then
    redis.pcall('PUBLISH', P .. 'wake:' .. keeper, 'S' .. epoch)
  end
end

-- Sets the time, ms; nil: nothing is due any more.
local function set_due(P, queue, at_ms)
  if not at_ms then
    redis.call('HDEL', P .. 'queue:' .. queue, 'due')
    try('ZREM', P .. 'due', queue)
    return
  end
  local first = try('ZRANGE', P .. 'due', 0, 0, 'WITHSCORES') or {}
  redis.call('HSET', P .. 'queue:' .. queue, 'due', at_ms)
  if try('ZADD', P .. 'due', at_ms, queue) and at_ms < (tonumber(first[2]) or math.huge) then
    tell_timer(P)
  end
end

-- Something becomes ready at this time. Those who wait without being workers sleep until the earliest such time.
local function note_due(P, queue, at_ms)
  local settings = redis.call('HMGET', P .. 'queue:' .. queue, 'due', 'listen', 'broadcast')
  if at_ms < (tonumber(settings[1]) or math.huge) then
    set_due(P, queue, at_ms)
    if is_heard(settings[2], settings[3]) then
      announce(P, queue, 'work', WORK)
    end
  end
end
