--[[
  Crash counts: how often the holder of a task died, for each queue by the task's digest. A death counts against all
  tasks that the worker held, innocent ones too. So the limit is three, and counts are forgotten at a finish and an hour
  after the queue's last crash.
]]
--- @include "try"
--- @include "suspects"

local CRASHES_KEPT_MS = 3600000


-- Counts one more death. Returns how many there were with it.
local function count_crash(P, queue, task)
  return try('HINCRBY', P .. 'crashes:' .. queue, redis.sha1hex(task), 1) or 1
end

local function forget_crashes(P, queue, task)
  redis.call('HDEL', P .. 'crashes:' .. queue, redis.sha1hex(task))
end

-- Lets the counts live for another hour. The field in the queue's settings tells a finish that there may be something
-- to forget.
local function keep_crashes(P, queue)
  try('HSET', P .. 'queue:' .. queue, 'crashes', '1')
  redis.call('PEXPIRE', P .. 'crashes:' .. queue, CRASHES_KEPT_MS)
end
