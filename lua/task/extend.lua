--[[
  extend: let a lease end later; write a progress note on a process; or give a job in work new data.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker, or ".lease"     ARGV[2] token     ARGV[3] queue
    ARGV[4] the lease ends this many ms from now, "": its end stays     ARGV[5] "1": write a note
    ARGV[6] the note, "": remove it     ARGV[7] "1": give the job new data     ARGV[8] this data
  Returns 0; E_LOST if there is no such process, or its lease has lapsed; {E_STATE, why} if it was cancelled or its
  queue was deleted (why: its mark), if it has no lease to extend ("l"), or for data, if it is no job (a unique task is
  none, "t"), or its job's record no longer says that this process has it ("r");
  {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes the lease's end and the field `due`; the note and the worker's flag; the job's record.
  Publishes to those who wait for the end of a lease, to the workers that get a task whose lease lapsed, and to those
  who listen. O(log n).
]]
--- @include "due"
--- @include "clock"

local P, worker, token, queue = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local now = now_ms()
if not (can_move_due(P, queue) and try('HLEN', P .. 'processing:' .. worker .. ':' .. queue)
    and can_mark(P, worker) and try('HLEN', P .. 'notes:' .. worker)) then
  return {E_REDIS, damaged}
end
redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
if worker == LEASE and has_lapsed(P, queue, token, now) then
  return E_LOST
end
local set = P .. 'processing:' .. worker .. ':' .. queue
local id = redis.call('HGET', set, 'j' .. token)
if not id and redis.call('HEXISTS', set, token) == 0 then
  return E_LOST
end
local job = id and ARGV[7] == '1' and Jobs.read_held(P, id, token)
local why = redis.call('HGET', P .. 'marks:' .. worker, token) or (ARGV[4] ~= '' and worker ~= LEASE and 'l')
  or (ARGV[7] == '1' and ((not id or (job and job.unique)) and 't' or not job and 'r'))
if why then
  return {E_STATE, why}
end
if ARGV[4] ~= '' then
  local ends = now + tonumber(ARGV[4])
  redis.call('ZADD', P .. 'leases:' .. queue, ends, id and 'j' .. token or token)
  note_due(P, queue, ends)
end
if ARGV[5] == '1' then
  if ARGV[6] == '' then
    redis.call('HDEL', P .. 'notes:' .. worker, token)
  else
    redis.call('HSET', P .. 'notes:' .. worker, token, ARGV[6])
    set_flag(P, worker, FLAG_MARKS)
  end
end
if job then
  Jobs.set(job, 'data', ARGV[8])
  Jobs.save(P, job)
  Jobs.publish_event(P, job, now, 'changed', 'data', worker)
end
return 0
