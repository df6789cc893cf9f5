--[[
  cancel_jobs: cancel jobs by their ids. Jobs in work are marked, and their holders are told: such a job may still
  finish; if its process ends in any other way, it is dropped. All others are gone at once.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] "1": and all that wait for them     ARGV[2...] ids
  Returns {0, number of jobs}; {E_STATE, id} of a job that waits for one of them and is not among them; {E_TOO_BIG} for
  more than 10 000 ids; {E_REDIS, key} for a key of the wrong type: nothing was changed. An id that no job has, or a
  complete one, is passed over.
  Writes marks and flags of the holders; deletes the records of the other jobs, and their members of indexes.
  Publishes to the holders, and to those who listen. O(jobs log n).
]]
--- @include "jobs"
--- @include "available"

local P = KEYS[1]
local MOST = 10000
local meant, ids, at = {}, {}, 1
for i = 2, #ARGV do
  if not meant[ARGV[i]] then
    meant[ARGV[i]] = true
    ids[#ids + 1] = ARGV[i]
  end
end
local jobs, sound = {}, {}
while ids[at] do
  local id = ids[at]
  local job = Jobs.read(P, id)
  if job and job.state ~= 'complete' then
    sound[job.queue] = sound[job.queue] or Jobs.are_sound(P, job.queue)
    if not sound[job.queue] or not Jobs.can_take_away(P, job) then
      return {E_REDIS, damaged}
    end
    jobs[#jobs + 1] = job
    for _, dependent in ipairs(try('ZRANGE', P .. 'dependents:' .. id, 0, -1) or {}) do
      if not meant[dependent] and ARGV[1] == '1' then
        meant[dependent] = true
        ids[#ids + 1] = dependent
      elseif not meant[dependent] and Jobs.is_open(P, dependent) then
        return {E_STATE, dependent}
      end
    end
  end
  if #ids > MOST then
    return {E_TOO_BIG}
  end
  at = at + 1
end

try('HDEL', P .. 'config', '-') -- needs no memory, so that a full Redis allows the others
-- First these jobs wait for nothing any more: otherwise one of them would fail because another is gone.
for i = #jobs, 1, -1 do
  Jobs.remove_dependencies(P, jobs[i].id)
end
for _, job in ipairs(jobs) do
  local token = job.state == 'running' and job.token
  if token then
    mark(P, job.worker, {token}, CANCELLED)
  else
    Jobs.cancel(P, job, '')
  end
end
hand_over_jobs(P)
return {0, #jobs}
