--[[
  replay: put failed tasks and jobs back to the end of their queue, the oldest failure first. The counts of retries and
  crashes of such a job begin again at 0.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] queue     ARGV[2] only this group, "": all groups     ARGV[3] how many at most
    ARGV[4] the score to begin at
    ARGV[5...] names of entries. If there are any, only these are replayed; group, number and score do not matter
  Returns {0, number of entries replayed, the score to go on from, -1 if there are no more}; with names {0, number, how
  many of them were not there, how many of them were looked at}. A fifth element, 1, says that so many jobs waited for
  the failure of the next one that this script let go some of them only: call again. {E_REDIS, key} for a key of the
  wrong type: nothing was changed. A call looks at 100 entries or 4 MiB, or at one larger entry; what follows is for the
  next call.
  Writes the failed list and its counts, the queue, and the records of the jobs.
  Publishes to the workers that get a task, and to those who listen. O(entries looked at).
]]
--- @include "jobs"
--- @include "big"
--- @include "available"

local P, queue = KEYS[1], ARGV[1]
if not (can_fail(P, queue) and try('LLEN', P .. 'queues:' .. queue) and try('ZCARD', P .. 'idle:' .. queue)
    and (redis.call('EXISTS', P .. 'failed:' .. queue) == 0 or Jobs.are_sound(P, queue))) then
  return {E_REDIS, damaged}
end

-- An entry stays if it is malformed, or if the job has not failed by it: then it has been put again since. That of a
-- unique task stays, too, while an equal one is alive.
local function replay(member, entry)
  local _, task = Failed.parse(member)
  local id, is_unique = Failed.job_of(member), Failed.is_unique(member)
  local job = id and Jobs.read(P, id)
  if job and job.state == 'failed' and job.queue == queue and job.entry == entry then
    if not Jobs.let_go_before_replay(P, id) then
      return 'again'
    end
    Jobs.unended(P, job)
    Jobs.set(job, 'retried', nil)
    Jobs.set(job, 'crashes', nil)
    Jobs.set(job, 'group', nil)
    Jobs.set(job, 'message', nil)
    Jobs.wait(P, job, 'replayed')
    return true
  elseif task and is_unique then
    try('HDEL', P .. 'failures:' .. queue, '-') -- needs no memory, so that a full Redis allows the others
    local is_made = Jobs.make_unique(P, queue, task)
    if is_made then
      Failed.remove(P, queue, member)
    end
    return is_made
  elseif task and not id then
    Failed.remove(P, queue, member) -- needs no memory, so that a full Redis allows the other
    note_length(P, queue, task)
    redis.call('LPUSH', P .. 'queues:' .. queue, task)
    return true
  end
end

local answer = Failed.move(P, queue, ARGV[2], ARGV[3], ARGV[4], ARGV, replay)
hand_over_waiting(P, queue)
hand_over_jobs(P)
return answer
