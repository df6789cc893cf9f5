--[[
  replay: put failed tasks and jobs back to the end of their queue, the oldest failure first. The counts of retries and
  crashes of such a job begin again at 0.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] only this group, "": all groups     ARGV[3] how many at most
    ARGV[4] the place on the list to begin at
    ARGV[5...] names of entries. If there are any, only these are replayed; group, number and place do not matter
  Returns {0, number of entries replayed, rest}. `rest` is, with names: how many of them were not there; without: the
  place to go on from, -1 if there are no more. {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the failed list and its counts, the queue, and the records of the jobs.
  Publishes to the workers that get a task, and to those who listen. O(entries looked at).
]]
--- @include "jobs"
--- @include "available"

local P, queue = KEYS[1], ARGV[1]
if not (can_fail(P, queue) and try('LLEN', P .. 'queues:' .. queue) and try('ZCARD', P .. 'idle:' .. queue)
    and (redis.call('EXISTS', P .. 'failed:' .. queue) == 0 or Jobs.are_sound(P, queue))) then
  return {E_REDIS, damaged}
end
local members, rest = select_failed(P, queue, ARGV[2], ARGV[3], ARGV[4], ARGV)
local replayed = 0
for _, member in ipairs(members) do
  local _, task = parse_failed(member)
  local id = job_of_entry(member)
  local job = id and Jobs.read(P, id)
  if job and job.state == 'failed' then
    Jobs.set(job, 'retried', nil)
    Jobs.set(job, 'crashes', nil)
    Jobs.set(job, 'group', nil)
    Jobs.set(job, 'message', nil)
    Jobs.wait(P, job, 'replayed')
    replayed = replayed + 1
  elseif task and not id then
    remove_failed(P, queue, member) -- needs no memory, so that a full Redis allows the other
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    replayed = replayed + 1
  elseif rest >= 0 then
    rest = rest + 1 -- malformed, or its job has not failed: it stays, and is passed over or counts as not there
  end
end
hand_over_waiting(P, queue)
hand_over_jobs(P)
return {0, replayed, rest}
