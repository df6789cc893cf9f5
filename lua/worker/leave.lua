--[[
  leave: a worker serves a queue no longer. All its processes of that queue go back to the front, whether the worker
  knows them or not.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] epoch     ARGV[3] connection number     ARGV[4] hands
    ARGV[5] queue
  Returns {0, last token N, number of processes given back}: hand-overs of the queue up to N are void. {E_GONE} or
  {E_STATE}, or {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the worker's record, its set and idle entry, and the queue with its counts `running` and `hands`.
  Publishes to the workers that get its tasks, and to those who listen. O(processes).
]]
--- @include "owner"
--- @include "retire"
--- @include "last_token"

local P, worker, queue = KEYS[1], ARGV[1], ARGV[5]
local status, record = check_owner(P, worker, ARGV[2], ARGV[3])
if status ~= 0 then
  return {status}
end
local homes = homes_of({'r:' .. queue, redis.call('HGET', P .. 'worker:' .. worker, 'r:' .. queue) or ''})
local damaged_one = damaged_key(P, worker, {queue}, homes)
if damaged_one then
  return {E_REDIS, damaged_one}
end
redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
redis.call('HSET', P .. 'worker:' .. worker, 'q:' .. queue, '-') -- a limit that is no number: nothing is handed over
redis.call('ZREM', P .. 'idle:' .. queue, worker)
local shares = redis.call('HMGET', P .. 'worker:' .. worker, 's:' .. queue, 'o:' .. queue, 'i:' .. queue)
local out, coming = tonumber(shares[2] or nil) or 0, tonumber(shares[3] or nil) or 0
leave_shares(P, worker, ARGV[2], queue, shares[1], out + coming)
store_hands(P, worker, record, ARGV[4])
redis.call('HDEL', P .. 'worker:' .. worker, 'r:' .. queue, 's:' .. queue, 'i:' .. queue, 'o:' .. queue)
local given_back, held = give_back_set(P, worker, queue, ARGV[2], homes[1].homes)
if held > 0 then
  redis.call('HINCRBY', P .. 'worker:' .. worker, 'held', -held)
end
hand_over_waiting(P, queue)
hand_over_jobs(P)
return {0, last_token(P), given_back}
