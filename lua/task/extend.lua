--[[
  extend: let leases end later; write a progress note on processes; or give jobs in work new data.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker, or ".lease"     ARGV[2] token     ARGV[3] queue
    ARGV[4] the lease ends this many ms from now, "": its end stays     ARGV[5] "1": write a note
    ARGV[6] the note, "": remove it     ARGV[7] "1": give the job new data     ARGV[8] this data
    ARGV[9...] worker, token and queue of more processes, at most 199
  Returns 0; E_LOST if there is no such process, or its lease has lapsed; {E_STATE, why} if it was cancelled or its
  queue was deleted (why: its mark), if it was cancelled and its job is gone ("j"), if it has no lease to extend ("l"),
  or for data, if it is no job (a unique task is none, "t"), or its job's record no longer says that this process has it
  ("r");
  {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Of several processes it returns {0, for each in their order such a status, and what follows it or ""}: each is
  extended or not, whatever becomes of the others.
  Writes the lease's end and the field `due`; the note and the worker's flag; the job's record.
  Publishes to those who wait for the end of a lease, to the workers that get a task whose lease lapsed, and to those
  who listen. O(log n) for each.
]]
--- @include "due"
--- @include "clock"

local P, args, now = KEYS[1], ARGV, now_ms()
local lease_ms, writes_note, gives_data = tonumber(ARGV[4]), ARGV[5] == '1', ARGV[7] == '1'

local function write_note(worker, token)
  if ARGV[6] == '' then
    redis.call('HDEL', P .. 'notes:' .. worker, token)
  else
    redis.call('HSET', P .. 'notes:' .. worker, token, ARGV[6])
    set_flag(P, worker, FLAG_MARKS)
  end
end

local function give_data(worker, job)
  Jobs.set(job, 'data', ARGV[8])
  Jobs.save(P, job)
  Jobs.publish_event(P, job, now, 'changed', 'data', Jobs.name_of(P, job, worker))
end

-- Its status, and what follows it.
local function extend(worker, token, queue)
  local set = P .. 'processing:' .. worker .. ':' .. queue
  if not (can_move_due(P, queue) and has_type('HLEN', set) and can_mark(P, worker)
      and has_type('HLEN', P .. 'notes:' .. worker)) then
    return E_REDIS, damaged
  end
  redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
  if worker == LEASE and has_lapsed(P, queue, token, now) then
    return E_LOST
  end
  local id = redis.call('HGET', set, 'j' .. token)
  if not id and redis.call('HEXISTS', set, token) == 0 then
    return E_LOST
  end
  local job = id and gives_data and Jobs.read_held(P, id, token)
  local mark = redis.call('HGET', P .. 'marks:' .. worker, token)
  local is_gone = mark == CANCELLED and id and not Jobs.read_held(P, id, token)
  local why = (is_gone and 'j') or mark or (lease_ms and worker ~= LEASE and 'l')
    or (gives_data and ((not id or (job and job.unique)) and 't' or not job and 'r'))
  if why then
    return E_STATE, why
  end
  if lease_ms then
    redis.call('ZADD', P .. 'leases:' .. queue, now + lease_ms, id and 'j' .. token or token)
    note_due(P, queue, now + lease_ms)
  end
  if writes_note then
    write_note(worker, token)
  end
  if job then
    give_data(worker, job)
  end
  return 0
end

local status, word = extend(ARGV[1], ARGV[2], ARGV[3])
if not args[9] then
  return word and {status, word} or status
end
local answer = {0, status, word or ''}
for i = 9, #args, 3 do
  status, word = extend(args[i], args[i + 1], args[i + 2])
  answer[#answer + 1] = status
  answer[#answer + 1] = word or ''
end
return answer
