--[[
  A write that changes nothing, for a call that finds its work done by an earlier one. Whoever asks by WAIT whether
  replicas have the work is answered about what the same connection wrote last: without a write, about nothing.
]]
local ANY_MS = 3600000

-- The key must exist. Needs no memory, so that a full Redis allows it.
local function write_again(key)
  local left_ms = redis.call('PTTL', key)
  redis.call('PEXPIRE', key, left_ms > 0 and left_ms or ANY_MS)
  if left_ms < 0 then
    redis.call('PERSIST', key)
  end
end
