--[[
  Making work available, to workers that are idle and to callers that wait without being workers. A script that leaves
  work waiting which it did not find there must end with this.
]]
--- @include "mixed"
--- @include "clock"
--- @include "heard"
--- @include "rate"
--- @include "returned"
--- @include "set_due"
--- @include "takers"
--- @include "try"
--- @include "waiting"
--- @include "whole"

-- How many more processes of a queue its limit over all workers allows.
local function room_under_limit(max_running, running)
  local most = whole(max_running) or 0
  return most > 0 and math.max(0, most - (whole(running) or 0)) or math.huge
end

-- What is left is announced to those who listen, or is due when the rate allows more. Nobody is told of what he could
-- not take: beyond the `room` under the limits, or in homes of a wrong type. He would look, find nothing, wait, and be
-- told of it again.
local function tell_waiting(P, queue, is_listened_to, rate, room)
  local left = (rate or is_listened_to) and count_waiting(P, queue) or 0
  local passed = (Passed.tasks[queue] or 0) + (Passed.jobs[queue] or 0) -- or all that came back, if they are too many
  left = left - (passed > 0 and math.min(passed, try('ZCARD', P .. 'returned:' .. queue) or 0) or 0)
  if left > 0 and rate and rate.room < 1 then
    if is_listened_to or (try('ZCARD', P .. 'idle:' .. queue) or 0) > 0 then
      note_due(P, queue, rate.next_ms)
    end
  elseif left > 0 and room > 0 and is_listened_to then
    Takers.announce(P, queue, math.min(left, room))
  end
end

-- Makes what waits in a queue available, unless the queue is paused: hands it over, and announces what is left to
-- callers that wait without being workers. If it is too much for one script, the rest is due at once.
local function hand_over_waiting(P, queue)
  if redis.call('EXISTS', P .. 'queues:' .. queue, P .. 'waiting:' .. queue, P .. 'returned:' .. queue) == 0 then
    return
  end
  local waiting = try('LLEN', P .. 'queues:' .. queue)
  local settings = waiting and try('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast', 'jobs',
    'max_running', 'running', 'returned', 'rate')
  if not settings or settings[1] then
    return
  end
  local idle = try('ZCARD', P .. 'idle:' .. queue)
  local room = room_under_limit(settings[5], settings[6])
  local rate = settings[8] and Rate.of(P, queue, settings[8], now_us())
  room = rate and math.min(room, rate.room) or room
  if idle and idle > 0 and room > 0 then
    local is_mixed = (settings[4] or settings[7]) and Jobs.are_sound(P, queue) and can_return(P, queue)
    local given, is_cut
    if is_mixed then
      given, is_cut = hand_over_mixed(P, queue, math.min(count_waiting(P, queue), room), settings[7])
    else
      given, is_cut = hand_over(P, queue, math.min(waiting, room))
    end
    room = room - given
    if is_cut then
      note_due(P, queue, now_ms())
    end
    if rate then
      Rate.use(P, queue, rate, given)
    end
  end
  tell_waiting(P, queue, is_heard(settings[2], settings[3]), rate, room)
end

-- The same for each queue that jobs have moved in.
local function hand_over_jobs(P)
  local queue = next(touched_by_jobs)
  while queue do
    touched_by_jobs[queue] = nil
    hand_over_waiting(P, queue)
    queue = next(touched_by_jobs)
  end
end
