--[[
  Marks: processes that were cancelled, or whose queue was deleted, are marked until they end. P:marks:<w> has token ->
  kind. A marked process may still finish; if it ends in any other way, it is dropped. A worker with marks or notes has
  a flag in its record: then its ends are carried out one by one, and each looks for its mark.
]]
--- @include "try"

local CANCELLED, DELETED = 'c', 'd'
-- The reserved worker id that owns leased tasks.
local LEASE = '.lease'
-- The flag's values: the worker has marks or notes; or somebody else ended one of its processes, and it has not read
-- back since.
local FLAG_MARKS, FLAG_ENDED = 'm', 'e'
-- A message carries at most this many tokens.
local MARKS_PER_MESSAGE = 500

local function count_cancelled(P, queue, n)
  if n > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'cancelled', n)
  end
end

-- Sets the flag, and returns the worker's epoch. For leases, which have no record, it does nothing.
local function set_flag(P, worker, flag)
  local key = P .. 'worker:' .. worker
  local record = redis.call('HMGET', key, 'epoch', 'flag')
  if record[1] and record[2] ~= flag and record[2] ~= FLAG_ENDED then
    redis.call('HSET', key, 'flag', flag)
  end
  return record[1]
end

-- Publishes a message on the worker's own channel, for its present life. For leases (no epoch) it does nothing.
local function tell_worker(worker, epoch, kind, text)
  if epoch then
    redis.pcall('SPUBLISH', C .. ':wake:' .. worker, kind .. epoch .. text)
  end
end

-- Have the keys that a mark writes the right types?
local function can_mark(P, worker)
  return try('HLEN', P .. 'marks:' .. worker) and try('HLEN', P .. 'worker:' .. worker)
end

-- Marks processes of one holder, and tells the holder.
local function mark(P, worker, tokens, kind)
  if #tokens == 0 then
    return
  end
  for from = 1, #tokens, MARKS_PER_MESSAGE do
    local pairs_to_set = {}
    for i = from, math.min(from + MARKS_PER_MESSAGE - 1, #tokens) do
      pairs_to_set[#pairs_to_set + 1] = tokens[i]
      pairs_to_set[#pairs_to_set + 1] = kind
    end
    redis.call('HSET', P .. 'marks:' .. worker, unpack(pairs_to_set))
  end
  local epoch = set_flag(P, worker, FLAG_MARKS)
  for from = 1, #tokens, MARKS_PER_MESSAGE do
    local to = math.min(from + MARKS_PER_MESSAGE - 1, #tokens)
    tell_worker(worker, epoch, kind == CANCELLED and 'C' or 'D', table.concat(tokens, '', from, to))
  end
end

-- Removes a process' mark and note. Returns its mark, or false.
local function unmark(P, worker, token)
  local kind = redis.call('HGET', P .. 'marks:' .. worker, token)
  if kind then
    redis.call('HDEL', P .. 'marks:' .. worker, token)
  end
  redis.call('HDEL', P .. 'notes:' .. worker, token)
  return kind
end

local function has_marks(P, worker)
  return redis.call('EXISTS', P .. 'marks:' .. worker, P .. 'notes:' .. worker) > 0
end

-- The ids that may hold processes: those of the registered workers, and that of leases.
local function all_holders(P)
  local workers = try('ZRANGE', P .. 'registry', 0, -1) or {}
  workers[#workers + 1] = LEASE
  return workers
end
