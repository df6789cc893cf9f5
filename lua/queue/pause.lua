--[[
  pause: a queue hands out nothing from now on. Running processes go on.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
  Returns 0; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the field `paused`, and notes the queue's name. Publishes nothing. O(log n).
]]
--- @include "clock"
--- @include "try"

local P, queue = KEYS[1], ARGV[1]
if not try('HDEL', P .. 'queue:' .. queue, '-') then -- needs no memory, so that a full Redis allows the others
  return {E_REDIS, damaged}
end
redis.call('HSET', P .. 'queue:' .. queue, 'paused', '1')
try('ZADD', P .. 'names', 'NX', now_ms(), queue)
return 0
