--[[
  end: end one process. The caller may be anybody who presents the process' id. If the process belongs to a worker, the
  worker is told.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker, or ".lease"; with a "+" before it: the caller is the process' own command
    ARGV[2...] one end of one process, in a form of the include `ends`
  Returns 0; {E_CANCELLED, mark} if the process was marked, so that its task was dropped instead, or if its job was
  cancelled, and is gone; E_LOST if there is no
  such process, or its lease has lapsed; E_STATE if the process is not a job's, for "next" and for "retry" with a group;
  {E_INVALID, id} for "next" if the job cannot wait for that one; {E_TOO_BIG, id} for "next" if too many jobs are tied
  together to see whether it would wait for itself; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Writes as the end requires; also the lease's end and its holder, the counts `held` and `running`, the worker's flag,
  and that its command has ended it. Publishes to the process' worker, to the workers that get the task, and to those
  who listen.
  O(log n), and O(jobs that waited for this one).
]]
--- @include "ends"
--- @include "own_ends"
--- @include "available"
--- @include "clock"

local P, args = KEYS[1], ARGV
local worker, is_own = string.gsub(ARGV[1], '^%+', '')
local queue = args[3]
local token = ARGUMENTS[args[2]] and args[4] or args[5]
local now = now_ms()
local is_lease = worker == LEASE

if not try('HLEN', P .. 'worker:' .. worker)
    or (is_lease and not can_move_due(P, queue, 'HLEN', P .. 'holders:' .. queue))
    or (args[2] == 'next' and not Jobs.are_sound(P, args[7])) then
  return {E_REDIS, damaged}
end
redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
if is_lease and has_lapsed(P, queue, token, now) then
  return E_LOST
end
-- A plain task has no record that could keep why it is retried.
if args[2] == 'retry' and args[6] ~= ''
    and redis.call('HEXISTS', P .. 'processing:' .. worker .. ':' .. queue, token) == 1 then
  return E_STATE
end
local marked_as = args[2] == 'next' and try('HGET', P .. 'marks:' .. worker, token)
local id = args[2] == 'next' and marked_as ~= nil and marked_as ~= CANCELLED -- that of a deleted queue may still go on
  and try('HGET', P .. 'processing:' .. worker .. ':' .. queue, 'j' .. token)
local obstacle = id and find_obstacle(P, id, ids_of(args[9]))
if obstacle then
  return obstacle
end
local ends = carry_out_ends(P, worker, args, 2, true, now)
local status = ends.failed[1] and ends.failed[1][3] or 0
if status == E_REDIS then
  return {E_REDIS, damaged}
end
if status ~= 0 and status ~= E_CANCELLED then
  return status == E_EXISTS and E_LOST or status
end
if is_lease then
  redis.call('ZREM', P .. 'leases:' .. queue, token, 'j' .. token)
  --- @inline "forget_holder"
else
  -- Its worker may send an end of this process too, together with others. Until it has read back, its ends are
  -- carried out one by one.
  local epoch = set_flag(P, worker, FLAG_ENDED)
  if epoch then
    try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
    local kind = status == E_CANCELLED and 'back' or args[2] -- it has finished nothing
    tell_worker(worker, epoch, 'R', is_own == 1 and note_own_end(P, worker, token, kind) or '')
  end
end
try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
hand_over_waiting(P, queue)
hand_over_jobs(P)
return ends.dropped and {E_CANCELLED, ends.dropped} or 0
