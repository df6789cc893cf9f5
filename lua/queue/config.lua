--[[
  config: set or unset one setting of a queue or of the namespace.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue, "": the namespace     ARGV[2] name     ARGV[3] value, "": unset
  Returns 0; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the setting, and notes the queue's name. Publishes to the workers that get what a raised limit lets out, and to
  those who listen. O(tasks handed over).
]]
--- @include "available"
--- @include "clock"

local P, queue = KEYS[1], ARGV[1]
local key = queue == '' and P .. 'config' or P .. 'queue:' .. queue
if not try('HLEN', key) then
  return {E_REDIS, damaged}
end
if ARGV[3] == '' then
  redis.call('HDEL', key, ARGV[2])
else
  redis.call('HSET', key, ARGV[2], ARGV[3])
end
if queue ~= '' then
  try('ZADD', P .. 'names', 'NX', now_ms(), queue)
  hand_over_waiting(P, queue)
end
return 0
