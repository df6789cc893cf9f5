--[[
  resume: a paused queue hands out again, at once to the workers that are idle.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue
  Returns 0; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Removes the field `paused`, moves what is due, and hands over.
  Publishes to the workers that get a task, and to those who listen. O(tasks handed over, and what is due).
]]
--- @include "due"
--- @include "available"
--- @include "clock"

local P, queue = KEYS[1], ARGV[1]
local due = try('HGET', P .. 'queue:' .. queue, 'due')
if due == nil or not can_move_due(P, queue) or not try('ZCARD', P .. 'idle:' .. queue) then
  return {E_REDIS, damaged}
end
redis.call('HDEL', P .. 'queue:' .. queue, 'paused')
local now = now_ms()
if (tonumber(due) or now + 1) <= now then
  move_due(P, queue, now)
end
hand_over_waiting(P, queue)
hand_over_jobs(P)
return 0
