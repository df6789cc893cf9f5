--[[
  hand_on: hand the timer on. The worker that keeps it will be busy for a while, so an idle worker keeps it instead; or
  it lacks the data of a zone, which another worker may have.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker     ARGV[2] the queue whose work will keep it busy, "": it lacks a zone
  Returns 1 if another worker keeps the timer now; 0 if this one did not keep it, or if nobody is idle on that queue or
  on the queue where something is due next; for a zone, if none of ten workers lives.
  Writes P:timer. Publishes to the new keeper. O(log n).
]]
--- @include "heirs"

local HEIRS_MAX = 10
local P, worker = KEYS[1], ARGV[1]
if try('GET', P .. 'timer') ~= worker then
  return 0
end
redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
if ARGV[2] == '' then
  return hand_on_timer(P, worker, try('ZRANDMEMBER', P .. 'registry', HEIRS_MAX) or {}) and 1 or 0
end
local due = try('ZRANGE', P .. 'due', 0, 0) or {}
for _, queue in ipairs({due[1] or ARGV[2], ARGV[2]}) do
  if hand_on_timer(P, worker, try('ZRANGE', P .. 'idle:' .. queue, 0, 1) or {}) then
    return 1
  end
end
return 0
