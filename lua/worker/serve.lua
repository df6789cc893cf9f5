--[[
  serve: a worker serves one more queue from now on. The take that follows makes it idle there.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
    ARGV[4] queue     ARGV[5] the worker's limit of hands on it, 0: none
  Returns 0; E_GONE or E_STATE: nothing was changed. Writes the worker's record, and notes the queue's name. Publishes
  nothing. O(log n).
]]
--- @include "owner"
--- @include "clock"
--- @include "try"

local P = KEYS[1]
local status = check_owner(P, ARGV[1], ARGV[2], ARGV[3])
if status ~= 0 then
  return status
end
redis.call('HDEL', P .. 'worker:' .. ARGV[1], '-') -- needs no memory, so that a full Redis allows the others
try('ZADD', P .. 'names', 'NX', now_ms(), ARGV[4])
redis.call('HSET', P .. 'worker:' .. ARGV[1], 'q:' .. ARGV[4], ARGV[5])
return 0
