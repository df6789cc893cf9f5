--[[
  Tidying: removes the name and settings of a queue that has nothing left, and what is beyond the bounds of a failed
  list or of complete jobs.
]]
--- @include "jobs"
--- @include "announce"
--- @include "try"

-- How many complete jobs one script removes at most.
local TIDY_JOBS_MAX = 300
local IS_COUNTER = {ages = true, big = true, cancelled = true, deaths = true, dropped = true, due = true, jobs = true,
  jobs_in = true, jobs_out = true, joined = true, lack = true, moved = true, moves = true, named = true, out = true,
  over = true, returned = true, stalls = true, tat = true, unfair = true, unhold = true, unordered = true}

-- Is nothing left of the queue but its counters, and does nobody listen? While jobs are let go, each queue stays: its
-- `due` may be what makes somebody go on.
local function is_over(P, queue)
  local settings = redis.pcall('HGETALL', P .. 'queue:' .. queue)
  for i = 1, settings.err and 0 or #settings, 2 do
    local field, value = settings[i], settings[i + 1]
    if not (IS_COUNTER[field] or ((field == 'running' or field == 'hands') and value == '0')
        or (field == 'listen' and not is_heard(value))) then
      return false
    end
  end
  return not settings.err and redis.call('EXISTS', P .. 'queues:' .. queue, P .. 'idle:' .. queue,
    P .. 'delayed:' .. queue, P .. 'failed:' .. queue, P .. 'leases:' .. queue, P .. 'returned:' .. queue,
    P .. 'scheduled:' .. queue, P .. 'depends:' .. queue, P .. 'waiting:' .. queue, P .. 'running:' .. queue,
    P .. 'complete:' .. queue, P .. 'recurring:' .. queue, P .. 'held:' .. queue,
    P .. 'ended') == 0
end

local jobs_left = TIDY_JOBS_MAX

-- Tidies one queue. Returns how much it has removed, and whether the queue's name went. What is beyond the bounds of
-- one script stays for the next one.
local function tidy(P, queue, now)
  local removed = can_fail(P, queue) and Failed.trim(P, queue, now) or 0
  if redis.call('EXISTS', P .. 'complete:' .. queue) == 1 and Jobs.are_sound(P, queue) then
    local n = Jobs.trim_complete(P, queue, jobs_left, 1)
    removed, jobs_left = removed + n, jobs_left - n
  end
  if not is_over(P, queue) then
    return removed, false
  end
  redis.call('DEL', P .. 'queue:' .. queue)
  if try('HLEN', firsts_key(P, LEASE, queue)) then
    redis.call('DEL', firsts_key(P, LEASE, queue))
  end
  try('ZREM', P .. 'names', queue)
  try('ZREM', P .. 'due', queue)
  return removed + 1, true
end

-- May this script remove more of what is beyond bounds?
local function may_tidy_more()
  return jobs_left > 0 and Failed.may_trim_more()
end

local TIDY_BATCHES_MAX = 100

-- Closes the batches that nobody has closed in time, and removes ended ones that are beyond the bounds of complete
-- jobs. Returns how many.
local function tidy_batches(P, now)
  local closed = redis.call('EXISTS', P .. 'batches') == 1 and #Jobs.batches.move_due(P, now) or 0
  local removed = redis.call('EXISTS', P .. 'past') == 1 and Jobs.batches.trim(P, TIDY_BATCHES_MAX) or 0
  return closed + removed
end

-- Tidies up to 100 queues, from a place among the names on. Returns the place to go on from, -1: there are no more; and
-- how much it has removed.
local TIDY_QUEUES_MAX = 100
local function tidy_from(P, place, now)
  local names, removed = try('ZRANGE', P .. 'names', place, place + TIDY_QUEUES_MAX - 1) or {}, 0
  for _, queue in ipairs(names) do
    local n, is_gone = tidy(P, queue, now)
    removed = removed + n
    if not may_tidy_more() then
      return place, removed -- this queue may have more
    end
    place = is_gone and place or place + 1
  end
  return #names < TIDY_QUEUES_MAX and -1 or place, removed
end
