--[[
  Callers that wait for work under a lease take turns: P:takers:<q> has them, the one that has waited longest first. An
  announcement of work names as many of them as there is work for. Those look at once, and are no longer there; whoever
  is not named looks a little later, in case one of these has died.
]]
--- @include "announce"
--- @include "clock"
--- @include "try"

-- One announcement names at most so many.
local Takers = {named_max = 100}

-- A caller waits, and has waited for so long. One that was named and came too late keeps its turn so. The key goes when
-- nobody has waited for a while.
function Takers.wait(P, queue, caller, waited_ms)
  local takers = P .. 'takers:' .. queue
  local since_us = now_us() - (tonumber(waited_ms) or 0) * 1000
  if caller ~= '' and try('ZADD', takers, string.format('%.0f', since_us), caller) then
    redis.call('PEXPIRE', takers, LISTEN_MS)
  end
end

function Takers.leave(P, queue, caller)
  try('ZREM', P .. 'takers:' .. queue, caller)
end

-- Announces that there is work for n.
function Takers.announce(P, queue, n)
  local named = try('ZPOPMIN', P .. 'takers:' .. queue, math.min(n, Takers.named_max)) or {}
  local message = {WORK}
  for i = 1, #named, 2 do
    message[#message + 1] = named[i]
  end
  announce(queue, 'work', table.concat(message, ' '))
end
