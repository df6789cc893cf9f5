--[[
  extend: a lease ends later; or a note, how far the work on a process is.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker, or ".lease"     ARGV[2] token     ARGV[3] queue
    ARGV[4] the lease ends so many ms from now, "": as it is     ARGV[5] "1": write a note
    ARGV[6] the note, "": none any more     ARGV[7] "1": give the job new data     ARGV[8] these data
  Returns 0, E_LOST (there is no such process, or its lease lapsed), E_STATE (it was cancelled, it has no lease, or it
  is no job), or {E_REDIS, key} for a key of the wrong type: nothing was changed. Publishes to those who wait for what
  lapses, to the workers that get what lapsed, and to those who listen. O(1).
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
local job = id and ARGV[7] == '1' and Jobs.held(P, id, token)
if redis.call('HEXISTS', P .. 'marks:' .. worker, token) == 1 or (ARGV[4] ~= '' and worker ~= LEASE)
    or (ARGV[7] == '1' and not job) then
  return E_STATE
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
  Jobs.say(P, job, now, 'changed', 'data', worker)
end
return 0
