--[[
  drop: forget failed tasks and jobs, the oldest failure first. A job that waits for one of these jobs fails.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] only this group, "": all groups     ARGV[3] how many at most
    ARGV[4] the score to begin at
    ARGV[5...] names of entries. If there are any, only these are dropped; group, number and score do not matter
  Returns {0, number of entries dropped, the score to go on from, -1 if there are no more}; with names {0, number, how
  many of them were not there, how many of them were looked at}. {E_REDIS, key} for a key of the wrong type: nothing was
  changed. A call looks at 100 entries or 4 MiB, or at one larger entry; what follows is for the next call.
  Writes the failed list and its counts; deletes the records of the jobs.
  Publishes to those who listen. O(entries looked at).
]]
--- @include "jobs"
--- @include "available"

local P, queue = KEYS[1], ARGV[1]
if not (can_fail(P, queue) and (redis.call('EXISTS', P .. 'failed:' .. queue) == 0 or Jobs.are_sound(P, queue))) then
  return {E_REDIS, damaged}
end
local answer = Failed.move(P, queue, ARGV[2], ARGV[3], ARGV[4], ARGV, function(member, entry)
  Failed.forget(P, queue, member, entry, '')
  return true
end)
hand_over_jobs(P) -- some waited for the end of one that is gone
return answer
