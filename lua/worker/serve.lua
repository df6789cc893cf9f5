--[[
  serve: a worker serves one more queue from now on. The take that follows makes it idle there.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number
    ARGV[4] queue     ARGV[5] the worker's limit of hands on it, 0: none     ARGV[6] the worker's hands
  Returns 0; E_GONE or E_STATE: nothing was changed. Writes the worker's record, the queue's hands and since when
  those count, and notes the queue's name. Publishes nothing. O(log n).
]]
--- @include "owner"
--- @include "clock"
--- @include "try"
--- @include "moves"
--- @include "whole"

local P, key, queue = KEYS[1], KEYS[1] .. 'worker:' .. ARGV[1], ARGV[4]
local status = check_owner(P, ARGV[1], ARGV[2], ARGV[3])
if status ~= 0 then
  return status
end
redis.call('HDEL', key, '-') -- needs no memory, so that a full Redis allows the others
try('ZADD', P .. 'names', 'NX', now_ms(), queue)

-- Its hands are the queue's from now on, also before they count: so what is given to others who do is their share
-- already, and moves once.
local limit, hands = tonumber(ARGV[5]), tonumber(ARGV[6])
hands = limit > 0 and math.min(limit, hands) or hands
local before = redis.call('HMGET', key, 's:' .. queue, 'counts')
count_hands(P, queue, hands - (whole(before[1]) or 0))
redis.call('HSET', key, 'q:' .. queue, ARGV[5], 's:' .. queue, hands)
local counts, joined = whole(before[2]), whole(try('HGET', P .. 'queue:' .. queue, 'joined'))
if counts and counts > (joined or 0) then
  try('HSET', P .. 'queue:' .. queue, 'joined', before[2])
end
return 0
