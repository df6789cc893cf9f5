--[[
  drop: failed tasks and jobs are forgotten, the oldest failure first. Jobs that wait for one of them fail.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] of this group, "": of all     ARGV[3] how many at most
    ARGV[4] from which place on the list
    ARGV[5...] the names of entries; then only these, and group, number and place do not matter
  Returns {0, how many, and for names how many were not there, else from which place on to go on, -1: nowhere}, or
  {E_REDIS, key} for a key of the wrong type: nothing was changed. Publishes nothing. O(entries looked at).
]]
--- @include "jobs"

local P, queue = KEYS[1], ARGV[1]
if not (can_fail(P, queue) and (redis.call('EXISTS', P .. 'failed:' .. queue) == 0 or Jobs.are_sound(P, queue))) then
  return {E_REDIS, damaged}
end
local members, rest = meant_failed(P, queue, ARGV[2], ARGV[3], ARGV[4], ARGV)
for _, member in ipairs(members) do
  forget_failed(P, queue, member, redis.call('ZSCORE', P .. 'failed:' .. queue, member) or 0)
end
return {0, #members, rest}
