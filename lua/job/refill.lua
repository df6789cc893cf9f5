--[[
  refill: give a recurring job the next ticks of its schedule. The worker that was asked to (promote) has computed them.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] id
    ARGV[2] cron     ARGV[3] zone     ARGV[4] last: fields of its record, for which the ticks were computed
    ARGV[5] its next ticks, ms, ascending, with blanks between     ARGV[6] "1": no others come; else ""
    ARGV[7] at this time it was known which were missed, ms; "0": they are not all known yet
    ARGV[8] how many missed ones are beyond its backlog     ARGV[9] the last of these, or ARGV[4]
  Returns {0}, also if the job has another schedule by now, or has gone on: then nothing was changed. {E_REDIS, key} for
  a key of the wrong type.
  Writes the job's record and history, its index, P:crons and P:due. Publishes to those who listen, and to the timer's
  keeper. O(log n).
]]
--- @include "jobs"
--- @include "available"

local P, id = KEYS[1], ARGV[1]
local job = Jobs.read(P, id)
if not job or job.state ~= 'recurring' or job.cron ~= ARGV[2] or job.zone ~= ARGV[3] or job.last ~= ARGV[4] then
  return {0}
end
if not Jobs.are_sound(P, job.queue) then
  return {E_REDIS, damaged}
elseif not has_type('ZCARD', P .. 'crons') then
  return {E_REDIS, P .. 'crons'}
end
redis.call('HSET', P .. 'job:' .. id, 'queue', job.queue) -- needs memory: a full Redis refuses the whole call here
Jobs.set(job, 'ticks', ARGV[5])
Jobs.set(job, 'final', ARGV[6] == '1' and '1' or nil)
Jobs.set(job, 'settled', ARGV[7] ~= '0' and ARGV[7] or nil)
Jobs.set(job, 'last', ARGV[9])
Jobs.refilled(P, job, tonumber(ARGV[8]))
hand_over_jobs(P)
return {0}
