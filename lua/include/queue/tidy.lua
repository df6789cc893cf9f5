--[[
  Tidying: removes the name and settings of a queue that has nothing left, and what is beyond the bounds of a failed
  list or of complete jobs.
]]
--- @include "jobs"
--- @include "announce"
--- @include "try"

local TIDY_JOBS_MAX = 1000
local IS_COUNTER = {cancelled = true, crashes = true, dropped = true, due = true, jobs = true, named = true}

-- Is nothing left of the queue but its counters, and does nobody listen? While jobs are let go, each queue stays: its
-- `due` may be what makes somebody go on.
local function is_over(P, queue)
  local settings = redis.pcall('HGETALL', P .. 'queue:' .. queue)
  for i = 1, settings.err and 0 or #settings, 2 do
    local field, value = settings[i], settings[i + 1]
    if not (IS_COUNTER[field] or (field == 'running' and value == '0')
        or (field == 'listen' and not is_heard(value))) then
      return false
    end
  end
  return not settings.err and redis.call('EXISTS', P .. 'queues:' .. queue, P .. 'idle:' .. queue,
    P .. 'delayed:' .. queue, P .. 'failed:' .. queue, P .. 'leases:' .. queue, P .. 'crashes:' .. queue,
    P .. 'scheduled:' .. queue, P .. 'depends:' .. queue, P .. 'waiting:' .. queue, P .. 'running:' .. queue,
    P .. 'complete:' .. queue, P .. 'recurring:' .. queue, P .. 'ended') == 0
end

-- Tidies these queues. Returns how many of them stay.
local function tidy(P, queues, now)
  local stay = #queues
  for _, queue in ipairs(queues) do
    if can_fail(P, queue) then
      trim_failed(P, queue, now)
    end
    if redis.call('EXISTS', P .. 'complete:' .. queue) == 1 and Jobs.are_sound(P, queue) then
      Jobs.trim_complete(P, queue, TIDY_JOBS_MAX)
    end
    if is_over(P, queue) then
      redis.call('DEL', P .. 'queue:' .. queue)
      try('ZREM', P .. 'names', queue)
      try('ZREM', P .. 'due', queue)
      stay = stay - 1
    end
  end
  return stay
end
