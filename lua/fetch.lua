--[[
  fetch: the job of a process, for the worker that holds it.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] token     ARGV[3] queue
  Returns {0, id, its record {field, value, ...}}, or {E_NOT_FOUND}: it holds no such process (any more). A process
  whose job cannot be read is removed, and goes onto the failed list, group "broken". Publishes to the workers that get
  what its place under a limit lets out. O(1).
]]
--- @include "available"

local P, worker, token, queue = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local set = P .. 'processing:' .. worker .. ':' .. queue
local id = try('HGET', set, 'j' .. token)
if not id then
  return {E_NOT_FOUND}
end
local job = Jobs.held(P, id, token)
if job then
  return {0, id, job.flat}
end
if can_fail(P, queue) and can_mark(P, worker) and try('HLEN', P .. 'notes:' .. worker) then
  redis.call('HDEL', set, 'j' .. token)
  Jobs.let_go(P, queue, id, token, worker)
  unmark(P, worker, token)
  try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  hand_over_waiting(P, queue)
end
return {E_NOT_FOUND}
