--[[
  drop: forget failed tasks and jobs, the oldest failure first. A job that waits for one of these jobs fails.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] only this group, "": all groups     ARGV[3] how many at most
    ARGV[4] the place on the list to begin at
    ARGV[5...] names of entries. If there are any, only these are dropped; group, number and place do not matter
  Returns {0, number of entries dropped, rest}. `rest` is, with names: how many of them were not there; without: the
  place to go on from, -1 if there are no more. {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the failed list and its counts; deletes the records of the jobs.
  Publishes to those who listen. O(entries looked at).
]]
--- @include "jobs"

local P, queue = KEYS[1], ARGV[1]
if not (can_fail(P, queue) and (redis.call('EXISTS', P .. 'failed:' .. queue) == 0 or Jobs.are_sound(P, queue))) then
  return {E_REDIS, damaged}
end
local members, rest = select_failed(P, queue, ARGV[2], ARGV[3], ARGV[4], ARGV)
for _, member in ipairs(members) do
  forget_failed(P, queue, member, redis.call('ZSCORE', P .. 'failed:' .. queue, member) or 0)
end
return {0, #members, rest}
