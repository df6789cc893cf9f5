--[[
  Counts: the right values for the counters of workers and queues, counted in the sets. Nil where a set has a wrong
  type: then nobody knows.
]]
--- @include "marks"
--- @include "returned"
--- @include "try"

local function count_held(P, worker, queues)
  local held = 0
  for _, queue in ipairs(queues) do
    local n = try('HLEN', P .. 'processing:' .. worker .. ':' .. queue)
    held = held and n and held + n
  end
  return held
end

local function count_running(P, queue)
  local running = try('ZCARD', P .. 'registry') and 0
  for _, worker in ipairs(running and all_holders(P) or {}) do
    local is_known = try('HLEN', P .. 'worker:' .. worker)
    for _, key in ipairs(is_known and keys_of_holder(P, worker, queue) or {}) do
      local n = try('HLEN', key)
      running = running and n and running + n
    end
    running = is_known and running
  end
  return running
end

-- A queue without processes needs no counter: its settings may then be gone altogether.
local function set_running(P, queue, running)
  if not running then
    return
  elseif running > 0 then
    redis.call('HSET', P .. 'queue:' .. queue, 'running', running)
  else
    redis.call('HDEL', P .. 'queue:' .. queue, 'running')
  end
end
