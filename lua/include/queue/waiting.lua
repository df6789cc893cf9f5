--[[
  How much of a queue waits: tasks and jobs that can be taken, also of a queue that is paused or at its limit, and what
  came back. What is delayed or depends does not wait. (src/lib/protocol/waiting_parts.c counts the
  same.)
]]
--- @include "try"

local function count_waiting(P, queue)
  return (try('LLEN', P .. 'queues:' .. queue) or 0) + (try('ZCARD', P .. 'waiting:' .. queue) or 0)
    + (try('ZCARD', P .. 'returned:' .. queue) or 0)
end
