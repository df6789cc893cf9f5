--[[
  end: end processes. The caller may be anybody who presents a process' id. If the process belongs to a worker, the
  worker is told.
    KEYS[1] the namespace's root, "<prefix>:"; all other keys derive from it
    ARGV[1] worker, or ".lease"; with a "+" before it: the caller is the process' own command
    ARGV[2...] one end of one process, in a form of the include `ends`; then more of these, each with its worker before
      it, at most 200 in all
  Returns 0; {E_CANCELLED, mark} if the process was marked, so that its task was dropped instead, or if its job was
  cancelled, and is gone; E_EXHAUSTED if its job was to be retried, and has failed
  for good; E_LOST if there is no such process, or its lease has lapsed; E_STATE if the process is not a
  job's, for "next" and for "retry" with a group;
  {E_INVALID, id} for "next" if the job cannot wait for that one; {E_TOO_BIG, id} for "next" if too many jobs are tied
  together to see whether it would wait for itself; {E_REDIS, key} for a key of the wrong type: nothing was changed.
  Of several ends it returns {0, for each in their order such a status, and what follows it or ""}: each counts or not,
  whatever becomes of the others. There may be fewer: the rest would move too many bytes, and nothing is done of it.
  Writes as the end requires; also the lease's end and its holder, the counts `held` and `running`, the worker's flag,
  and that its command has ended it. Publishes to the process' worker, to the workers that get the task, and to those
  who listen.
  O(log n) for each, and O(jobs that waited for it).
]]
--- @include "ends"
--- @include "own_ends"
--- @include "available"
--- @include "clock"
--- @include "bytes"

-- Ends that bring a task back, or keep it.
local MOVES_TASK = {back = true, retry = true, fail = true}
local P, args, now = KEYS[1], ARGV, now_ms()
local touched = {} -- queues

-- The process is no worker's any more: it is told. It may send an end of this process too, together with others. Until
-- it has read back, its ends are carried out one by one.
local function tell_loser(worker, token, kind, is_own)
  local epoch = set_flag(P, worker, FLAG_ENDED)
  if epoch then
    try('HINCRBY', P .. 'worker:' .. worker, 'held', -1)
    tell_worker(worker, epoch, 'R', is_own and note_own_end(P, worker, token, kind) or '')
  end
end

local function forget_lease(queue, token)
  redis.call('ZREM', P .. 'leases:' .. queue, token, 'j' .. token)
  --- @inline "forget_holder"
end

-- For "next": what keeps the job from it, {status, id}; nil: nothing does.
local function obstacle_of(worker, queue, token, ids)
  local marked_as = try('HGET', P .. 'marks:' .. worker, token)
  local id = marked_as ~= nil and marked_as ~= CANCELLED -- that of a deleted queue may still go on
    and try('HGET', P .. 'processing:' .. worker .. ':' .. queue, 'j' .. token)
  return id and find_obstacle(P, id, ids_of(ids))
end

-- `one`: an end, {kind, queue, ...}. Its status, and what follows it.
local function end_one(name, one)
  local worker, is_own = string.gsub(name, '^%+', '')
  local kind, queue, is_lease = one[1], one[2], worker == LEASE
  local token = ARGUMENTS[kind] and one[3] or one[4]
  if not try('HLEN', P .. 'worker:' .. worker)
      or (is_lease and not can_move_due(P, queue, 'HLEN', P .. 'holders:' .. queue))
      or (kind == 'next' and not Jobs.are_sound(P, one[6])) then
    return E_REDIS, damaged
  end
  redis.call('HDEL', P .. 'worker:' .. worker, '-') -- needs no memory, so that a full Redis allows the others
  if is_lease and has_lapsed(P, queue, token, now) then
    return E_LOST
  end
  -- What is a task has no record that could keep why it is retried.
  if kind == 'retry' and one[5] ~= '' and is_task(P, P .. 'processing:' .. worker .. ':' .. queue, token) then
    return E_STATE
  end
  local obstacle = kind == 'next' and obstacle_of(worker, queue, token, one[8])
  if obstacle then
    return unpack(obstacle)
  end
  local ends = carry_out_ends(P, worker, one, 1, true, now)
  local status = ends.failed[1] and ends.failed[1][3] or 0
  if status == E_REDIS then
    return E_REDIS, damaged
  elseif status ~= 0 and status ~= E_CANCELLED then
    return status == E_EXISTS and E_LOST or status
  elseif is_lease then
    forget_lease(queue, token)
  else
    tell_loser(worker, token, status == E_CANCELLED and 'back' or kind, is_own == 1) -- cancelled, it finished nothing
  end
  try('HINCRBY', P .. 'queue:' .. queue, 'running', -1)
  touched[queue] = true
  return ends.dropped and E_CANCELLED or ends.is_exhausted and E_EXHAUSTED or 0, ends.dropped or nil
end

-- The end whose holder is at args[at]; and where the next one is.
local function read_end(at)
  local last = at + 2 + group_len(args, at + 1)
  return {unpack(args, at + 1, last)}, last + 1
end

-- Would this script move too many bytes with this end?
local function is_too_much(name, one)
  local set = P .. 'processing:' .. string.gsub(name, '^%+', '') .. ':' .. one[2]
  local len = MOVES_TASK[one[1]] and try('HSTRLEN', set, ARGUMENTS[one[1]] and one[3] or one[4]) or 0
  local is_full = moved_bytes > 0 and moved_bytes + len > BYTES_MAX
  moved_bytes = moved_bytes + (is_full and 0 or len)
  return is_full
end

local function hand_over_touched()
  for queue in pairs(touched) do
    hand_over_waiting(P, queue)
  end
  hand_over_jobs(P)
end

local one, at = read_end(1)
if at > #args then
  local status, word = end_one(ARGV[1], one)
  hand_over_touched()
  return word and {status, word} or status
end
local answer = {0}
at = 1
while at <= #args do
  local name = args[at]
  one, at = read_end(at)
  if is_too_much(name, one) then
    break
  end
  local status, word = end_one(name, one)
  answer[#answer + 1] = status
  answer[#answer + 1] = word or ''
end
hand_over_touched()
return answer
