--[[
  Making work available, to workers that are idle and to callers that wait without being workers. A script that leaves
  work waiting which it did not find there must end with this.
]]
--- @include "mixed"
--- @include "announce"
--- @include "returned"
--- @include "set_due"
--- @include "try"
--- @include "waiting"
--- @include "whole"

-- How many more processes of a queue its limit over all workers allows.
local function room_under_limit(max_running, running)
  local most = whole(max_running) or 0
  return most > 0 and math.max(0, most - (whole(running) or 0)) or math.huge
end

-- Makes what waits in a queue available, unless the queue is paused: hands it over, and announces what is left to
-- callers that wait without being workers. If it is too much for one script, the rest is due at once.
local function hand_over_waiting(P, queue)
  if redis.call('EXISTS', P .. 'queues:' .. queue, P .. 'waiting:' .. queue, P .. 'returned:' .. queue) == 0 then
    return
  end
  local waiting = try('LLEN', P .. 'queues:' .. queue)
  local settings = waiting and try('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast', 'jobs',
    'max_running', 'running', 'returned')
  if not settings or settings[1] then
    return
  end
  local idle = try('ZCARD', P .. 'idle:' .. queue)
  local room = room_under_limit(settings[5], settings[6])
  if idle and idle > 0 and room > 0 then
    local is_mixed = (settings[4] or settings[7]) and Jobs.are_sound(P, queue) and can_return(P, queue)
    local is_cut
    if is_mixed then
      is_cut = select(2, hand_over_mixed(P, queue, math.min(count_waiting(P, queue), room), settings[7]))
    else
      is_cut = select(2, hand_over(P, queue, math.min(waiting, room)))
    end
    if is_cut then
      note_due(P, queue, now_ms())
    end
  end
  if is_heard(settings[2], settings[3]) and count_waiting(P, queue) > 0 then
    announce(queue, 'work', WORK)
  end
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
