--[[
  The server's clock. It stands still while a script runs, so it is asked once.
]]
local clock_us, clock_ms

local function now_us()
  if not clock_us then
    local time = redis.call('TIME')
    clock_us = time[1] * 1000000 + time[2]
  end
  return clock_us
end

local function now_ms()
  clock_ms = clock_ms or math.floor(now_us() / 1000)
  return clock_ms
end
