--[[
  Making work available: to workers that are idle, and to those who wait without being workers. Every script that leaves
  something waiting which it did not find there ends so.
]]
--- @include "hand_over"
--- @include "announce"
--- @include "try"

-- Makes what waits in a queue available, unless it is paused: hands it over, and says that there is more to those who
-- wait without being workers.
local function hand_over_waiting(P, queue)
  local waiting = try('LLEN', P .. 'queues:' .. queue)
  local settings = waiting and waiting > 0 and try('HMGET', P .. 'queue:' .. queue, 'paused', 'listen', 'broadcast')
  if not settings or settings[1] then
    return
  end
  local idle = try('ZCARD', P .. 'idle:' .. queue)
  if idle and idle > 0 then
    waiting = waiting - hand_over(P, queue, waiting)
  end
  if waiting > 0 and is_heard(settings[2], settings[3]) then
    announce(P, queue, 'work', WORK)
  end
end
