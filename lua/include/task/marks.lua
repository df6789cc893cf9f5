--[[
  Marks: processes that were cancelled, or whose queue was deleted, until each ends. P:marks:<w> has token -> kind.
  A marked process may still finish; whatever else becomes of it, it is dropped. A worker with marks or notes carries a
  flag in its record, so that its ends look for them one by one.
]]
--- @include "try"

local CANCELLED, DELETED = 'c', 'd'
-- The reserved id of those who hold tasks by a lease.
local LEASE = '.lease'
-- The flag's values: it has marks or notes; or somebody else ended one of its processes, and it has not read back
-- since.
local FLAG_MARKS, FLAG_ENDED = 'm', 'e'
-- A message carries so many tokens at most.
local MARKS_PER_MESSAGE = 500

local function count_cancelled(P, queue, n)
  if n > 0 then
    try('HINCRBY', P .. 'queue:' .. queue, 'cancelled', n)
  end
end

-- Has its ends go one by one. Nothing for a lease, which has no record.
local function set_flag(P, worker, flag)
  local key = P .. 'worker:' .. worker
  local record = redis.call('HMGET', key, 'epoch', 'flag')
  if record[1] and record[2] ~= flag and record[2] ~= FLAG_ENDED then
    redis.call('HSET', key, 'flag', flag)
  end
  return record[1]
end

-- To a worker's own channel, in its present life; nothing for a lease.
local function tell(P, worker, epoch, kind, text)
  if epoch then
    redis.pcall('PUBLISH', P .. 'wake:' .. worker, kind .. epoch .. text)
  end
end

-- Have the keys that a mark writes their types?
local function can_mark(P, worker)
  return try('HLEN', P .. 'marks:' .. worker) and try('HLEN', P .. 'worker:' .. worker)
end

-- Marks processes of one holder, and tells it.
local function mark(P, worker, tokens, kind)
  if #tokens == 0 then
    return
  end
  for _, token in ipairs(tokens) do
    redis.call('HSET', P .. 'marks:' .. worker, token, kind)
  end
  local epoch = set_flag(P, worker, FLAG_MARKS)
  for from = 1, #tokens, MARKS_PER_MESSAGE do
    local to = math.min(from + MARKS_PER_MESSAGE - 1, #tokens)
    tell(P, worker, epoch, kind == CANCELLED and 'C' or 'D', table.concat(tokens, '', from, to))
  end
end

-- Takes a process' mark and note away. Returns its mark, or false.
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

-- Whoever may hold processes: the registered workers, and leases.
local function holders(P)
  local workers = try('ZRANGE', P .. 'registry', 0, -1) or {}
  workers[#workers + 1] = LEASE
  return workers
end
