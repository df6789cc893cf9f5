--[[
  When something of a queue becomes ready by itself. The earliest such time stands in the field `due` of the queue's
  settings, for takes and heartbeats, and in P:due, for the one worker that keeps the timer (P:timer).
]]
--- @include "announce"
--- @include "try"
--- @include "whole"

-- Tells the timer's keeper that something is due earlier than all that it knows of.
local function tell_timer(P)
  local keeper = try('GET', P .. 'timer')
  local epoch = keeper and try('HGET', P .. 'worker:' .. keeper, 'epoch')
  if epoch then
    redis.pcall('SPUBLISH', C .. ':wake:' .. keeper, 'S' .. epoch)
  end
end

-- Sets the time, ms; nil: nothing is due.
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

-- Notes that something becomes ready at this time. Callers that wait without being workers sleep until the earliest
-- such time, so they are told of an earlier one. Nothing is noted where the queue's record has a wrong type: a script
-- may have come to this queue only after its first write.
local function note_due(P, queue, at_ms)
  local settings = try('HMGET', P .. 'queue:' .. queue, 'due', 'listen', 'broadcast')
  local known = settings and whole(settings[1])
  if settings and (not known or at_ms < known) then
    set_due(P, queue, at_ms)
    if is_heard(settings[2], settings[3]) then
      announce(queue, 'work', WORK)
    end
  end
end
