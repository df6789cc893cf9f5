--[[
  Counts: the right values for the counters of workers and queues, counted in the sets. A set of the wrong type counts
  as empty.
]]
--- @include "marks"
--- @include "returned"
--- @include "try"

local function count_set(P, worker, queue)
  return try('HLEN', P .. 'processing:' .. worker .. ':' .. queue) or 0
end

local function count_held(P, worker, queues)
  local held = 0
  for _, queue in ipairs(queues) do
    held = held + count_set(P, worker, queue)
  end
  return held
end

local function count_running(P, queue)
  local running = 0
  for _, worker in ipairs(all_holders(P)) do
    for _, key in ipairs(keys_of_holder(P, worker, queue)) do
      running = running + (try('HLEN', key) or 0)
    end
  end
  return running
end

-- A queue without processes needs no counter: its settings may then be gone altogether.
local function set_running(P, queue, running)
  if running > 0 then
    redis.call('HSET', P .. 'queue:' .. queue, 'running', running)
  else
    redis.call('HDEL', P .. 'queue:' .. queue, 'running')
  end
end
