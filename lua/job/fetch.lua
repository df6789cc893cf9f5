--[[
  fetch: the job of a process, for the worker that holds it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] token     ARGV[3] queue
  Returns {0, id, its record {field, value, ...}}, or {E_NOT_FOUND}: it holds no such process (any more). A process
  whose job cannot be read is removed, and goes onto the failed list, group "broken". Publishes to the workers that get
  what its place under a limit lets out. O(1).
]]
--- @include "try"

local P, worker, token, queue = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local set = P .. 'processing:' .. worker .. ':' .. queue
local id = try('HGET', set, 'j' .. token)
if not id then
  return {E_NOT_FOUND}
end

-- A record that has all that a job in this process' hands must have: so it is mostly, and then nothing else is made.
local flat = try('HGETALL', P .. 'job:' .. id)
local record = {}
for i = 1, flat and #flat or 0, 2 do
  record[flat[i]] = flat[i + 1]
end
if record.state == 'running' and record.token == token and record.queue and #(record.place or '') == #token then
  return {0, id, flat}
end

--- @include "available"
if can_fail(P, queue) and can_mark(P, worker) and try('HLEN', P .. 'notes:' .. worker) then
  redis.call('HDEL', set, 'j' .. token)
  Jobs.let_go(P, queue, id, token, worker)
  unmark(P, worker, token)
  try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  hand_over_waiting(P, queue)
end
return {E_NOT_FOUND}
